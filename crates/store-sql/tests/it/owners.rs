//! The migration that adds the owner of runs, approvals, evidence and messages, and the makers of keys.

use std::collections::BTreeSet;
use std::path::Path;

use charter_contract::ids::{ApprovalId, EvidenceId, KeyId, RunId, UserId};
use charter_store::approval::Approvals;
use charter_store::evidence::Evidence;
use charter_store::journal::Journal;
use charter_store::key::Keys;
use charter_store::outbox::Outbox;
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::{Outcome, sample};
use refinery::Target;
use rusqlite::{Connection, params};
use uuid::Uuid;

use crate::evidence_backlog::migrations;

/// The version of the schema before that migration.
const BEFORE: i32 = 15;

/// Keys by their number: user, creator, and the key that it replaced.
const KEYS: [(u8, &str, &str, Option<u8>); 7] = [
    (1, "root", "local", None),
    (2, "zoe", "root", None),
    (3, "yan", "zoe", None),
    (4, "kim", "ann", None),
    (5, "zoe", "sam", Some(2)),
    (6, "zoe", "sam", Some(5)),
    (7, "ann", "local", None),
];

/// Runs by their number, with the first event of each, and the owner in that event.
const RUNS: [(u128, &str, Option<&str>); 3] = [
    (
        1,
        r#"{"event":"started","run_id":"r","by":"ann.x-y_z","role":"user"}"#,
        Some("ann.x-y_z"),
    ),
    (2, r#"{"started":true}"#, None),
    (3, "no JSON", None),
];

fn key_id(n: u8) -> KeyId {
    KeyId::from_uuid(Uuid::from_u128(n.into()))
}

fn approval_id(n: u128) -> ApprovalId {
    ApprovalId::from_uuid(Uuid::from_u128(n))
}

fn of_before(path: &Path) -> Result<Connection, Box<dyn std::error::Error + Send + Sync>> {
    let mut connection = Connection::open(path)?;
    let runner = migrations::migrations::runner();
    runner
        .set_target(Target::Version(BEFORE))
        .run(&mut connection)?;
    Ok(connection)
}

fn write_keys(connection: &Connection) -> Outcome {
    let rights =
        r#"{"role":"admin","tier":"basic","catalogue":"viewer","agent_skills":[],"scopes":["*"]}"#;
    for (n, user, made_by, from) in KEYS {
        connection.execute(
            "INSERT INTO api_key (tenant_id, key_id, name, hash, user_id, rights, created_by, created_at, rotated_from)
             VALUES ('acme', ?1, 'a key', ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                key_id(n).as_str(),
                [n; 32],
                user,
                rights,
                made_by,
                i64::from(n),
                from.map(|n| key_id(n).to_string())
            ],
        )?;
    }
    Ok(())
}

fn write_runs(connection: &Connection) -> Outcome {
    for (n, first, _) in RUNS {
        let run = sample::run(n);
        let (phase, status) = match n {
            1 => ("finished", "completed"),
            _ => ("waiting", "awaiting_approval"),
        };
        connection.execute(
            "INSERT INTO run (run_key, run_id, tenant_id, title, phase, version, last_hash, created_at, updated_at, status)
             VALUES (?1, ?2, 'acme', 't', ?3, 1, zeroblob(32), 1, 1, ?4)",
            params![i64::try_from(n)?, run.as_str(), phase, status],
        )?;
        connection.execute(
            "INSERT INTO journal_event (run_key, sequence, at, hash, payload) VALUES (?1, 1, 1, zeroblob(32), ?2)",
            params![i64::try_from(n)?, first],
        )?;
        connection.execute(
            "INSERT INTO approval (approval_id, run_key, tenant_id, state, requested_at, expires_at, body)
             VALUES (?1, ?2, 'acme', 'pending', 1, 2, '{}')",
            params![approval_id(n).as_str(), i64::try_from(n)?],
        )?;
        connection.execute(
            "INSERT INTO outbox (topic, tenant_id, at, payload) VALUES ('run.status', 'acme', 1, ?1)",
            params![serde_json::json!({"run_id": run}).to_string()],
        )?;
        let record = sample::evidence("acme", u32::try_from(n)?, sample::at(0)?)?;
        connection.execute(
            "INSERT INTO evidence (evidence_key, tenant_id, evidence_id, evidence_type, captured_at, system, native_id,
                                   body, payload, payload_salt)
             VALUES (?1, 'acme', ?2, 'cloudtrail_event', 1, 's', 'n', ?3, '{}', zeroblob(32))",
            params![i64::try_from(n)?, record.id.as_str(), serde_json::to_string(&record)?],
        )?;
        connection.execute(
            "INSERT INTO evidence_attachment (evidence_key, tenant_id, target_kind, target_id, at)
             VALUES (?1, 'acme', 'run_id', ?2, 1)",
            params![i64::try_from(n)?, run.as_str()],
        )?;
    }
    Ok(())
}

/// Makers are derived from the creators' names; `local` is not a maker.
async fn keys_have_their_makers(store: &SqliteStore) -> Outcome {
    let acme = sample::tenant("acme")?;
    for (n, makers) in [
        (1, vec![]),
        (2, vec!["root"]),
        (3, vec!["root", "sam", "zoe"]),
        (4, vec!["ann"]),
        (5, vec!["root", "sam"]),
        (6, vec!["root", "sam"]),
        (7, vec![]),
    ] {
        let key = store.key(&acme, &key_id(n)).await?.ok_or("no key")?;
        let makers = makers.into_iter().map(UserId::parse);
        let makers: BTreeSet<UserId> = makers.collect::<Result<_, _>>()?;
        assert_eq!(key.makers, makers, "key {n}");
    }
    Ok(())
}

#[tokio::test]
async fn what_was_written_before_is_whose_it_says() -> Outcome {
    let dir = tempfile::tempdir()?;
    let connection = of_before(&dir.path().join("charter.db"))?;
    std::fs::write(dir.path().join("charter.lock"), "")?;
    write_keys(&connection)?;
    write_runs(&connection)?;
    drop(connection);
    let store = SqliteStore::open(dir.path(), &SqliteOptions::default())?;
    keys_have_their_makers(&store).await?;
    let acme = sample::tenant("acme")?;
    let messages = store.messages_of(&acme, 0, 9).await?;
    for ((n, _, user), message) in RUNS.into_iter().zip(messages) {
        let user = user.map(UserId::parse).transpose()?;
        let run: RunId = sample::run(n);
        let found = store.run(&acme, &run).await?.ok_or("no run")?;
        assert_eq!(found.user_id, user);
        let approval = store.approval(&acme, &approval_id(n)).await?;
        assert_eq!(approval.ok_or("no approval")?.user_id, user);
        let evidence: EvidenceId = sample::evidence("acme", u32::try_from(n)?, sample::at(0)?)?.id;
        assert_eq!(store.evidence_user(&acme, &evidence).await?, user);
        assert_eq!(message.message.user_id, user);
    }
    store.close().await?;
    Ok(())
}
