//! Rows of an older version of the schemas.

use charter_contract::ids::MissionId;
use charter_contract::mission::ArtifactKind;
use charter_store::mission::{ArtifactFilter, Missions};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::Outcome;

use crate::missions::{Done, raw, root, texts, two_missions};

const OLD_RESULT: &str = include_str!("../../../../contract/tests/versions/worker_result.v0.json");
const OLD_RESULT_NOW: &str =
    include_str!("../../../../contract/tests/versions/worker_result.v0.as_v1.json");
const OLD_REVIEW: &str = include_str!("../../../../contract/tests/versions/review_packet.v0.json");
const OLD_REVIEW_NOW: &str =
    include_str!("../../../../contract/tests/versions/review_packet.v0.as_v1.json");

/// B002-1: rows of the version v0 in the database, and the resulting artifacts.
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
