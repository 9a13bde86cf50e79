//! Reads missions in SQLite. Every artifact is read through the view `colony_artifacts`; triggers and constraints
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
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::artifact::named;
use super::statement::{row, rows};
use crate::column::{self, Cursor};
use crate::record::mission::{RECORD, artifact, record};

const READING: &str = "reading a mission";

fn one(
    connection: &Connection,
    tenant: &TenantId,
    mission: &MissionId,
) -> Result<Option<MissionRecord>, StoreError> {
    row(
        READING,
        connection,
        &format!(
            "SELECT {RECORD} FROM colony_missions JOIN run USING (run_key)
             WHERE colony_missions.tenant_id = ?1 AND mission_id = ?2"
        ),
        [tenant.as_str(), mission.as_str()],
        record,
    )
}

fn list(
    connection: &Connection,
    tenant: &TenantId,
    filter: MissionFilter<'_>,
    page: &PageRequest,
) -> Result<Page<MissionRecord>, StoreError> {
    let (at, id) = column::after(page)?;
    // A separate statement for each combination of filters, so that each uses its index.
    let which = match filter.state {
        Some(_) => "state = ?4",
        None => "?4 IS NULL",
    };
    let whose = match filter.user_id {
        Some(_) => "actor_id = ?6",
        None => "?6 IS NULL",
    };
    let entries = rows(
        "listing missions",
        connection,
        &format!(
            "SELECT {RECORD} FROM colony_missions JOIN run USING (run_key)
             WHERE colony_missions.tenant_id = ?1
               AND (colony_missions.created_at, mission_id) < (?2, ?3) AND {which} AND {whose}
             ORDER BY colony_missions.created_at DESC, mission_id DESC LIMIT ?5"
        ),
        params![
            tenant.as_str(),
            at,
            id,
            filter.state.map(MissionState::as_str),
            column::limit(page.limit() + 1),
            filter.user_id.map(UserId::as_str)
        ],
        record,
    )?;
    Ok(column::page(entries, page, |mission| Cursor {
        at: column::micros(mission.created_at),
        id: mission.mission_id.to_string(),
    }))
}

fn artifacts(
    connection: &Connection,
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
         WHERE tenant_id = ?1 AND mission_id = ?2 AND place > ?3
           AND (?4 IS NULL OR kind = ?4) AND (?5 IS NULL OR task_id = ?5)
         ORDER BY place LIMIT ?6",
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
}

#[async_trait]
impl Missions for SqliteStore {
    async fn mission(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
    ) -> Result<Option<MissionRecord>, StoreError> {
        let (tenant, mission) = (tenant.clone(), mission.clone());
        self.read(move |connection| one(connection, &tenant, &mission))
            .await
    }

    async fn missions(
        &self,
        tenant: &TenantId,
        filter: MissionFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<MissionRecord>, StoreError> {
        let (tenant, page) = (tenant.clone(), page.clone());
        let (state, user) = (filter.state, filter.user_id.cloned());
        self.read(move |connection| {
            let user_id = user.as_ref();
            let filter = MissionFilter { state, user_id };
            list(connection, &tenant, filter, &page)
        })
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
        let (tenant, mission) = (tenant.clone(), mission.clone());
        let (kind, task) = (filter.kind, filter.task_id.cloned());
        self.read(move |connection| {
            let task_id = task.as_ref();
            let filter = ArtifactFilter { kind, task_id };
            artifacts(connection, &tenant, &mission, filter, after, limit)
        })
        .await
    }

    async fn artifact(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
        kind: ArtifactKind,
        artifact: &str,
    ) -> Result<Option<StoredArtifact>, StoreError> {
        let (tenant, mission) = (tenant.clone(), mission.clone());
        let artifact = artifact.to_owned();
        self.read(move |connection| {
            named(
                connection,
                tenant.as_str(),
                mission.as_str(),
                kind,
                &artifact,
            )
        })
        .await
    }

    async fn import_mission(&self, import: MissionImport) -> Result<Imported, StoreError> {
        self.write(move |connection| import::import(connection, &import))
            .await
    }
}
