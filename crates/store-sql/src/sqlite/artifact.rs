//! Writes artifacts in the transaction of the journal append that records them.

use charter_contract::ids::TenantId;
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_store::StoreError;
use charter_store::mission::{ArtifactRecord, StoredArtifact};
use rusqlite::{Connection, Error, ErrorCode, Params, params};

use super::failure::during;
use super::statement::{execute, row};
use crate::column;
use crate::record::mission::{
    self as record, MissionHead, PositionedArtifact, check_mission, check_repeat, check_version,
    exists, refused,
};
use crate::row::field;

const READING: &str = "reading a mission";
const WRITING: &str = "writing an artifact";

/// Changes of an append to its run's mission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addition<'a> {
    /// The run's key.
    pub(super) run: i64,
    /// The last event of the append.
    pub(super) event: u64,
    /// The added artifacts.
    pub(super) artifacts: &'a [ArtifactRecord],
    /// The mission's new state.
    pub(super) state: Option<MissionState>,
}

/// Creates the mission of a new run, if the run has one, with its first artifacts.
pub(super) fn begin(
    connection: &Connection,
    tenant: &TenantId,
    addition: Addition<'_>,
) -> Result<(), StoreError> {
    let Some((envelope, rest)) = record::begins(tenant, addition.artifacts)? else {
        return record::no_mission(&[], addition.state);
    };
    let state = addition.state.unwrap_or(MissionState::Created);
    insert_mission(
        connection,
        addition.run,
        envelope,
        addition.event,
        state,
        None,
    )?;
    let head = MissionHead {
        tenant: envelope.tenant_id.to_string(),
        mission: envelope.mission_id.to_string(),
        artifacts: 1,
    };
    add_to(
        connection,
        &head,
        Addition {
            artifacts: rest,
            ..addition
        },
    )
}

/// Adds to the mission of a run. Without artifacts and state it executes no statement.
pub(super) fn add(connection: &Connection, addition: Addition<'_>) -> Result<(), StoreError> {
    if addition.artifacts.is_empty() && addition.state.is_none() {
        return Ok(());
    }
    match head(connection, addition.run)? {
        Some(head) => add_to(connection, &head, addition),
        None => record::no_mission(addition.artifacts, addition.state),
    }
}

fn head(connection: &Connection, run: i64) -> Result<Option<MissionHead>, StoreError> {
    row(
        READING,
        connection,
        "SELECT tenant_id, mission_id, artifacts FROM colony_missions WHERE run_key = ?1",
        [run],
        |row| {
            Ok(MissionHead {
                tenant: field(row, 0)?,
                mission: field(row, 1)?,
                artifacts: column::parse_integer("number of artifacts", field(row, 2)?)?,
            })
        },
    )
}

fn add_to(
    connection: &Connection,
    head: &MissionHead,
    addition: Addition<'_>,
) -> Result<(), StoreError> {
    let mut artifacts = head.artifacts;
    for record in addition.artifacts {
        check_mission(head, record)?;
        check_version(record)?;
        let placed = PositionedArtifact {
            record,
            place: artifacts + 1,
            event: addition.event,
        };
        if insert(connection, &placed)? {
            artifacts += 1;
        } else {
            let (tenant, mission) = (record.tenant_id.as_str(), record.mission_id.as_str());
            let held = named(
                connection,
                tenant,
                mission,
                record.kind,
                &record.artifact_id,
            )?;
            check_repeat(record, held.as_ref())?;
        }
    }
    if artifacts == head.artifacts && addition.state.is_none() {
        return Ok(());
    }
    execute(
        "writing a mission",
        connection,
        "UPDATE colony_missions SET artifacts = ?3, state = coalesce(?4, state)
         WHERE tenant_id = ?1 AND mission_id = ?2",
        params![
            head.tenant,
            head.mission,
            column::integer("number of artifacts", artifacts)?,
            addition.state.map(MissionState::as_str)
        ],
    )?;
    Ok(())
}

/// An artifact by its kind and id.
pub(super) fn named(
    connection: &Connection,
    tenant: &str,
    mission: &str,
    kind: ArtifactKind,
    id: &str,
) -> Result<Option<StoredArtifact>, StoreError> {
    row(
        "reading an artifact",
        connection,
        "SELECT * FROM colony_artifacts
         WHERE tenant_id = ?1 AND mission_id = ?2 AND kind = ?3 AND artifact_id = ?4",
        [tenant, mission, kind.as_str(), id],
        record::artifact,
    )
}

/// Inserts a mission with its envelope; `imported_at` is set for an imported one.
pub(super) fn insert_mission(
    connection: &Connection,
    run: i64,
    envelope: &ArtifactRecord,
    event: u64,
    state: MissionState,
    imported_at: Option<i64>,
) -> Result<(), StoreError> {
    let added = constrained(
        envelope,
        connection,
        "INSERT INTO colony_missions
         (tenant_id, mission_id, run_key, state, artifacts, imported_at, event, schema_version,
          created_at, producer, payload)
         VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
        params![
            envelope.tenant_id.as_str(),
            envelope.artifact_id,
            run,
            state.as_str(),
            imported_at,
            column::integer("event of an artifact", event)?,
            envelope.schema_version,
            column::micros(envelope.created_at),
            envelope.producer.as_str(),
            envelope.payload
        ],
    )?;
    if added == 0 {
        Err(exists(envelope))
    } else {
        Ok(())
    }
}

/// The statement that inserts an artifact into its table.
macro_rules! into {
    ($table:literal, $id:literal) => {
        concat!(
            "INSERT INTO ",
            $table,
            " (tenant_id, mission_id, ",
            $id,
            ", place, event, schema_version, created_at, producer, payload)
              VALUES (?1, ?2, ?3, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING"
        )
    };
    ($table:literal, $id:literal, task) => {
        concat!(
            "INSERT INTO ",
            $table,
            " (tenant_id, mission_id, ",
            $id,
            ", task_id, place, event, schema_version, created_at, producer, payload)
              VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING"
        )
    };
}

/// Inserts an artifact; returns whether a row was inserted.
pub(super) fn insert(
    connection: &Connection,
    placed: &PositionedArtifact<'_>,
) -> Result<bool, StoreError> {
    let sql = match placed.record.kind {
        // The envelope was stored when the mission began.
        ArtifactKind::MissionEnvelope => return Ok(false),
        ArtifactKind::MissionTaskGraph => return insert_graph(connection, placed),
        ArtifactKind::PromptPackage => into!("colony_prompt_packages", "package_id", task),
        ArtifactKind::ResearchArtifact => into!("colony_research_artifacts", "artifact_id", task),
        ArtifactKind::LibrarianPass => into!("colony_librarian_passes", "pass_id", task),
        ArtifactKind::WorkerResult => into!("colony_worker_results", "result_id", task),
        ArtifactKind::AggregationPacket => into!("colony_aggregation_packets", "packet_id"),
        ArtifactKind::ReviewPacket => into!("colony_review_packets", "packet_id"),
        ArtifactKind::PolicyDecision => into!("colony_policy_decisions", "decision_id"),
        ArtifactKind::WritebackProposal => into!("colony_writeback_proposals", "proposal_id"),
    };
    let PositionedArtifact {
        record,
        place,
        event,
    } = *placed;
    let added = constrained(
        record,
        connection,
        sql,
        params![
            record.tenant_id.as_str(),
            record.mission_id.as_str(),
            record.artifact_id,
            record.task_id.as_ref().map(AsRef::<str>::as_ref),
            column::integer("place of an artifact", place)?,
            column::integer("event of an artifact", event)?,
            record.schema_version,
            column::micros(record.created_at),
            record.producer.as_str(),
            record.payload
        ],
    )?;
    Ok(added > 0)
}

/// Inserts the one graph of a mission, and its tasks as rows.
fn insert_graph(
    connection: &Connection,
    placed: &PositionedArtifact<'_>,
) -> Result<bool, StoreError> {
    let PositionedArtifact {
        record,
        place,
        event,
    } = *placed;
    let (tenant, mission) = (record.tenant_id.as_str(), record.mission_id.as_str());
    let added = constrained(
        record,
        connection,
        "INSERT INTO colony_task_graphs
         (tenant_id, mission_id, place, event, schema_version, created_at, producer, payload)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        params![
            tenant,
            mission,
            column::integer("place of an artifact", place)?,
            column::integer("event of an artifact", event)?,
            record.schema_version,
            column::micros(record.created_at),
            record.producer.as_str(),
            record.payload
        ],
    )?;
    if added > 0 {
        constrained(
            record,
            connection,
            "INSERT INTO colony_tasks (tenant_id, mission_id, task_id, place, payload)
             SELECT ?1, ?2, value ->> '$.task_id', key + 1, value FROM json_each(?3, '$.tasks')",
            params![tenant, mission, record.payload],
        )?;
    }
    Ok(added > 0)
}

/// Runs a statement, and maps violated constraints to a refusal instead of an engine error, because a retry cannot
/// succeed.
fn constrained(
    record: &ArtifactRecord,
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<usize, StoreError> {
    let changed = connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(params));
    changed.map_err(|error| match violated(&error) {
        Some(constraint) => refused(record, constraint),
        None => during(WRITING)(error),
    })
}

/// Returns the violated constraint, in the database's words.
fn violated(error: &Error) -> Option<String> {
    match error {
        Error::SqliteFailure(failure, said) if failure.code == ErrorCode::ConstraintViolation => {
            Some(said.clone().unwrap_or_else(|| failure.to_string()))
        }
        _ => None,
    }
}
