//! Constraints on the form of an artifact and a mission.

use charter_testkit::store_suite::Outcome;

use crate::missions::TABLES;
use crate::missions::engines::{Engine, engines};

/// An invalid row: columns set to other expressions, changes of the payload by pointers, and the database's error.
type Broken = (
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
);

/// The columns that every artifact's row has.
const STAMPED: [&str; 6] = [
    "place",
    "event",
    "schema_version",
    "created_at",
    "producer",
    "payload",
];

/// For every artifact.
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
        &[("mission_id", "'m9'")],
        "'$.mission_id', 'm9'",
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

/// For one kind: the table, and the changes of its payload.
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

/// For a mission.
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
    (&[("run_id", "'999'")], "", "FOREIGN KEY constraint failed"),
    (
        &[("run_id", "run_id")],
        "",
        "UNIQUE constraint failed: colony_missions.tenant_id, colony_missions.run_id",
    ),
    (
        &[("mission_id", "mission_id"), ("payload", "payload")],
        "",
        "UNIQUE constraint failed",
    ),
];

/// Returns expressions for a row of `columns` of mission `m1` that is inserted into another one. A payload field that
/// is set to NULL is absent.
fn expressions(
    engine: &Engine,
    columns: &[&str],
    mission: &str,
    changes: &[(&str, &str)],
    set: &str,
) -> String {
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
                let value = engine.payload_with(&format!("'$.mission_id', '{mission}'{set}"));
                removed
                    .iter()
                    .fold(value, |value, field| engine.without(&value, field))
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

/// Returns a statement that copies a row of `m1` into another mission.
pub(crate) fn copied(
    engine: &Engine,
    (table, id, task): (&str, Option<&str>, bool),
    mission: &str,
    changes: &[(&str, &str)],
    set: &str,
) -> String {
    let mut columns = vec!["tenant_id", "mission_id"];
    columns.extend(id);
    columns.extend(task.then_some("task_id"));
    columns.extend(STAMPED);
    let expressions = expressions(engine, &columns, mission, changes, set);
    let columns = columns.join(", ");
    format!(
        "INSERT INTO {table} ({columns}) SELECT {expressions} FROM {table} WHERE mission_id = 'm1' LIMIT 1"
    )
}

/// Returns statements that copy mission `m1` as `m3`, with its own run.
fn third_mission(engine: &Engine, changes: &[(&str, &str)], set: &str) -> String {
    let columns = [
        "tenant_id",
        "mission_id",
        "run_id",
        "state",
        "artifacts",
        "event",
        "schema_version",
        "created_at",
        "producer",
        "payload",
    ];
    let mut changes = changes.to_vec();
    if !changes.iter().any(|(column, _)| *column == "run_id") {
        changes.push(("run_id", "'run-3'"));
    }
    let expressions = expressions(engine, &columns, "m3", &changes, set);
    let columns = columns.join(", ");
    format!(
        "INSERT INTO run (tenant_id, run_id, user_id, title, phase, status, version, last_hash, created_at, updated_at)
         SELECT tenant_id, 'run-3', user_id, title, phase, status, version, last_hash, created_at, updated_at
         FROM run LIMIT 1;
         INSERT INTO colony_missions ({columns})
         SELECT {expressions} FROM colony_missions WHERE mission_id = 'm1'"
    )
}

#[tokio::test]
async fn b002_16_every_artifact_is_held_to_its_columns_and_references() -> Outcome {
    for engine in &engines().await? {
        hold_to_columns_and_references(engine).await?;
    }
    Ok(())
}

async fn hold_to_columns_and_references(engine: &Engine) -> Outcome {
    for table in TABLES {
        let (name, id, task) = table;
        // The second mission already has a graph, and only one is allowed.
        let (mission, before) = match id {
            Some(_) => ("m2", String::new()),
            None => ("m3", third_mission(engine, &[], "") + "; "),
        };
        let into = |changes: &[(&str, &str)], set: &str| {
            before.clone() + &copied(engine, table, mission, changes, set)
        };
        // The unchanged copy is valid, so each refusal below has exactly one cause.
        let copy = into(&[], "");
        assert_eq!(engine.said(&copy).await?, None, "{copy}");
        for (changes, set, reason) in BROKEN {
            engine.must_refuse(&into(changes, set), reason).await?;
        }
        let named = ["tenant_id", "mission_id"].into_iter().chain(id);
        for column in named.chain(STAMPED).chain(task.then_some("task_id")) {
            let empty = into(&[(column, "NULL")], "");
            engine
                .must_refuse(&empty, "NOT NULL constraint failed")
                .await?;
        }
        if task {
            let gone = into(&[("task_id", "'gone'")], "'$.task_id', 'gone'");
            engine
                .must_refuse(&gone, "FOREIGN KEY constraint failed")
                .await?;
            let other = into(&[], "'$.task_id', 'task_plan_01'");
            engine
                .must_refuse(&other, "columns_are_the_payloads")
                .await?;
        }
        let again = copied(engine, table, mission, &[("place", "99")], "");
        let twice = format!("{copy}; {again}");
        engine
            .must_refuse(&twice, "UNIQUE constraint failed")
            .await?;
        if let Some(id) = id {
            let another = format!("'$.{id}', 'another'");
            engine
                .must_refuse(&into(&[], &another), "columns_are_the_payloads")
                .await?;
            let other = into(&[(id, "'another'")], &another);
            let place = format!("UNIQUE constraint failed: {name}.tenant_id, {name}.mission_id");
            engine
                .must_refuse(&format!("{copy}; {other}"), &place)
                .await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn b002_16_words_and_ranges_are_the_databases_too() -> Outcome {
    for engine in &engines().await? {
        hold_to_words_and_ranges(engine).await?;
    }
    Ok(())
}

async fn hold_to_words_and_ranges(engine: &Engine) -> Outcome {
    let table = |name: &str| TABLES.into_iter().find(|(table, ..)| *table == name);
    for (name, set, reason) in BROKEN_WORDS {
        let table = table(name).ok_or(*name)?;
        engine
            .must_refuse(&copied(engine, table, "m2", &[], set), reason)
            .await?;
    }
    // B002-11: a review that rejects is complete without output; and there is only one.
    let reviews = table("colony_review_packets").ok_or("no reviews")?;
    let rejected = "'$.review_status', 'rejected', '$.approved_output', NULL";
    assert_eq!(
        engine
            .said(&copied(engine, reviews, "m2", &[], rejected))
            .await?,
        None
    );
    let changes = [("packet_id", "'rev_002'"), ("place", "99")];
    let second = copied(engine, reviews, "m2", &changes, "'$.packet_id', 'rev_002'");
    let both = format!("{}; {second}", copied(engine, reviews, "m2", &[], ""));
    engine
        .must_refuse(&both, "UNIQUE constraint failed: colony_review_packets")
        .await
}

#[tokio::test]
async fn b002_16_a_mission_is_held_to_its_form() -> Outcome {
    for engine in &engines().await? {
        hold_a_mission_to_its_form(engine).await?;
    }
    Ok(())
}

async fn hold_a_mission_to_its_form(engine: &Engine) -> Outcome {
    assert_eq!(engine.said(&third_mission(engine, &[], "")).await?, None);
    for (changes, set, reason) in BROKEN_MISSIONS {
        engine
            .must_refuse(&third_mission(engine, changes, set), reason)
            .await?;
    }
    let columns = [
        "tenant_id",
        "mission_id",
        "run_id",
        "state",
        "artifacts",
        "event",
    ];
    for column in columns
        .into_iter()
        .chain(["schema_version", "created_at", "producer", "payload"])
    {
        let empty = third_mission(engine, &[(column, "NULL")], "");
        engine
            .must_refuse(&empty, "NOT NULL constraint failed")
            .await?;
    }
    Ok(())
}
