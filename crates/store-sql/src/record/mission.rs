//! Missions and artifacts: rows, and checks before writing.

use charter_contract::ids::TenantId;
use charter_contract::mission::upcast::versions;
use charter_contract::mission::{ArtifactKind, MissionSchemaVersion, MissionState};
use charter_store::StoreError;
use charter_store::journal::{JournalEvent, NewEvent, RunPhase, RunRecord};
use charter_store::mission::{ArtifactRecord, MissionImport, MissionRecord, StoredArtifact};

use crate::column;
use crate::row::{Columns, field};

/// The columns of [`record`].
pub(crate) const RECORD: &str = "colony_missions.tenant_id, mission_id, run_id, title, state, \
     artifacts, payload, colony_missions.created_at, updated_at, imported_at";

pub(crate) fn record(row: &dyn Columns) -> Result<MissionRecord, StoreError> {
    let tenant: String = field(row, 0)?;
    let mission: String = field(row, 1)?;
    let run: String = field(row, 2)?;
    let state: String = field(row, 4)?;
    Ok(MissionRecord {
        tenant_id: column::parse("tenant id", &tenant)?,
        mission_id: column::parse("mission id", &mission)?,
        run_id: column::parse("run id", &run)?,
        title: field(row, 3)?,
        state: column::parse("mission state", &state)?,
        artifacts: column::parse_integer("number of artifacts", field(row, 5)?)?,
        envelope: field(row, 6)?,
        created_at: column::parse_micros(field(row, 7)?)?,
        updated_at: column::parse_micros(field(row, 8)?)?,
        imported_at: field::<Option<i64>>(row, 9)?
            .map(column::parse_micros)
            .transpose()?,
    })
}

/// Reads `tenant_id, mission_id, kind, artifact_id, task_id, place, event, schema_version, created_at,
/// producer, payload`, the columns of the view.
pub(crate) fn artifact(row: &dyn Columns) -> Result<StoredArtifact, StoreError> {
    let tenant: String = field(row, 0)?;
    let mission: String = field(row, 1)?;
    let kind: String = field(row, 2)?;
    let task: Option<String> = field(row, 4)?;
    let producer: String = field(row, 9)?;
    Ok(StoredArtifact {
        place: column::parse_integer("place of an artifact", field(row, 5)?)?,
        event: column::parse_integer("event of an artifact", field(row, 6)?)?,
        record: ArtifactRecord {
            tenant_id: column::parse("tenant id", &tenant)?,
            mission_id: column::parse("mission id", &mission)?,
            kind: column::parse("kind of artifact", &kind)?,
            artifact_id: field(row, 3)?,
            task_id: task
                .map(|task| column::parse("task id", &task))
                .transpose()?,
            schema_version: field(row, 7)?,
            created_at: column::parse_micros(field(row, 8)?)?,
            producer: column::parse("producer", &producer)?,
            payload: field(row, 10)?,
        },
    })
}

/// The mission of a run, with the number of its artifacts.
pub(crate) struct MissionHead {
    pub(crate) tenant: String,
    pub(crate) mission: String,
    pub(crate) artifacts: u64,
}

/// An artifact with its position.
pub(crate) struct PositionedArtifact<'a> {
    pub(crate) record: &'a ArtifactRecord,
    pub(crate) place: u64,
    pub(crate) event: u64,
}

/// Refuses artifacts and states for a run without a mission.
pub(crate) fn no_mission(
    artifacts: &[ArtifactRecord],
    state: Option<MissionState>,
) -> Result<(), StoreError> {
    let detail = "its run has no mission".to_owned();
    match (artifacts.first(), state) {
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
pub(crate) fn check_mission(head: &MissionHead, record: &ArtifactRecord) -> Result<(), StoreError> {
    let of = (record.tenant_id.as_str(), record.mission_id.as_str());
    if of == (head.tenant.as_str(), head.mission.as_str()) {
        return Ok(());
    }
    Err(refused(
        record,
        format!("it does not belong to mission `{}`", head.mission),
    ))
}

/// Checks that the written version is the current one; older versions are only read (B002-1).
pub(crate) fn check_version(record: &ArtifactRecord) -> Result<(), StoreError> {
    let written = MissionSchemaVersion::default();
    if record.schema_version == written.as_str() {
        return Ok(());
    }
    let detail = format!(
        "its version is {}, but only {written} can be written",
        record.schema_version
    );
    Err(refused(record, detail))
}

pub(crate) fn refused(record: &ArtifactRecord, detail: String) -> StoreError {
    StoreError::Refused {
        what: record.kind.as_str(),
        id: record.artifact_id.clone(),
        detail,
    }
}

pub(crate) fn exists(record: &ArtifactRecord) -> StoreError {
    StoreError::AlreadyExists {
        what: record.kind.as_str(),
        id: record.artifact_id.clone(),
    }
}

/// Returns the envelope that begins a mission of a run of `tenant`, and the other artifacts; nothing if the run has no
/// mission.
pub(crate) fn begins<'a>(
    tenant: &TenantId,
    artifacts: &'a [ArtifactRecord],
) -> Result<Option<(&'a ArtifactRecord, &'a [ArtifactRecord])>, StoreError> {
    let Some((envelope, rest)) = artifacts.split_first() else {
        return Ok(None);
    };
    if envelope.kind != ArtifactKind::MissionEnvelope || envelope.tenant_id != *tenant {
        let detail = "the first artifact must be the mission's envelope, of the run's tenant";
        return Err(refused(envelope, detail.to_owned()));
    }
    check_version(envelope)?;
    Ok(Some((envelope, rest)))
}

/// Checks an artifact that was not inserted: a stored one with its id must be identical (B002-15); if there is none,
/// the mission allows only one of its kind (B002-11).
pub(crate) fn check_repeat(
    record: &ArtifactRecord,
    held: Option<&StoredArtifact>,
) -> Result<(), StoreError> {
    match held {
        Some(held) if held.record.payload == record.payload => Ok(()),
        Some(_) => Err(exists(record)),
        None => Err(refused(record, "the mission already has one".to_owned())),
    }
}

/// Checks that an import of an existing mission is identical to it, and so changes nothing.
pub(crate) fn check_same(
    held: &MissionRecord,
    held_run: Option<&RunRecord>,
    artifacts: &[StoredArtifact],
    events: &[JournalEvent],
    import: &MissionImport,
) -> Result<(), StoreError> {
    let run = &import.run;
    let same = |(event, new): (&JournalEvent, &NewEvent)| {
        event.payload == new.payload && event.hash == new.hash && event.at == new.at
    };
    let is_same = (held.state, &held.run_id, &held.title)
        == (import.state, &run.run_id, &run.title)
        && artifacts == import.artifacts
        && events.len() == import.events.len()
        && events.iter().zip(&import.events).all(same)
        && held_run.is_some_and(|held| held.status == run.status);
    if is_same {
        return Ok(());
    }
    Err(StoreError::AlreadyExists {
        what: "mission",
        id: held.mission_id.to_string(),
    })
}

/// Checks that an import has ended, is one mission, and is readable; returns its envelope.
pub(crate) fn check_import(import: &MissionImport) -> Result<&StoredArtifact, StoreError> {
    if import.run.phase != RunPhase::Finished || !import.state.is_final() {
        return Err(refused_import(
            import,
            format!("it has not ended: it is {}", import.state),
        ));
    }
    let envelope = import.artifacts.first();
    let envelope = envelope.filter(|first| first.record.kind == ArtifactKind::MissionEnvelope);
    let envelope = envelope.filter(|first| first.record.tenant_id == import.run.tenant_id);
    let Some(envelope) = envelope else {
        let detail = "its first artifact is not an envelope of its run's tenant".to_owned();
        return Err(refused_import(import, detail));
    };
    let head = MissionHead {
        tenant: envelope.record.tenant_id.to_string(),
        mission: envelope.record.mission_id.to_string(),
        artifacts: 0,
    };
    for (place, artifact) in (1..).zip(&import.artifacts) {
        let record = &artifact.record;
        check_mission(&head, record)?;
        if artifact.place != place {
            return Err(refused_import(
                import,
                format!("artifact {place} claims to be {}", artifact.place),
            ));
        }
        if !versions(record.kind).contains(&record.schema_version.as_str()) {
            let detail = format!(
                "{} of version `{}` cannot be read",
                record.kind, record.schema_version
            );
            return Err(refused_import(import, detail));
        }
    }
    Ok(envelope)
}

pub(crate) fn refused_import(import: &MissionImport, detail: String) -> StoreError {
    let mission = import.artifacts.first();
    StoreError::Refused {
        what: "mission",
        id: mission
            .map(|first| first.record.mission_id.to_string())
            .unwrap_or_default(),
        detail,
    }
}
