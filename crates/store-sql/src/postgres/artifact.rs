//! Writes artifacts in the transaction of the journal append that records them. The run's row, and so its mission, is
//! already locked.

use charter_contract::ids::TenantId;
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_store::StoreError;
use charter_store::mission::{ArtifactRecord, StoredArtifact};
use deadpool_postgres::{GenericClient, Transaction};

use super::failure::{during, refusal};
use super::statement::{Values, execute, params, row};
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
    /// The run's tenant.
    pub(super) tenant: &'a str,
    /// The run.
    pub(super) run: &'a str,
    /// The last event of the append.
    pub(super) event: u64,
    /// The added artifacts.
    pub(super) artifacts: &'a [ArtifactRecord],
    /// The mission's new state.
    pub(super) state: Option<MissionState>,
}

/// Creates the mission of a new run, if the run has one, with its first artifacts.
pub(super) async fn begin(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    addition: Addition<'_>,
) -> Result<(), StoreError> {
    let Some((envelope, rest)) = record::begins(tenant, addition.artifacts)? else {
        return record::no_mission(&[], addition.state);
    };
    let state = addition.state.unwrap_or(MissionState::Created);
    let (run, event) = (addition.run, addition.event);
    insert_mission(connection, run, envelope, event, state, None).await?;
    let head = MissionHead {
        tenant: envelope.tenant_id.to_string(),
        mission: envelope.mission_id.to_string(),
        artifacts: 1,
    };
    let addition = Addition {
        artifacts: rest,
        ..addition
    };
    add_to(connection, &head, addition).await
}

/// Adds to the mission of a run. Without artifacts and state it executes no statement.
pub(super) async fn add(
    connection: &Transaction<'_>,
    addition: Addition<'_>,
) -> Result<(), StoreError> {
    if addition.artifacts.is_empty() && addition.state.is_none() {
        return Ok(());
    }
    let head = row(
        READING,
        connection,
        "SELECT tenant_id, mission_id, artifacts FROM colony_missions
         WHERE tenant_id = $1 AND run_id = $2",
        params![addition.tenant, addition.run],
        |row| {
            Ok(MissionHead {
                tenant: field(row, 0)?,
                mission: field(row, 1)?,
                artifacts: column::parse_integer("number of artifacts", field(row, 2)?)?,
            })
        },
    )
    .await?;
    match head {
        Some(head) => add_to(connection, &head, addition).await,
        None => record::no_mission(addition.artifacts, addition.state),
    }
}

async fn add_to(
    connection: &Transaction<'_>,
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
        if insert(connection, &placed).await? {
            artifacts += 1;
        } else {
            let (tenant, mission) = (record.tenant_id.as_str(), record.mission_id.as_str());
            let id = &record.artifact_id;
            let held = named(connection, tenant, mission, record.kind, id).await?;
            check_repeat(record, held.as_ref())?;
        }
    }
    if artifacts == head.artifacts && addition.state.is_none() {
        return Ok(());
    }
    execute(
        "writing a mission",
        connection,
        "UPDATE colony_missions SET artifacts = $3, state = coalesce($4, state)
         WHERE tenant_id = $1 AND mission_id = $2",
        params![
            head.tenant,
            head.mission,
            column::integer("number of artifacts", artifacts)?,
            addition.state.map(MissionState::as_str)
        ],
    )
    .await
    .map(|_| ())
}

/// An artifact by its kind and id.
pub(super) async fn named(
    connection: &impl GenericClient,
    tenant: &str,
    mission: &str,
    kind: ArtifactKind,
    id: &str,
) -> Result<Option<StoredArtifact>, StoreError> {
    row(
        "reading an artifact",
        connection,
        "SELECT * FROM colony_artifacts
         WHERE tenant_id = $1 AND mission_id = $2 AND kind = $3 AND artifact_id = $4",
        params![tenant, mission, kind.as_str(), id],
        record::artifact,
    )
    .await
}

/// Inserts a mission with its envelope; `imported_at` is set for an imported one.
pub(super) async fn insert_mission(
    connection: &Transaction<'_>,
    run: &str,
    envelope: &ArtifactRecord,
    event: u64,
    state: MissionState,
    imported_at: Option<i64>,
) -> Result<(), StoreError> {
    let added = constrained(
        envelope,
        connection,
        "INSERT INTO colony_missions
         (tenant_id, mission_id, run_id, state, artifacts, imported_at, event, schema_version,
          created_at, producer, payload)
         VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING",
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
    )
    .await?;
    if added == 0 {
        Err(exists(envelope))
    } else {
        Ok(())
    }
}

/// Inserts an artifact; returns whether a row was inserted.
pub(super) async fn insert(
    connection: &Transaction<'_>,
    placed: &PositionedArtifact<'_>,
) -> Result<bool, StoreError> {
    let (table, id, has_task) = match placed.record.kind {
        // The envelope was stored when the mission began.
        ArtifactKind::MissionEnvelope => return Ok(false),
        ArtifactKind::MissionTaskGraph => return insert_graph(connection, placed).await,
        ArtifactKind::PromptPackage => ("colony_prompt_packages", "package_id", true),
        ArtifactKind::ResearchArtifact => ("colony_research_artifacts", "artifact_id", true),
        ArtifactKind::LibrarianPass => ("colony_librarian_passes", "pass_id", true),
        ArtifactKind::WorkerResult => ("colony_worker_results", "result_id", true),
        ArtifactKind::AggregationPacket => ("colony_aggregation_packets", "packet_id", false),
        ArtifactKind::ReviewPacket => ("colony_review_packets", "packet_id", false),
        ArtifactKind::PolicyDecision => ("colony_policy_decisions", "decision_id", false),
        ArtifactKind::WritebackProposal => ("colony_writeback_proposals", "proposal_id", false),
    };
    let (task, task_value) = if has_task {
        (", task_id", ", $10")
    } else {
        ("", "")
    };
    let sql = format!(
        "INSERT INTO {table}
         (tenant_id, mission_id, {id}, place, event, schema_version, created_at, producer, payload{task})
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9{task_value}) ON CONFLICT DO NOTHING"
    );
    let record = placed.record;
    let values: Values<'_> = params![
        record.tenant_id.as_str(),
        record.mission_id.as_str(),
        record.artifact_id,
        column::integer("place of an artifact", placed.place)?,
        column::integer("event of an artifact", placed.event)?,
        record.schema_version,
        column::micros(record.created_at),
        record.producer.as_str(),
        record.payload,
        record.task_id.as_ref().map(AsRef::<str>::as_ref)
    ];
    let values = if has_task { values } else { &values[..9] };
    let added = constrained(record, connection, &sql, values).await?;
    Ok(added > 0)
}

/// Inserts the one graph of a mission, and its tasks as rows.
async fn insert_graph(
    connection: &Transaction<'_>,
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
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
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
    )
    .await?;
    if added > 0 {
        // `json`, not `jsonb`, preserves a task's text.
        constrained(
            record,
            connection,
            "INSERT INTO colony_tasks (tenant_id, mission_id, task_id, place, payload)
             SELECT $1, $2, task.value ->> 'task_id', task.place, task.value::text
             FROM json_array_elements($3::text::json -> 'tasks')
                  WITH ORDINALITY AS task (value, place)",
            params![tenant, mission, record.payload],
        )
        .await?;
    }
    Ok(added > 0)
}

/// Runs a statement, and maps violated constraints to a refusal instead of an engine error, because a retry cannot
/// succeed.
async fn constrained(
    record: &ArtifactRecord,
    connection: &Transaction<'_>,
    sql: &str,
    values: Values<'_>,
) -> Result<u64, StoreError> {
    let statement = connection.prepare_cached(sql).await;
    let statement = statement.map_err(during(WRITING))?;
    let changed = connection.execute(&statement, values).await;
    changed.map_err(|error| match refusal(&error) {
        Some(constraint) => refused(record, constraint),
        None => during(WRITING)(error),
    })
}
