//! Written rows are not changed, and are deleted only as a whole.

use charter_store::journal::{Append, Journal, NextPhase};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::{Outcome, sample};

use crate::missions::engines::{Engine, engines};
use crate::missions::forms::copied;
use crate::missions::{TABLES, raw, two_missions};

/// The immutable columns of a mission, each with a change.
const REWRITTEN: &[&str] = &[
    "tenant_id = 'x'",
    "mission_id = 'x'",
    "run_id = 'x'",
    "imported_at = 1",
    "event = event + 1",
    "schema_version = 'v2'",
    "created_at = 1",
    "producer = 'x'",
    "artifacts = artifacts - 1",
];

/// B002-14: direct access to the database can neither change written rows nor delete a part of them.
#[tokio::test]
async fn b002_14_the_engine_refuses_to_change_artifacts() -> Outcome {
    for engine in &engines().await? {
        refuse_to_change_artifacts(engine).await?;
        refuse_to_empty_or_replace(engine).await?;
        refuse_to_change_missions(engine).await?;
    }
    Ok(())
}

const NEVER: &str = "an artifact is never changed";
const TOGETHER: &str = "deleted only together with";

async fn refuse_to_change_artifacts(engine: &Engine) -> Outcome {
    let tables = TABLES.iter().map(|(table, ..)| *table);
    for table in tables.chain(["colony_tasks"]) {
        let change = format!("UPDATE {table} SET payload = payload");
        engine.must_refuse(&change, NEVER).await?;
        engine
            .must_refuse(&format!("UPDATE {table} SET place = 50"), NEVER)
            .await?;
        engine
            .must_refuse(&format!("DELETE FROM {table}"), TOGETHER)
            .await?;
        engine
            .must_refuse(
                &format!("DELETE FROM {table} WHERE mission_id = 'm1'"),
                TOGETHER,
            )
            .await?;
    }
    Ok(())
}

/// Changes of a row that only one engine supports.
async fn refuse_to_empty_or_replace(engine: &Engine) -> Outcome {
    match engine {
        Engine::Sqlite(..) => {
            let same = [("mission_id", "mission_id"), ("payload", "payload")];
            let replace = copied(
                engine,
                ("colony_policy_decisions", Some("decision_id"), false),
                "m2",
                &same,
                "",
            );
            let replace = replace.replace("INSERT INTO", "REPLACE INTO");
            engine.must_refuse(&replace, TOGETHER).await?;
            engine
                .must_refuse(
                    "REPLACE INTO colony_missions SELECT * FROM colony_missions",
                    "",
                )
                .await?;
        }
        Engine::Postgres(..) => {
            for table in TABLES
                .iter()
                .map(|(table, ..)| *table)
                .chain(["colony_tasks"])
            {
                let empty = format!("TRUNCATE {table} CASCADE");
                engine.must_refuse(&empty, TOGETHER).await?;
            }
            engine
                .must_refuse("TRUNCATE colony_missions CASCADE", "only together with")
                .await?;
        }
    }
    Ok(())
}

async fn refuse_to_change_missions(engine: &Engine) -> Outcome {
    let payload = format!("payload = {}", engine.payload_with("'$.user_goal', 'x'"));
    for change in REWRITTEN
        .iter()
        .map(|change| (*change).to_owned())
        .chain([payload])
    {
        engine
            .must_refuse(&format!("UPDATE colony_missions SET {change}"), NEVER)
            .await?;
    }
    engine
        .must_refuse("DELETE FROM colony_missions", TOGETHER)
        .await?;
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
        engine
            .must_refuse(&again, "a mission that has ended stays as it ended")
            .await?;
    }
    assert_eq!(
        engine
            .said("UPDATE colony_missions SET state = 'running'")
            .await?,
        None
    );
    Ok(())
}

/// A mission is deleted with its run, and leaves no row in any table.
#[tokio::test]
async fn a_mission_leaves_nothing_behind() -> Outcome {
    let dir = tempfile::tempdir()?;
    two_missions(dir.path()).await?;
    let store = SqliteStore::open(dir.path(), &SqliteOptions::default())?;
    let (run, first) = sample::new_run("tenant_velocity", 1, 0)?;
    let append = Append {
        tenant_id: run.tenant_id,
        events: sample::events(first[0].hash, 1, &["{}"])?,
        ..sample::second_append(1, NextPhase::Ends, &["{}"])?
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
    // The rows of the remaining mission.
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
