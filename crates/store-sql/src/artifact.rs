//! Artifacts of missions, which the transaction of a journal append writes. The run's row, and so its mission, is locked
//! by then. Artifacts are read through the view `colony_artifacts`; triggers and constraints protect written rows
//! (`migrations/V1__initial.sql`).

use charter_contract::ids::{MissionId, TaskId, TenantId};
use charter_contract::mission::{ArtifactKind, MissionSchemaVersion, MissionState};
use charter_store::StoreError;
use charter_store::mission::{ArtifactFilter, ArtifactRecord, StoredArtifact};

use crate::assignment;
use crate::column;
use crate::row::{Columns, field};
use crate::tx::{Dialect, SqlValue, Tx, execute, params, row, rows};

const PLACE: &str = "place of an artifact";
const EVENT: &str = "event of an artifact";
pub(crate) const COUNT: &str = "number of artifacts";

/// Changes of an append to its run's mission.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addition<'a> {
    /// The run's tenant.
    pub(crate) tenant: &'a str,
    /// The run.
    pub(crate) run: &'a str,
    /// The last event of the append.
    pub(crate) event: u64,
    /// The added artifacts.
    pub(crate) artifacts: &'a [ArtifactRecord],
    /// The mission's new state.
    pub(crate) state: Option<MissionState>,
}

/// Reads the columns of the view.
fn stored(row: &dyn Columns) -> Result<StoredArtifact, StoreError> {
    Ok(StoredArtifact {
        place: column::parse_integer(PLACE, field(row, 5)?)?,
        event: column::parse_integer(EVENT, field(row, 6)?)?,
        record: ArtifactRecord {
            tenant_id: column::parse("tenant id", field(row, 0)?)?,
            mission_id: column::parse("mission id", field(row, 1)?)?,
            kind: column::parse("kind of artifact", field(row, 2)?)?,
            artifact_id: field(row, 3)?,
            task_id: field::<Option<&str>>(row, 4)?
                .map(|task| column::parse("task id", task))
                .transpose()?,
            schema_version: field(row, 7)?,
            created_at: column::parse_micros(field(row, 8)?)?,
            producer: column::parse("producer", field(row, 9)?)?,
            payload: field(row, 10)?,
        },
    })
}

/// Returns the matching artifacts of a mission after the position `after`, in the order of writing.
pub(crate) async fn list(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    mission: &MissionId,
    filter: ArtifactFilter<'_>,
    after: u64,
    limit: usize,
) -> Result<Vec<StoredArtifact>, StoreError> {
    rows(
        "reading artifacts",
        tx,
        "SELECT * FROM colony_artifacts
         WHERE tenant_id = $1 AND mission_id = $2 AND place > $3
           AND (CAST($4 AS text) IS NULL OR kind = $4) AND (CAST($5 AS text) IS NULL OR task_id = $5)
         ORDER BY place LIMIT $6",
        params![
            tenant.as_str(),
            mission.as_str(),
            column::integer(PLACE, after)?,
            filter.kind.map(ArtifactKind::as_str),
            filter.task_id.map(TaskId::as_str),
            column::limit(limit)
        ],
        stored,
    )
    .await
}

/// Returns an artifact by its kind and id.
pub(crate) async fn find(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    mission: &MissionId,
    kind: ArtifactKind,
    id: &str,
) -> Result<Option<StoredArtifact>, StoreError> {
    row(
        "reading an artifact",
        tx,
        "SELECT * FROM colony_artifacts
         WHERE tenant_id = $1 AND mission_id = $2 AND kind = $3 AND artifact_id = $4",
        params![tenant.as_str(), mission.as_str(), kind.as_str(), id],
        stored,
    )
    .await
}

/// Creates the mission of a new run, if the run has one, with its first artifacts.
pub(crate) async fn begin(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    addition: Addition<'_>,
) -> Result<(), StoreError> {
    let Some((envelope, artifacts)) = addition.artifacts.split_first() else {
        return no_mission(addition);
    };
    if envelope.kind != ArtifactKind::MissionEnvelope || envelope.tenant_id != *tenant {
        let detail = "the first artifact must be the mission's envelope, of the run's tenant";
        return Err(refused(envelope, detail.to_owned()));
    }
    check_version(envelope)?;
    insert_mission(tx, envelope, 1, addition, None).await?;
    let addition = Addition {
        artifacts,
        ..addition
    };
    add_to(tx, envelope.mission_id.as_str(), 1, addition).await
}

/// Adds to the mission of a run. Without artifacts and state it executes no statement.
pub(crate) async fn add(tx: &mut Tx<'_>, addition: Addition<'_>) -> Result<(), StoreError> {
    if addition.artifacts.is_empty() && addition.state.is_none() {
        return Ok(());
    }
    let found: Option<(String, i64)> = row(
        "reading a mission",
        tx,
        "SELECT mission_id, artifacts FROM colony_missions WHERE tenant_id = $1 AND run_id = $2",
        params![addition.tenant, addition.run],
        |row| Ok((field(row, 0)?, field(row, 1)?)),
    )
    .await?;
    match found {
        Some((mission, artifacts)) => {
            let artifacts = column::parse_integer(COUNT, artifacts)?;
            add_to(tx, &mission, artifacts, addition).await
        }
        None => no_mission(addition),
    }
}

/// Adds to a mission that has `before` artifacts.
async fn add_to(
    tx: &mut Tx<'_>,
    mission: &str,
    before: u64,
    addition: Addition<'_>,
) -> Result<(), StoreError> {
    let mut artifacts = before;
    for record in addition.artifacts {
        check_mission(record, addition.tenant, mission)?;
        check_version(record)?;
        if insert(tx, record, artifacts + 1, addition.event).await? {
            artifacts += 1;
        } else {
            check_repeat(tx, record).await?;
        }
    }
    if artifacts == before && addition.state.is_none() {
        return Ok(());
    }
    execute(
        "writing a mission",
        tx,
        "UPDATE colony_missions SET artifacts = $3, state = coalesce($4, state)
         WHERE tenant_id = $1 AND mission_id = $2",
        params![
            addition.tenant,
            mission,
            column::integer(COUNT, artifacts)?,
            addition.state.map(MissionState::as_str)
        ],
    )
    .await?;
    if addition.state.is_some_and(MissionState::is_final) {
        assignment::close_all(tx, addition.tenant, mission).await?;
    }
    Ok(())
}

/// Checks an artifact that was not inserted: a stored one with its id must be identical (B002-15); if there is none,
/// the mission allows only one of its kind (B002-11).
async fn check_repeat(tx: &mut Tx<'_>, record: &ArtifactRecord) -> Result<(), StoreError> {
    let (tenant, mission, id) = (&record.tenant_id, &record.mission_id, &record.artifact_id);
    match find(tx, tenant, mission, record.kind, id).await? {
        Some(held) if held.record.payload == record.payload => Ok(()),
        Some(_) => Err(exists(record)),
        None => Err(refused(record, "the mission already has one".to_owned())),
    }
}

/// Inserts a mission with its envelope, for `artifacts` artifacts; `imported_at` is set for an imported one.
pub(crate) async fn insert_mission(
    tx: &mut Tx<'_>,
    envelope: &ArtifactRecord,
    artifacts: u64,
    addition: Addition<'_>,
    imported_at: Option<i64>,
) -> Result<(), StoreError> {
    let added = constrained(
        tx,
        envelope,
        "INSERT INTO colony_missions
         (tenant_id, mission_id, run_id, state, artifacts, imported_at, event, schema_version,
          created_at, producer, payload)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING",
        params![
            envelope.tenant_id.as_str(),
            &envelope.artifact_id,
            addition.run,
            addition.state.unwrap_or(MissionState::Created).as_str(),
            column::integer(COUNT, artifacts)?,
            imported_at,
            column::integer(EVENT, addition.event)?,
            &envelope.schema_version,
            column::micros(envelope.created_at),
            envelope.producer.as_str(),
            &envelope.payload
        ],
    )
    .await?;
    if added == 0 {
        return Err(exists(envelope));
    }
    Ok(())
}

/// Inserts an artifact, and the tasks of a graph as rows; returns whether it was inserted.
pub(crate) async fn insert(
    tx: &mut Tx<'_>,
    record: &ArtifactRecord,
    place: u64,
    event: u64,
) -> Result<bool, StoreError> {
    let (table, own) = match record.kind {
        // The envelope was stored when the mission began.
        ArtifactKind::MissionEnvelope => return Ok(false),
        ArtifactKind::MissionTaskGraph => ("colony_task_graphs", ""),
        ArtifactKind::PromptPackage => ("colony_prompt_packages", ", package_id, task_id"),
        ArtifactKind::ResearchArtifact => ("colony_research_artifacts", ", artifact_id, task_id"),
        ArtifactKind::LibrarianPass => ("colony_librarian_passes", ", pass_id, task_id"),
        ArtifactKind::WorkerResult => ("colony_worker_results", ", result_id, task_id"),
        ArtifactKind::AggregationPacket => ("colony_aggregation_packets", ", packet_id"),
        ArtifactKind::ReviewPacket => ("colony_review_packets", ", packet_id"),
        ArtifactKind::PolicyDecision => ("colony_policy_decisions", ", decision_id"),
        ArtifactKind::WritebackProposal => ("colony_writeback_proposals", ", proposal_id"),
    };
    let (placeholders, count) = match own.matches(',').count() {
        0 => ("", 8),
        1 => (", $9", 9),
        _ => (", $9, $10", 10),
    };
    let sql = format!(
        "INSERT INTO {table}
         (tenant_id, mission_id, place, event, schema_version, created_at, producer, payload{own})
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8{placeholders}) ON CONFLICT DO NOTHING"
    );
    let values = params![
        record.tenant_id.as_str(),
        record.mission_id.as_str(),
        column::integer(PLACE, place)?,
        column::integer(EVENT, event)?,
        &record.schema_version,
        column::micros(record.created_at),
        record.producer.as_str(),
        &record.payload,
        &record.artifact_id,
        record.task_id.as_ref().map(TaskId::as_str)
    ];
    let added = constrained(tx, record, &sql, &values[..count]).await?;
    if added > 0 && record.kind == ArtifactKind::MissionTaskGraph {
        insert_tasks(tx, record).await?;
    }
    Ok(added > 0)
}

async fn insert_tasks(tx: &mut Tx<'_>, graph: &ArtifactRecord) -> Result<(), StoreError> {
    let sql = match tx.dialect() {
        Dialect::Sqlite => {
            "INSERT INTO colony_tasks (tenant_id, mission_id, task_id, place, payload)
             SELECT $1, $2, value ->> '$.task_id', key + 1, value FROM json_each($3, '$.tasks')"
        }
        // `json`, not `jsonb`, preserves a task's text.
        Dialect::Postgres => {
            "INSERT INTO colony_tasks (tenant_id, mission_id, task_id, place, payload)
             SELECT $1, $2, task.value ->> 'task_id', task.place, task.value::text
             FROM json_array_elements($3::text::json -> 'tasks')
                  WITH ORDINALITY AS task (value, place)"
        }
    };
    let (tenant, mission) = (graph.tenant_id.as_str(), graph.mission_id.as_str());
    constrained(tx, graph, sql, params![tenant, mission, &graph.payload])
        .await
        .map(|_| ())
}

/// Runs a statement; violated constraints refuse the artifact.
async fn constrained(
    tx: &mut Tx<'_>,
    record: &ArtifactRecord,
    sql: &str,
    values: &[SqlValue<'_>],
) -> Result<u64, StoreError> {
    let changed = execute("writing an artifact", tx, sql, values).await;
    changed.map_err(|error| match error {
        StoreError::Refused { detail, .. } => refused(record, detail),
        other => other,
    })
}

/// Refuses artifacts and states for a run without a mission.
fn no_mission(addition: Addition<'_>) -> Result<(), StoreError> {
    let detail = "its run has no mission".to_owned();
    match (addition.artifacts.first(), addition.state) {
        (None, None) => Ok(()),
        (Some(artifact), _) => Err(refused(artifact, detail)),
        (None, Some(state)) => Err(StoreError::Refused {
            what: "mission state",
            id: state.to_string(),
            detail,
        }),
    }
}

/// Checks that an artifact belongs to its run's mission (B002-3).
pub(crate) fn check_mission(
    record: &ArtifactRecord,
    tenant: &str,
    mission: &str,
) -> Result<(), StoreError> {
    if (record.tenant_id.as_str(), record.mission_id.as_str()) == (tenant, mission) {
        return Ok(());
    }
    let detail = format!("it does not belong to mission `{mission}`");
    Err(refused(record, detail))
}

/// Checks that the written version is the current one; older versions are only read (B002-1).
fn check_version(record: &ArtifactRecord) -> Result<(), StoreError> {
    let (version, written) = (&record.schema_version, MissionSchemaVersion::default());
    if version == written.as_str() {
        return Ok(());
    }
    let detail = format!("its version is {version}, but only {written} can be written");
    Err(refused(record, detail))
}

fn refused(record: &ArtifactRecord, detail: String) -> StoreError {
    StoreError::Refused {
        what: record.kind.as_str(),
        id: record.artifact_id.clone(),
        detail,
    }
}

fn exists(record: &ArtifactRecord) -> StoreError {
    StoreError::AlreadyExists {
        what: record.kind.as_str(),
        id: record.artifact_id.clone(),
    }
}
