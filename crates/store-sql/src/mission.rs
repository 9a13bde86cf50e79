//! Missions: reads, and the import of one that ended elsewhere, with its run and journal.

use async_trait::async_trait;
use charter_contract::ids::{MissionId, RunId, TenantId, UserId};
use charter_contract::mission::upcast::versions;
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_store::StoreError;
use charter_store::journal::{NewEvent, RunPhase};
use charter_store::mission::{
    ArtifactFilter, Imported, MissionFilter, MissionImport, MissionRecord, Missions, StoredArtifact,
};
use charter_store::page::{Page, PageRequest};

use crate::artifact::{self, Addition, check_mission};
use crate::column::{self, Cursor};
use crate::journal;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{Tx, params, row, rows};

/// The columns of [`record`], for a tenant.
const SELECT: &str = "SELECT tenant_id, mission_id, run_id, title, state, artifacts, payload,
            colony_missions.created_at, updated_at, imported_at
     FROM colony_missions JOIN run USING (tenant_id, run_id) WHERE tenant_id = $1";

fn record(row: &dyn Columns) -> Result<MissionRecord, StoreError> {
    Ok(MissionRecord {
        tenant_id: column::parse("tenant id", field(row, 0)?)?,
        mission_id: column::parse("mission id", field(row, 1)?)?,
        run_id: column::parse("run id", field(row, 2)?)?,
        title: field(row, 3)?,
        state: column::parse("mission state", field(row, 4)?)?,
        artifacts: column::parse_integer(artifact::COUNT, field(row, 5)?)?,
        envelope: field(row, 6)?,
        created_at: column::parse_micros(field(row, 7)?)?,
        updated_at: column::parse_micros(field(row, 8)?)?,
        imported_at: field::<Option<i64>>(row, 9)?
            .map(column::parse_micros)
            .transpose()?,
    })
}

async fn find(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    mission: &MissionId,
) -> Result<Option<MissionRecord>, StoreError> {
    let sql = format!("{SELECT} AND mission_id = $2");
    let values = params![tenant.as_str(), mission.as_str()];
    row("reading a mission", tx, &sql, values, record).await
}

async fn list(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    filter: MissionFilter<'_>,
    page: &PageRequest,
) -> Result<Page<MissionRecord>, StoreError> {
    let (at, id) = column::after(page)?;
    // A separate statement for each combination of filters, so that each uses its index.
    let which = match filter.state {
        Some(_) => "state = $4",
        None => "CAST($4 AS text) IS NULL",
    };
    let whose = match filter.user_id {
        Some(_) => "actor_id = $5",
        None => "CAST($5 AS text) IS NULL",
    };
    let sql = format!(
        "{SELECT} AND (colony_missions.created_at, mission_id) < ($2, $3) AND {which} AND {whose}
         ORDER BY colony_missions.created_at DESC, mission_id DESC LIMIT $6"
    );
    let values = params![
        tenant.as_str(),
        at,
        id,
        filter.state.map(MissionState::as_str),
        filter.user_id.map(UserId::as_str),
        column::limit(page.limit() + 1)
    ];
    let entries = rows("listing missions", tx, &sql, values, record).await?;
    Ok(column::page(entries, page, |mission| Cursor {
        at: column::micros(mission.created_at),
        id: mission.mission_id.to_string(),
    }))
}

async fn import(tx: &mut Tx<'_>, import: &MissionImport) -> Result<Imported, StoreError> {
    let envelope = check_import(import)?;
    let (tenant, mission) = (&envelope.record.tenant_id, &envelope.record.mission_id);
    if let Some(held) = find(tx, tenant, mission).await? {
        check_same(tx, &held, import).await?;
        return Ok(Imported::Unchanged);
    }
    journal::create(tx, &import.run, &import.events, &[]).await?;
    let addition = Addition {
        tenant: tenant.as_str(),
        run: import.run.run_id.as_str(),
        event: envelope.event,
        artifacts: &[],
        state: Some(import.state),
    };
    let (count, at) = (import.artifacts.len() as u64, column::micros(import.at));
    artifact::insert_mission(tx, &envelope.record, count, addition, Some(at)).await?;
    for artifact in &import.artifacts[1..] {
        let record = &artifact.record;
        if !artifact::insert(tx, record, artifact.place, artifact.event).await? {
            let detail = format!("{} `{}` is duplicated", record.kind, record.artifact_id);
            return Err(refused(import, detail));
        }
    }
    Ok(Imported::New)
}

/// Checks that an import of an existing mission is identical to it, and so changes nothing.
async fn check_same(
    tx: &mut Tx<'_>,
    held: &MissionRecord,
    import: &MissionImport,
) -> Result<(), StoreError> {
    let (tenant, mission, run) = (&held.tenant_id, &held.mission_id, &import.run);
    let filter = ArtifactFilter::default();
    let artifacts = artifact::list(tx, tenant, mission, filter, 0, usize::MAX).await?;
    let held_run = journal::one(tx, tenant, &run.run_id).await?;
    let is_same = (held.state, &held.run_id, &held.title)
        == (import.state, &run.run_id, &run.title)
        && artifacts == import.artifacts
        && held_run.is_some_and(|held| held.status == run.status)
        && has_events(tx, tenant, &run.run_id, &import.events).await?;
    if is_same {
        return Ok(());
    }
    Err(StoreError::AlreadyExists {
        what: "mission",
        id: mission.to_string(),
    })
}

/// Whether the journal of a run has exactly these events. A page of large events ends before the journal does.
async fn has_events(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    run: &RunId,
    events: &[NewEvent],
) -> Result<bool, StoreError> {
    let mut left = events;
    let mut after = 0;
    loop {
        let page = journal::events(tx, tenant, run, after, usize::MAX).await?;
        let Some(last) = page.last() else {
            return Ok(left.is_empty());
        };
        let Some((next, others)) = left.split_at_checked(page.len()) else {
            return Ok(false);
        };
        let mut pairs = page.iter().zip(next);
        let is_same = pairs.all(|(held, new)| {
            held.payload == new.payload && held.hash == new.hash && held.at == new.at
        });
        if !is_same {
            return Ok(false);
        }
        (left, after) = (others, last.sequence);
    }
}

/// Checks that an import has ended, is one mission, and is readable; returns its envelope.
fn check_import(import: &MissionImport) -> Result<&StoredArtifact, StoreError> {
    if import.run.phase != RunPhase::Finished || !import.state.is_final() {
        let detail = format!("it has not ended: it is {}", import.state);
        return Err(refused(import, detail));
    }
    let tenant = &import.run.tenant_id;
    let envelope = import.artifacts.first().filter(|first| {
        first.record.kind == ArtifactKind::MissionEnvelope && first.record.tenant_id == *tenant
    });
    let Some(envelope) = envelope else {
        let detail = "its first artifact is not an envelope of its run's tenant".to_owned();
        return Err(refused(import, detail));
    };
    for (place, artifact) in (1..).zip(&import.artifacts) {
        let record = &artifact.record;
        check_mission(record, tenant.as_str(), envelope.record.mission_id.as_str())?;
        if artifact.place != place {
            let detail = format!("artifact {place} claims to be {}", artifact.place);
            return Err(refused(import, detail));
        }
        let (kind, version) = (record.kind, record.schema_version.as_str());
        if !versions(kind).contains(&version) {
            let detail = format!("{kind} of version `{version}` cannot be read");
            return Err(refused(import, detail));
        }
    }
    Ok(envelope)
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

#[async_trait]
impl<E: SqlEngine> Missions for SqlStore<E> {
    async fn mission(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
    ) -> Result<Option<MissionRecord>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), mission.clone());
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, mission)| {
                Box::pin(find(tx, tenant, mission))
            })
            .await
    }

    async fn missions(
        &self,
        tenant: &TenantId,
        filter: MissionFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<MissionRecord>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), filter.user_id.cloned(), page.clone());
        let state = filter.state;
        self.engine
            .run(
                Access::Listing,
                scope,
                values,
                move |tx, (tenant, user, page)| {
                    let user_id = user.as_ref();
                    Box::pin(list(tx, tenant, MissionFilter { state, user_id }, page))
                },
            )
            .await
    }

    async fn artifacts(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
        filter: ArtifactFilter<'_>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), mission.clone(), filter.task_id.cloned());
        let kind = filter.kind;
        self.engine
            .run(
                Access::Read,
                scope,
                values,
                move |tx, (tenant, mission, task)| {
                    let task_id = task.as_ref();
                    let filter = ArtifactFilter { kind, task_id };
                    Box::pin(artifact::list(tx, tenant, mission, filter, after, limit))
                },
            )
            .await
    }

    async fn artifact(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
        kind: ArtifactKind,
        artifact: &str,
    ) -> Result<Option<StoredArtifact>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), mission.clone(), artifact.to_owned());
        self.engine
            .run(
                Access::Read,
                scope,
                values,
                move |tx, (tenant, mission, artifact)| {
                    Box::pin(artifact::find(tx, tenant, mission, kind, artifact))
                },
            )
            .await
    }

    async fn import_mission(&self, import: MissionImport) -> Result<Imported, StoreError> {
        let tenant = import.run.tenant_id.clone();
        self.engine
            .run(
                Access::Write,
                RowScope::Tenant(&tenant),
                import,
                |tx, import| Box::pin(self::import(tx, import)),
            )
            .await
    }
}
