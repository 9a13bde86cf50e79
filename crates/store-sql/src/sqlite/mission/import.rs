//! Imports a mission that ended elsewhere, with its run and journal, atomically.

use charter_store::StoreError;
use charter_store::mission::{ArtifactFilter, Imported, MissionImport};
use rusqlite::Connection;

use super::super::artifact::{insert, insert_mission};
use super::super::journal;
use super::super::statement::execute;
use crate::column;
use crate::record::mission::{PositionedArtifact, check_import, check_same, refused_import};

pub(super) fn import(
    connection: &Connection,
    import: &MissionImport,
) -> Result<Imported, StoreError> {
    let envelope = check_import(import)?;
    let (tenant, mission) = (&envelope.record.tenant_id, &envelope.record.mission_id);
    if let Some(held) = super::one(connection, tenant, mission)? {
        let filter = ArtifactFilter::default();
        let artifacts = super::artifacts(connection, tenant, mission, filter, 0, usize::MAX)?;
        let events = journal::events(connection, tenant, &import.run.run_id, 0, usize::MAX)?;
        let run = journal::one(connection, tenant, &import.run.run_id)?;
        check_same(&held, run.as_ref(), &artifacts, &events, import)?;
        return Ok(Imported::Unchanged);
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
        let placed = PositionedArtifact {
            record: &artifact.record,
            place: artifact.place,
            event: artifact.event,
        };
        if !insert(connection, &placed)? {
            let detail = format!(
                "{} `{}` is duplicated",
                artifact.record.kind, artifact.record.artifact_id
            );
            return Err(refused_import(import, detail));
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
