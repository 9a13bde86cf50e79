//! The third layer of validation, alone (B002-16): what the database's own constraints refuse of
//! missions and artifacts, written past every check of ours. And rows of an older version, as an older
//! Charter would have left them.

use std::path::Path;

use charter_contract::ids::MissionId;
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::{ArtifactKind, MissionRoot};
use charter_contract::validate::parse;
use charter_store::journal::{After, Append, Journal};
use charter_store::mission::{ArtifactFilter, ArtifactRecord, Missions};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::{Outcome, sample};
use rusqlite::Connection;

const EXAMPLE: &str = include_str!("../../contract/tests/missions/waterfront.jsonl");
const OLD_RESULT: &str = include_str!("../../contract/tests/versions/worker_result.v0.json");
const OLD_RESULT_NOW: &str =
    include_str!("../../contract/tests/versions/worker_result.v0.as_v1.json");
const OLD_REVIEW: &str = include_str!("../../contract/tests/versions/review_packet.v0.json");
const OLD_REVIEW_NOW: &str =
    include_str!("../../contract/tests/versions/review_packet.v0.as_v1.json");

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A table of artifacts, its id, and whether its rows name a task.
const TABLES: [(&str, &str, bool); 8] = [
    ("colony_prompt_packages", "package_id", true),
    ("colony_research_artifacts", "artifact_id", true),
    ("colony_librarian_passes", "pass_id", true),
    ("colony_worker_results", "result_id", true),
    ("colony_aggregation_packets", "packet_id", false),
    ("colony_review_packets", "packet_id", false),
    ("colony_policy_decisions", "decision_id", false),
    ("colony_writeback_proposals", "proposal_id", false),
];

/// The example as a mission of another id.
fn texts(mission: &str) -> Vec<String> {
    let id = format!("\"mission_id\":\"{mission}\"");
    let texts = EXAMPLE.lines();
    texts
        .map(|text| text.replace("\"mission_id\":\"uuid\"", &id))
        .collect()
}

fn root(texts: &[String]) -> Done<MissionRoot> {
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

/// Mission `m1` with all its artifacts, and `m2` with envelope and plan only.
async fn two_missions(dir: &Path) -> Outcome {
    let store = SqliteStore::open(dir, &SqliteOptions::default())?;
    for (n, mission, count) in [(1, "m1", 13), (2, "m2", 2)] {
        let (run, events) = sample::new_run("tenant_velocity", n, 0)?;
        let artifacts = records(mission, count)?;
        store.create_run(&run, events, artifacts, vec![]).await?;
    }
    Ok(store.close().await?)
}

/// The database past the store, set up as the store sets it up.
fn raw(dir: &Path) -> Done<Connection> {
    let connection = Connection::open(dir.join("charter.db"))?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "recursive_triggers", true)?;
    Ok(connection)
}

/// What the database says to a statement; nothing when it carries it out. Nothing stays.
fn said(connection: &Connection, sql: &str) -> Done<Option<String>> {
    connection.execute_batch("SAVEPOINT trial")?;
    let refused = connection.execute_batch(sql).err().map(|e| e.to_string());
    connection.execute_batch("ROLLBACK TO trial; RELEASE trial")?;
    Ok(refused)
}

fn must_refuse(connection: &Connection, sql: &str, reason: &str) -> Outcome {
    let refused = said(connection, sql)?.ok_or(format!("done: {sql}"))?;
    assert!(refused.contains(reason), "{sql}: {refused}, not {reason}");
    Ok(())
}

/// A way to break a row: columns set to other expressions, changes of the payload by pointers, and what
/// the database says.
type Broken = (
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
);

/// Of every artifact.
const BROKEN: &[Broken] = &[
    (&[("payload", "'no json'")], "", "JSON"),
    (&[("payload", "payload")], "", "columns_are_the_payloads"),
    (
        &[("schema_version", "'v2'")],
        "",
        "columns_are_the_payloads",
    ),
    (&[], "'$.schema_name', 'skill'", "columns_are_the_payloads"),
    (&[], "'$.producer', 'another'", "columns_are_the_payloads"),
    (
        &[("schema_version", "'one'")],
        "'$.schema_version', 'one'",
        "version_is_one",
    ),
    (&[], "'$.tenant_id', 'rival'", "root_metadata_is_stamped"),
    (&[], "'$.tenant_id', NULL", "root_metadata_is_stamped"),
    (&[], "'$.actor_id', NULL", "root_metadata_is_stamped"),
    (
        &[],
        "'$.actor_id', 'somebody'",
        "FOREIGN KEY constraint failed",
    ),
    (
        &[("mission_id", "'m3'")],
        "'$.mission_id', 'm3'",
        "FOREIGN KEY constraint failed",
    ),
    (
        &[("tenant_id", "'rival'")],
        "'$.tenant_id', 'rival'",
        "FOREIGN KEY constraint failed",
    ),
    (&[("place", "1")], "", "places_are_counted"),
    (&[("event", "0")], "", "places_are_counted"),
    (
        &[("created_at", "'today'")],
        "",
        "cannot store TEXT value in INTEGER column",
    ),
];

/// Of one kind: the table, the changes of its payload.
const BROKEN_WORDS: &[(&str, &str, &str)] = &[
    (
        "colony_prompt_packages",
        "'$.role_type', 'boss'",
        "role_is_known",
    ),
    (
        "colony_prompt_packages",
        "'$.role_type', NULL",
        "NOT NULL constraint failed",
    ),
    (
        "colony_worker_results",
        "'$.confidence', 1.01",
        "confidence_is_in_range",
    ),
    (
        "colony_worker_results",
        "'$.confidence', -0.01",
        "confidence_is_in_range",
    ),
    (
        "colony_worker_results",
        "'$.confidence', NULL",
        "confidence_is_in_range",
    ),
    (
        "colony_review_packets",
        "'$.review_status', 'needs_edits'",
        "status_is_known",
    ),
    (
        "colony_review_packets",
        "'$.review_status', 'rejected'",
        "a_rejected_review_has_no_output",
    ),
    (
        "colony_review_packets",
        "'$.approved_output', NULL",
        "a_rejected_review_has_no_output",
    ),
    (
        "colony_review_packets",
        "'$.review_status', NULL",
        "NOT NULL constraint failed",
    ),
    (
        "colony_policy_decisions",
        "'$.decision', 'perhaps'",
        "decision_is_known",
    ),
    (
        "colony_policy_decisions",
        "'$.decision', NULL",
        "NOT NULL constraint failed",
    ),
    (
        "colony_policy_decisions",
        "'$.subject', NULL",
        "NOT NULL constraint failed",
    ),
    (
        "colony_policy_decisions",
        "'$.decision_type', NULL",
        "NOT NULL constraint failed",
    ),
    (
        "colony_writeback_proposals",
        "'$.target_entity_type', NULL",
        "NOT NULL constraint failed",
    ),
    (
        "colony_writeback_proposals",
        "'$.target_entity_id', NULL",
        "NOT NULL constraint failed",
    ),
    (
        "colony_writeback_proposals",
        "'$.action_type', NULL",
        "NOT NULL constraint failed",
    ),
];

/// Of a mission.
const BROKEN_MISSIONS: &[Broken] = &[
    (&[("payload", "'no json'")], "", "JSON"),
    (&[("payload", "payload")], "", "columns_are_the_payloads"),
    (&[], "'$.schema_name', 'skill'", "columns_are_the_payloads"),
    (&[("tenant_id", "'rival'")], "", "columns_are_the_payloads"),
    (
        &[("schema_version", "'v2'")],
        "",
        "columns_are_the_payloads",
    ),
    (&[("producer", "'another'")], "", "columns_are_the_payloads"),
    (
        &[("schema_version", "'one'")],
        "'$.schema_version', 'one'",
        "version_is_one",
    ),
    (&[], "'$.risk_level', 'none'", "risk_is_known"),
    (&[], "'$.risk_level', NULL", "risk_is_known"),
    (&[], "'$.actor_id', NULL", "NOT NULL constraint failed"),
    (&[("state", "'dreaming'")], "", "state_is_known"),
    (&[("artifacts", "0")], "", "places_are_counted"),
    (&[("event", "0")], "", "places_are_counted"),
    (&[("run_key", "999")], "", "FOREIGN KEY constraint failed"),
    (
        &[("run_key", "run_key")],
        "",
        "UNIQUE constraint failed: colony_missions.run_key",
    ),
    (
        &[("mission_id", "mission_id"), ("payload", "payload")],
        "",
        "UNIQUE constraint failed",
    ),
];

/// Expressions for a row of `columns` of mission `m1` that is put into another one. What a payload has
/// set to NULL it does not have.
fn expressions(columns: &[&str], mission: &str, changes: &[(&str, &str)], set: &str) -> String {
    let fields = set.split(", ").collect::<Vec<_>>();
    let removed = fields
        .chunks(2)
        .filter(|field| field.get(1) == Some(&"NULL"));
    let removed: Vec<&str> = removed.map(|field| field[0]).collect();
    let expression = |column: &&str| {
        let changed = changes.iter().find(|(name, _)| name == column);
        match (changed, *column) {
            (Some((_, expression)), _) => (*expression).to_owned(),
            (None, "mission_id") => format!("'{mission}'"),
            (None, "payload") => {
                let set = if set.is_empty() {
                    String::new()
                } else {
                    format!(", {set}")
                };
                let value = format!("json_set(payload, '$.mission_id', '{mission}'{set})");
                removed.iter().fold(value, |value, field| {
                    format!("json_remove({value}, {field})")
                })
            }
            (None, name) => name.to_owned(),
        }
    };
    columns
        .iter()
        .map(expression)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A row of `m1` put into `m2`.
fn copied((table, id, task): (&str, &str, bool), changes: &[(&str, &str)], set: &str) -> String {
    let mut columns = vec!["tenant_id", "mission_id", id];
    columns.extend(task.then_some("task_id"));
    columns.extend([
        "place",
        "event",
        "schema_version",
        "created_at",
        "producer",
        "payload",
    ]);
    let expressions = expressions(&columns, "m2", changes, set);
    let columns = columns.join(", ");
    format!(
        "INSERT INTO {table} ({columns}) SELECT {expressions} FROM {table} WHERE mission_id = 'm1' LIMIT 1"
    )
}

/// Mission `m1` as `m3`, with a run of its own.
fn third_mission(changes: &[(&str, &str)], set: &str) -> String {
    let columns = [
        "tenant_id",
        "mission_id",
        "run_key",
        "state",
        "artifacts",
        "event",
        "schema_version",
        "created_at",
        "producer",
        "payload",
    ];
    let mut changes = changes.to_vec();
    if !changes.iter().any(|(column, _)| *column == "run_key") {
        changes.push(("run_key", "last_insert_rowid()"));
    }
    let expressions = expressions(&columns, "m3", &changes, set);
    let columns = columns.join(", ");
    format!(
        "INSERT INTO run (run_id, tenant_id, title, phase, version, last_hash, created_at, updated_at)
         SELECT 'run-3', tenant_id, title, phase, version, last_hash, created_at, updated_at
         FROM run LIMIT 1;
         INSERT INTO colony_missions ({columns})
         SELECT {expressions} FROM colony_missions WHERE mission_id = 'm1'"
    )
}

#[tokio::test]
async fn b002_16_every_artifact_is_held_to_its_columns_and_references() -> Outcome {
    let dir = tempfile::tempdir()?;
    two_missions(dir.path()).await?;
    let connection = raw(dir.path())?;
    for table in TABLES {
        let (name, id, task) = table;
        // What is refused below is refused for the one thing that is wrong with it.
        let copy = copied(table, &[], "");
        assert_eq!(said(&connection, &copy)?, None, "{copy}");
        for (changes, set, reason) in BROKEN {
            must_refuse(&connection, &copied(table, changes, set), reason)?;
        }
        let another = format!("'$.{id}', 'another'");
        must_refuse(
            &connection,
            &copied(table, &[], &another),
            "columns_are_the_payloads",
        )?;
        let columns = [
            "tenant_id",
            "mission_id",
            id,
            "place",
            "event",
            "schema_version",
        ];
        let columns = columns
            .into_iter()
            .chain(["created_at", "producer", "payload"]);
        for column in columns.chain(task.then_some("task_id")) {
            let empty = copied(table, &[(column, "NULL")], "");
            must_refuse(&connection, &empty, "NOT NULL constraint failed")?;
        }
        if task {
            let gone = copied(table, &[("task_id", "'gone'")], "'$.task_id', 'gone'");
            must_refuse(&connection, &gone, "FOREIGN KEY constraint failed")?;
            let other = copied(table, &[], "'$.task_id', 'task_plan_01'");
            must_refuse(&connection, &other, "columns_are_the_payloads")?;
        }
        let twice = format!("{copy}; {}", copied(table, &[("place", "99")], ""));
        must_refuse(&connection, &twice, "UNIQUE constraint failed")?;
        let other = copied(table, &[(id, "'another'")], &another);
        let place = format!("UNIQUE constraint failed: {name}.tenant_id, {name}.mission_id");
        must_refuse(&connection, &format!("{copy}; {other}"), &place)?;
    }
    Ok(())
}

#[tokio::test]
async fn b002_16_words_and_ranges_are_the_databases_too() -> Outcome {
    let dir = tempfile::tempdir()?;
    two_missions(dir.path()).await?;
    let connection = raw(dir.path())?;
    let table = |name: &str| TABLES.into_iter().find(|(table, ..)| *table == name);
    for (name, set, reason) in BROKEN_WORDS {
        let table = table(name).ok_or(*name)?;
        must_refuse(&connection, &copied(table, &[], set), reason)?;
    }
    // B002-11: a review that rejects is whole without output; and there is one.
    let reviews = table("colony_review_packets").ok_or("no reviews")?;
    let rejected = "'$.review_status', 'rejected', '$.approved_output', NULL";
    assert_eq!(said(&connection, &copied(reviews, &[], rejected))?, None);
    let changes = [("packet_id", "'rev_002'"), ("place", "99")];
    let second = copied(reviews, &changes, "'$.packet_id', 'rev_002'");
    let both = format!("{}; {second}", copied(reviews, &[], ""));
    must_refuse(
        &connection,
        &both,
        "UNIQUE constraint failed: colony_review_packets",
    )
}

#[tokio::test]
async fn b002_16_a_mission_is_held_to_its_form() -> Outcome {
    let dir = tempfile::tempdir()?;
    two_missions(dir.path()).await?;
    let connection = raw(dir.path())?;
    assert_eq!(said(&connection, &third_mission(&[], ""))?, None);
    for (changes, set, reason) in BROKEN_MISSIONS {
        must_refuse(&connection, &third_mission(changes, set), reason)?;
    }
    let columns = [
        "tenant_id",
        "mission_id",
        "run_key",
        "state",
        "artifacts",
        "event",
    ];
    for column in columns
        .into_iter()
        .chain(["schema_version", "created_at", "producer", "payload"])
    {
        let empty = third_mission(&[(column, "NULL")], "");
        must_refuse(&connection, &empty, "NOT NULL constraint failed")?;
    }
    Ok(())
}

#[tokio::test]
async fn b002_18_a_plan_is_its_tasks() -> Outcome {
    let dir = tempfile::tempdir()?;
    two_missions(dir.path()).await?;
    let connection = raw(dir.path())?;
    let sql = "SELECT place || ' ' || task_id || ' ' || role_type FROM colony_tasks
               WHERE mission_id = 'm2' ORDER BY place";
    let mut statement = connection.prepare(sql)?;
    let rows: Result<Vec<String>, _> = statement.query_map([], |row| row.get(0))?.collect();
    let expected = [
        "1 task_plan_01 prompt_master",
        "2 task_research_01 researcher",
        "3 task_worker_01 worker",
        "4 task_aggregate_01 aggregator",
        "5 task_review_01 reviewer",
    ];
    assert_eq!(rows?, expected);
    Ok(())
}

#[tokio::test]
async fn b002_16_a_plan_is_held_to_its_form() -> Outcome {
    let dir = tempfile::tempdir()?;
    two_missions(dir.path()).await?;
    let connection = raw(dir.path())?;
    let task = |set: &str| {
        format!(
            "INSERT INTO colony_tasks (tenant_id, mission_id, task_id, place, payload)
             SELECT tenant_id, mission_id, 'new', 9, json_set(payload, '$.task_id', 'new'{set})
             FROM colony_tasks WHERE mission_id = 'm2' LIMIT 1"
        )
    };
    assert_eq!(said(&connection, &task(""))?, None);
    for (broken, reason) in [
        (task(", '$.task_id', 'other'"), "columns_are_the_payloads"),
        (task(", '$.role_type', 'boss'"), "role_is_known"),
        (task(", '$.role_type', NULL"), "NOT NULL constraint failed"),
        (
            task("").replace("SELECT tenant_id", "SELECT 'rival'"),
            "FOREIGN KEY",
        ),
        (
            task("").replace(", 9,", ", NULL,"),
            "NOT NULL constraint failed",
        ),
        (format!("{0}; {0}", task("")), "UNIQUE constraint failed"),
    ] {
        must_refuse(&connection, &broken, reason)?;
    }
    // A graph is whole or not there, and its mission's.
    let graph = |graph: &str, more: &str| {
        format!(
            "{}; UPDATE colony_missions SET task_graph_place = 2, task_graph_event = 1,
             task_graph_created_at = 1, task_graph =
                 (SELECT {graph} FROM colony_missions WHERE mission_id = 'm1'){more}
             WHERE mission_id = 'm3'",
            third_mission(&[], "")
        )
    };
    let whole = "json_set(task_graph, '$.mission_id', 'm3')";
    assert_eq!(said(&connection, &graph(whole, ""))?, None);
    for (value, more) in [
        ("task_graph", ""),
        ("NULL", ""),
        (
            "json_set(task_graph, '$.mission_id', 'm3', '$.actor_id', 'somebody')",
            "",
        ),
        (
            "json_set(task_graph, '$.mission_id', 'm3', '$.tenant_id', 'rival')",
            "",
        ),
        (
            "json_set(task_graph, '$.mission_id', 'm3', '$.schema_name', 'skill')",
            "",
        ),
        (whole, ", task_graph_place = 1"),
        (whole, ", task_graph_place = NULL"),
        (whole, ", task_graph_event = NULL"),
        (whole, ", task_graph_created_at = NULL"),
    ] {
        must_refuse(&connection, &graph(value, more), "graph_is_whole")?;
    }
    Ok(())
}

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
    "task_graph = NULL",
    "task_graph = json_set(task_graph, '$.tasks', json('[]'))",
    "task_graph_place = 7",
    "task_graph_event = 7",
    "task_graph_created_at = 7",
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
    let replace = copied(("colony_policy_decisions", "decision_id", false), &same, "");
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
    assert_eq!(rows, [("colony_tasks", 5), ("colony_missions", 1)]);
    Ok(())
}

/// B002-1: rows of the version v0 in the database, and the artifacts that are read.
#[tokio::test]
async fn b002_1_rows_of_an_older_version_are_read_as_the_present_one() -> Outcome {
    let dir = tempfile::tempdir()?;
    two_missions(dir.path()).await?;
    let connection = raw(dir.path())?;
    let old = |text: &str| text.replace("\"uuid\"", "\"m2\"");
    for (table, id, task, place, text) in [
        (
            "colony_worker_results",
            "result_id",
            Some("task_worker_01"),
            3,
            OLD_RESULT,
        ),
        ("colony_review_packets", "packet_id", None, 4, OLD_REVIEW),
    ] {
        let (column, value) = match task {
            Some(task) => (", task_id", format!(", '{task}'")),
            None => ("", String::new()),
        };
        connection.execute(
            &format!(
                "INSERT INTO {table} (tenant_id, mission_id, {id}{column}, place, event, schema_version,
                                      created_at, producer, payload)
                 SELECT 'tenant_velocity', 'm2', ?1 ->> '$.{id}'{value}, ?2, 1, 'v0', 0,
                        ?1 ->> '$.producer', json(?1)"
            ),
            rusqlite::params![old(text), place],
        )?;
    }
    connection.execute(
        "UPDATE colony_missions SET artifacts = 4 WHERE mission_id = 'm2'",
        [],
    )?;
    drop(connection);
    let store = SqliteStore::open(dir.path(), &SqliteOptions::default())?;
    let mission = MissionId::parse("m2")?;
    let root = root(&texts("m2"))?;
    let filter = ArtifactFilter::default();
    let stored = store
        .artifacts(&root.tenant_id, &mission, filter, 2, 9)
        .await?;
    let mut read = Vec::new();
    for artifact in &stored {
        assert_eq!(artifact.record.schema_version, "v0");
        let artifact = artifact.record.read(&root);
        let artifact = artifact.map_err(|violations| format!("{violations:?}"))?;
        read.push((artifact.as_ref().kind(), artifact.canonical()?));
    }
    let now = |text: &str| -> Done<String> {
        let value = serde_json::from_str(&old(text))?;
        Ok(charter_contract::canonical::text(value))
    };
    let expected = [
        (ArtifactKind::WorkerResult, now(OLD_RESULT_NOW)?),
        (ArtifactKind::ReviewPacket, now(OLD_REVIEW_NOW)?),
    ];
    assert_eq!(read, expected);
    Ok(())
}
