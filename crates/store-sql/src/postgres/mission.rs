//! Reads missions in PostgreSQL. Every artifact is read through the view `colony_artifacts`; triggers and constraints
//! protect written rows (`migrations/V1__initial.sql`).

mod import;

use async_trait::async_trait;
use charter_contract::ids::{MissionId, TaskId, TenantId, UserId};
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_store::StoreError;
use charter_store::mission::{
    ArtifactFilter, Imported, MissionFilter, MissionImport, MissionRecord, Missions, StoredArtifact,
};
use charter_store::page::{Page, PageRequest};
use deadpool_postgres::GenericClient;

use super::PostgresStore;
use super::artifact::named;
use super::connection::{RowScope, in_transaction};
use super::standby::on_reader;
use super::statement::{params, row, rows};
use crate::column::{self, Cursor};
use crate::record::mission::{RECORD, artifact, record};

const READING: &str = "reading a mission";

const MISSIONS: &str = "colony_missions JOIN run USING (tenant_id, run_id)";

async fn one(
    connection: &impl GenericClient,
    tenant: &TenantId,
    mission: &MissionId,
) -> Result<Option<MissionRecord>, StoreError> {
    row(
        READING,
        connection,
        &format!("SELECT {RECORD} FROM {MISSIONS} WHERE tenant_id = $1 AND mission_id = $2"),
        params![tenant.as_str(), mission.as_str()],
        record,
    )
    .await
}

async fn artifacts(
    connection: &impl GenericClient,
    tenant: &TenantId,
    mission: &MissionId,
    filter: ArtifactFilter<'_>,
    after: u64,
    limit: usize,
) -> Result<Vec<StoredArtifact>, StoreError> {
    rows(
        "reading artifacts",
        connection,
        "SELECT * FROM colony_artifacts
         WHERE tenant_id = $1 AND mission_id = $2 AND place > $3
           AND ($4::text IS NULL OR kind = $4) AND ($5::text IS NULL OR task_id = $5)
         ORDER BY place LIMIT $6",
        params![
            tenant.as_str(),
            mission.as_str(),
            column::integer("place of an artifact", after)?,
            filter.kind.map(ArtifactKind::as_str),
            filter.task_id.map(TaskId::as_str),
            column::limit(limit)
        ],
        artifact,
    )
    .await
}

#[async_trait]
impl Missions for PostgresStore {
    async fn mission(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
    ) -> Result<Option<MissionRecord>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        one(&client, tenant, mission).await
    }

    async fn missions(
        &self,
        tenant: &TenantId,
        filter: MissionFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<MissionRecord>, StoreError> {
        let (at, id) = column::after(page)?;
        // A separate statement for each combination of filters, so that each uses its index.
        let which = match filter.state {
            Some(_) => "state = $4",
            None => "$4::text IS NULL",
        };
        let whose = match filter.user_id {
            Some(_) => "actor_id = $6",
            None => "$6::text IS NULL",
        };
        let sql = format!(
            "SELECT {RECORD} FROM {MISSIONS}
             WHERE tenant_id = $1 AND (colony_missions.created_at, mission_id) < ($2, $3)
               AND {which} AND {whose}
             ORDER BY colony_missions.created_at DESC, mission_id DESC LIMIT $5"
        );
        let state = filter.state.map(MissionState::as_str);
        let user = filter.user_id.map(UserId::as_str);
        let most = column::limit(page.limit() + 1);
        let values = params![tenant.as_str(), at, id, state, most, user];
        let entries = on_reader!(self, RowScope::Tenant(tenant), client =>
            rows("listing missions", client, &sql, values, record))?;
        Ok(column::page(entries, page, |mission| Cursor {
            at: column::micros(mission.created_at),
            id: mission.mission_id.to_string(),
        }))
    }

    async fn artifacts(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
        filter: ArtifactFilter<'_>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        artifacts(&client, tenant, mission, filter, after, limit).await
    }

    async fn artifact(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
        kind: ArtifactKind,
        artifact: &str,
    ) -> Result<Option<StoredArtifact>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        named(&client, tenant.as_str(), mission.as_str(), kind, artifact).await
    }

    async fn import_mission(&self, import: MissionImport) -> Result<Imported, StoreError> {
        in_transaction!(self, RowScope::Tenant(&import.run.tenant_id), tx => import::import(&tx, &import))
    }
}
