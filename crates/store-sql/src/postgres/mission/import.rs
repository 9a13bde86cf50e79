//! Imports a mission that ended elsewhere, with its run and journal, atomically.

use charter_store::StoreError;
use charter_store::mission::{ArtifactFilter, Imported, MissionImport};
use deadpool_postgres::Transaction;

use super::super::artifact::{insert, insert_mission};
use super::super::journal;
use super::super::statement::{execute, params};
use crate::column;
use crate::record::mission::{PositionedArtifact, check_import, check_same, refused_import};

pub(super) async fn import(
    connection: &Transaction<'_>,
    import: &MissionImport,
) -> Result<Imported, StoreError> {
    let envelope = check_import(import)?;
    let (tenant, mission) = (&envelope.record.tenant_id, &envelope.record.mission_id);
    if let Some(held) = super::one(connection, tenant, mission).await? {
        let (filter, run) = (ArtifactFilter::default(), &import.run.run_id);
        let artifacts =
            super::artifacts(connection, tenant, mission, filter, 0, usize::MAX).await?;
        let events = journal::events(connection, tenant, run, 0, usize::MAX).await?;
        let run = journal::one(connection, tenant, run).await?;
        check_same(&held, run.as_ref(), &artifacts, &events, import)?;
        return Ok(Imported::Unchanged);
    }
    journal::create(connection, &import.run, &import.events, &[]).await?;
    let (run, event) = (import.run.run_id.as_str(), envelope.event);
    let at = Some(column::micros(import.at));
    insert_mission(connection, run, &envelope.record, event, import.state, at).await?;
    for artifact in &import.artifacts[1..] {
        let placed = PositionedArtifact {
            record: &artifact.record,
            place: artifact.place,
            event: artifact.event,
        };
        if !insert(connection, &placed).await? {
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
        "UPDATE colony_missions SET artifacts = $3 WHERE tenant_id = $1 AND mission_id = $2",
        params![
            tenant.as_str(),
            mission.as_str(),
            column::integer("number of artifacts", import.artifacts.len() as u64)?
        ],
    )
    .await?;
    Ok(Imported::New)
}
