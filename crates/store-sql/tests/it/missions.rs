//! The third layer of validation, separately (B002-16): the constraints of every database on missions and artifacts,
//! with writes that bypass Charter's checks. Also rows of an older version, as an older Charter wrote them.

mod engines;
mod forms;
mod kept;
mod old_versions;
mod plans;

use std::path::Path;

use charter_contract::mission::MissionRoot;
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::validate::parse;
use charter_store::Store;
use charter_store::mission::ArtifactRecord;
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::{Outcome, sample};
use rusqlite::Connection;

const EXAMPLE: &str = include_str!("../../../contract/tests/missions/waterfront.jsonl");

pub(crate) type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A table of artifacts, its id column if it has one, and whether its rows name a task.
pub(crate) const TABLES: [(&str, Option<&str>, bool); 9] = [
    ("colony_task_graphs", None, false),
    ("colony_prompt_packages", Some("package_id"), true),
    ("colony_research_artifacts", Some("artifact_id"), true),
    ("colony_librarian_passes", Some("pass_id"), true),
    ("colony_worker_results", Some("result_id"), true),
    ("colony_aggregation_packets", Some("packet_id"), false),
    ("colony_review_packets", Some("packet_id"), false),
    ("colony_policy_decisions", Some("decision_id"), false),
    ("colony_writeback_proposals", Some("proposal_id"), false),
];

/// Returns the example with another mission id.
pub(crate) fn texts(mission: &str) -> Vec<String> {
    let id = format!("\"mission_id\":\"{mission}\"");
    let texts = EXAMPLE.lines();
    texts
        .map(|text| text.replace("\"mission_id\":\"uuid\"", &id))
        .collect()
}

pub(crate) fn root(texts: &[String]) -> Done<MissionRoot> {
    let envelope = parse::<MissionEnvelope>(texts[0].as_bytes());
    let envelope = envelope.map_err(|violations| format!("{violations:?}"))?;
    Ok(envelope.mission_root())
}

fn records(mission: &str, count: usize) -> Done<Vec<ArtifactRecord>> {
    let texts = texts(mission);
    let root = root(&texts)?;
    let records = texts.into_iter().take(count).map(|text| {
        ArtifactRecord::of_payload(text, &root)
            .map_err(|violations| format!("{violations:?}").into())
    });
    records.collect()
}

/// Creates mission `m1` with all its artifacts, and `m2` with envelope and plan only.
pub(crate) async fn two_missions(dir: &Path) -> Outcome {
    let store = SqliteStore::open(dir, &SqliteOptions::default())?;
    fill(&store).await?;
    Ok(store.close().await?)
}

/// Fills a store as for [`two_missions`].
async fn fill(store: &dyn Store) -> Outcome {
    for (n, mission, count) in [(1, "m1", 13), (2, "m2", 2)] {
        let (run, events) = sample::new_run("tenant_velocity", n, 0)?;
        let artifacts = records(mission, count)?;
        store.create_run(&run, events, artifacts, vec![]).await?;
    }
    Ok(())
}

/// Opens the database without the store, configured as the store does.
pub(crate) fn raw(dir: &Path) -> Done<Connection> {
    let connection = Connection::open(dir.join("charter.db"))?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "recursive_triggers", true)?;
    Ok(connection)
}
