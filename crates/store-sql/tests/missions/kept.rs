//! What was written is not changed, and goes only as a whole.

use charter_store::journal::{After, Append, Journal};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::{Outcome, sample};

use crate::forms::copied;
use crate::{TABLES, must_refuse, raw, said, two_missions};

/// The columns of a mission that stay as they were written, each changed.
const REWRITTEN: &[&str] = &[
    "tenant_id = 'x'",
    "mission_id = 'x'",
    "run_key = run_key + 5",
    "imported_at = 1",
    "event = event + 1",
    "schema_version = 'v2'",
    "created_at = 1",
    "producer = 'x'",
    "payload = json_set(payload, '$.user_goal', 'x')",
    "artifacts = artifacts - 1",
];

/// B002-14: whoever gets at the database cannot change what was written, nor take a part of it away.
#[tokio::test]
async fn b002_14_the_engine_refuses_to_change_artifacts() -> Outcome {
    let dir = tempfile::tempdir()?;
    two_missions(dir.path()).await?;
    let connection = raw(dir.path())?;
    let never = "an artifact is never changed";
    let together = "deleted only together with";
    let tables = TABLES.iter().map(|(table, ..)| *table);
    for table in tables.chain(["colony_tasks"]) {
        let change = format!("UPDATE {table} SET payload = payload");
        must_refuse(&connection, &change, never)?;
        must_refuse(
            &connection,
            &format!("UPDATE {table} SET place = 50"),
            never,
        )?;
        must_refuse(&connection, &format!("DELETE FROM {table}"), together)?;
        must_refuse(
            &connection,
            &format!("DELETE FROM {table} WHERE mission_id = 'm1'"),
            together,
        )?;
    }
    let same = [("mission_id", "mission_id"), ("payload", "payload")];
    let replace = copied(
        ("colony_policy_decisions", Some("decision_id"), false),
        "m2",
        &same,
        "",
    );
    let replace = replace.replace("INSERT INTO", "REPLACE INTO");
    must_refuse(&connection, &replace, together)?;
    for change in REWRITTEN {
        must_refuse(
            &connection,
            &format!("UPDATE colony_missions SET {change}"),
            never,
        )?;
    }
    must_refuse(&connection, "DELETE FROM colony_missions", together)?;
    must_refuse(
        &connection,
        "REPLACE INTO colony_missions SELECT * FROM colony_missions",
        "",
    )?;
    for state in [
        "completed",
        "rejected",
        "failed",
        "cancelled",
        "budget_exceeded",
    ] {
        let again = format!(
            "UPDATE colony_missions SET state = '{state}'; UPDATE colony_missions SET state = 'running'"
        );
        must_refuse(
            &connection,
            &again,
            "a mission that has ended stays as it ended",
        )?;
    }
    assert_eq!(
        said(&connection, "UPDATE colony_missions SET state = 'running'")?,
        None
    );
    Ok(())
}

/// A mission goes with its run, and leaves nothing in any table.
#[tokio::test]
async fn a_mission_leaves_nothing_behind() -> Outcome {
    let dir = tempfile::tempdir()?;
    two_missions(dir.path()).await?;
    let store = SqliteStore::open(dir.path(), &SqliteOptions::default())?;
    let (_, first) = sample::new_run("tenant_velocity", 1, 0)?;
    let append = Append {
        events: sample::events(first[0].hash, 1, &["{}"])?,
        ..sample::second_append(1, After::Ends, &["{}"])?
    };
    store.append(append).await?;
    assert_eq!(store.sweep_runs(sample::at(100)?, 10).await?, 1);
    store.close().await?;
    let connection = raw(dir.path())?;
    let mut rows: Vec<(&str, i64)> = Vec::new();
    let tables = TABLES.iter().map(|(table, ..)| *table);
    for table in tables.chain(["colony_tasks", "colony_missions"]) {
        let sql = format!("SELECT count(*) FROM {table}");
        rows.push((table, connection.query_row(&sql, [], |row| row.get(0))?));
    }
    // Of the mission that goes on.
    rows.retain(|(_, count)| *count > 0);
    assert_eq!(
        rows,
        [
            ("colony_task_graphs", 1),
            ("colony_tasks", 5),
            ("colony_missions", 1)
        ]
    );
    Ok(())
}
