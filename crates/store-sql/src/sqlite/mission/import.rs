//! Importing a mission that has ended elsewhere, with its run and journal: all or nothing.

use charter_contract::mission::ArtifactKind;
use charter_contract::mission::upcast::versions;
use charter_store::StoreError;
use charter_store::journal::{JournalEvent, NewEvent, RunPhase};
use charter_store::mission::{
    ArtifactFilter, Imported, MissionImport, MissionRecord, StoredArtifact,
};
use rusqlite::Connection;

use super::super::journal;
use super::super::statement::execute;
use super::write::{Head, Placed, check_mission, insert, insert_mission};
use crate::column;

pub(super) fn import(
    connection: &Connection,
    import: &MissionImport,
) -> Result<Imported, StoreError> {
    let envelope = check(import)?;
    let (tenant, mission) = (&envelope.record.tenant_id, &envelope.record.mission_id);
    if let Some(held) = super::one(connection, tenant, mission)? {
        return if is_same(connection, &held, import)? {
            Ok(Imported::Unchanged)
        } else {
            Err(StoreError::AlreadyExists {
                what: "mission",
                id: mission.to_string(),
            })
        };
    }
    let run = journal::create(connection, &import.run, &import.events, &[])?;
    let at = Some(column::micros(import.at));
    insert_mission(
        connection,
        run,
        &envelope.record,
        envelope.event,
        import.state,
        at,
    )?;
    for artifact in &import.artifacts[1..] {
        let placed = Placed {
            record: &artifact.record,
            place: artifact.place,
            event: artifact.event,
        };
        if !insert(connection, &placed)? {
            let detail = format!(
                "{} `{}` is there twice",
                artifact.record.kind, artifact.record.artifact_id
            );
            return Err(refused(import, detail));
        }
    }
    execute(
        "importing a mission",
        connection,
        "UPDATE colony_missions SET artifacts = ?3 WHERE tenant_id = ?1 AND mission_id = ?2",
        rusqlite::params![
            tenant.as_str(),
            mission.as_str(),
            column::integer("number of artifacts", import.artifacts.len() as u64)?
        ],
    )?;
    Ok(Imported::New)
}

/// What is imported has ended, is one mission, and can be read; returns its envelope.
fn check(import: &MissionImport) -> Result<&StoredArtifact, StoreError> {
    if import.run.phase != RunPhase::Finished || !import.state.is_final() {
        return Err(refused(
            import,
            format!("it has not ended: it is {}", import.state),
        ));
    }
    let envelope = import.artifacts.first();
    let envelope = envelope.filter(|first| first.record.kind == ArtifactKind::MissionEnvelope);
    let envelope = envelope.filter(|first| first.record.tenant_id == import.run.tenant_id);
    let Some(envelope) = envelope else {
        let detail = "its first artifact is no envelope of its run's tenant".to_owned();
        return Err(refused(import, detail));
    };
    let head = Head {
        tenant: envelope.record.tenant_id.to_string(),
        mission: envelope.record.mission_id.to_string(),
        artifacts: 0,
    };
    for (place, artifact) in (1..).zip(&import.artifacts) {
        let record = &artifact.record;
        check_mission(&head, record)?;
        if artifact.place != place {
            return Err(refused(
                import,
                format!("artifact {place} says that it is {}", artifact.place),
            ));
        }
        if !versions(record.kind).contains(&record.schema_version.as_str()) {
            let detail = format!(
                "{} of version `{}` cannot be read",
                record.kind, record.schema_version
            );
            return Err(refused(import, detail));
        }
    }
    Ok(envelope)
}

/// Whether a stored mission is what would be imported.
fn is_same(
    connection: &Connection,
    held: &MissionRecord,
    import: &MissionImport,
) -> Result<bool, StoreError> {
    let run = &import.run;
    if (held.state, &held.run_id, &held.title) != (import.state, &run.run_id, &run.title) {
        return Ok(false);
    }
    let (tenant, mission) = (&held.tenant_id, &held.mission_id);
    let filter = ArtifactFilter::default();
    let artifacts = super::artifacts(connection, tenant, mission, filter, 0, usize::MAX)?;
    if artifacts != import.artifacts {
        return Ok(false);
    }
    let stored = journal::events(connection, &run.run_id, 0, usize::MAX)?;
    let same = |(event, new): (&JournalEvent, &NewEvent)| {
        event.payload == new.payload && event.hash == new.hash && event.at == new.at
    };
    let status = journal::one(connection, tenant, &run.run_id)?.map(|run| run.status);
    Ok(stored.len() == import.events.len()
        && stored.iter().zip(&import.events).all(same)
        && status.as_ref() == Some(&run.status))
}

fn refused(import: &MissionImport, detail: String) -> StoreError {
    let mission = import.artifacts.first();
    StoreError::Refused {
        what: "mission",
        id: mission
            .map(|first| first.record.mission_id.to_string())
            .unwrap_or_default(),
        detail,
    }
}
