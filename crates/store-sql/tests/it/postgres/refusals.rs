//! Changes of append-only rows, which the database refuses for every user. Missions and artifacts are in
//! `tests/it/missions`.

use charter_store::evidence::Evidence;
use charter_store::evidence_log::{EvidenceLog, PublishedCheckpoint};
use charter_store::journal::{Journal, NextPhase};
use charter_testkit::store_suite::{Outcome, sample};

use crate::postgres::database::{migrated, raw, store};

/// B000-19, B002-14: each statement with the database's error.
const REFUSED: &[(&str, &str)] = &[
    ("UPDATE journal_event SET payload = '{}'", "never changed"),
    ("DELETE FROM journal_event", "only together with its run"),
    ("TRUNCATE journal_event", "only together with its run"),
    (
        "DELETE FROM run WHERE phase <> 'finished'",
        "only when it is finished",
    ),
    (
        "UPDATE run SET title = 'x' WHERE phase = 'finished'",
        "takes no more events",
    ),
    (
        "UPDATE run SET phase = 'asleep' WHERE phase <> 'finished'",
        "run_phase_check",
    ),
    ("UPDATE evidence SET body = '{}'", "evidence is append-only"),
    (
        "UPDATE evidence SET payload = NULL",
        "evidence is append-only",
    ),
    ("DELETE FROM evidence", "evidence is append-only"),
    ("TRUNCATE evidence CASCADE", "append-only"),
    (
        "UPDATE evidence_attachment SET at = 0",
        "evidence is append-only",
    ),
    ("DELETE FROM evidence_attachment", "evidence is append-only"),
    (
        "UPDATE evidence_leaf SET leaf = ''",
        "the evidence log is append-only",
    ),
    (
        "DELETE FROM evidence_leaf",
        "the evidence log is append-only",
    ),
    (
        "UPDATE evidence_node SET level = 9",
        "the evidence log is append-only",
    ),
    (
        "DELETE FROM evidence_node",
        "the evidence log is append-only",
    ),
    (
        "DELETE FROM evidence_log",
        "the evidence log is append-only",
    ),
    (
        "UPDATE evidence_checkpoint SET note = ''",
        "checkpoint is append-only",
    ),
    ("TRUNCATE evidence_checkpoint", "checkpoint is append-only"),
];

#[tokio::test]
async fn what_is_added_once_is_never_changed() -> Outcome {
    let database = migrated().await;
    let store = store(&database).await;
    for n in [1, 2] {
        let (run, events) = sample::new_run("acme", n, 0)?;
        store.create_run(&run, events, vec![], vec![]).await?;
    }
    let end = sample::second_append(1, NextPhase::Ends, &["{}"])?;
    store.append(end).await?;
    let tenant = sample::tenant("acme")?;
    let record = sample::evidence("acme", 1, sample::at(0)?)?;
    let finding = sample::finding("f")?;
    store
        .put_evidence(&tenant, std::slice::from_ref(&record))
        .await?;
    store
        .attach_evidence(&tenant, &record.id, &finding, sample::at(1)?)
        .await?;
    let checkpoint = PublishedCheckpoint {
        size: 1,
        key_id: "key".to_owned(),
        at: sample::at(1)?,
        note: "note".to_owned(),
    };
    store.publish_checkpoint(&tenant, &checkpoint).await?;
    let client = raw(&database).await;
    for (sql, reason) in REFUSED {
        let refused = client.batch_execute(sql).await.err().ok_or(*sql)?;
        let said = refused.as_db_error().map_or("", |said| said.message());
        assert!(said.contains(reason), "{sql}: {said}");
    }
    Ok(())
}
