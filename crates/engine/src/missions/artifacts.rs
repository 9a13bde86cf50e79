//! A mission's artifacts, in the current form, regardless of the version in which each was written (B002-1).

use charter_contract::ids::{MissionId, TaskId, TenantId};
use charter_contract::mission::{ArtifactKind, MissionRoot};
use charter_store::mission::{ArtifactFilter, StoredArtifact};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::MissionViewService;
use crate::{Caller, EngineError};

/// Artifacts read from storage at once.
const PAGE: usize = 500;

/// An artifact of a mission, with its position among the mission's artifacts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "MissionArtifact")]
pub struct ArtifactView {
    /// Its position, from 1, in the order of writing.
    pub place: u64,
    /// The last event of the append that it was written with.
    pub event: u64,
    /// Its kind, one of ten.
    pub kind: ArtifactKind,
    /// Its id, unique among those of its kind and mission.
    pub artifact_id: String,
    /// The task that it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The artifact, in the current form.
    #[schemars(with = "Map<String, Value>")]
    pub artifact: Value,
}

/// One page of a mission's artifacts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "MissionArtifactPage")]
pub struct MissionArtifactPage {
    /// In the order of writing.
    pub entries: Vec<ArtifactView>,
    /// Cursor: the last position of this page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

impl MissionViewService {
    /// Returns a mission's artifacts that match the filter, in the order of writing, after position `after`.
    ///
    /// # Errors
    /// `not_found`; `internal` for one that cannot be read.
    pub async fn artifacts(
        &self,
        caller: &Caller,
        mission: &MissionId,
        filter: ArtifactFilter<'_>,
        after: u64,
        limit: usize,
    ) -> Result<MissionArtifactPage, EngineError> {
        let root = self.root_of(caller, mission).await?;
        let wanted = limit.saturating_add(1);
        let stored = self
            .store
            .artifacts(&caller.tenant, mission, filter, after, wanted);
        let mut stored = stored.await?;
        let more = stored.len() > limit;
        stored.truncate(limit);
        let last = stored.last().filter(|_| more);
        Ok(MissionArtifactPage {
            next: last.map(|stored| stored.place),
            entries: stored
                .into_iter()
                .map(|stored| artifact(stored, &root))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Returns one artifact of a mission.
    ///
    /// # Errors
    /// `not_found`; `internal` for one that cannot be read.
    pub async fn artifact(
        &self,
        caller: &Caller,
        mission: &MissionId,
        kind: ArtifactKind,
        id: &str,
    ) -> Result<ArtifactView, EngineError> {
        let root = self.root_of(caller, mission).await?;
        let stored = self.store.artifact(&caller.tenant, mission, kind, id);
        let stored = stored.await?;
        let stored = stored.ok_or_else(|| EngineError::not_found(kind.as_str(), id))?;
        artifact(stored, &root)
    }

    /// Returns all artifacts of a mission as stored, in the order of writing.
    pub(super) async fn stored_artifacts(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
    ) -> Result<Vec<StoredArtifact>, EngineError> {
        let mut all: Vec<StoredArtifact> = Vec::new();
        loop {
            let after = all.last().map_or(0, |stored| stored.place);
            let filter = ArtifactFilter::default();
            let page = self.store.artifacts(tenant, mission, filter, after, PAGE);
            let page = page.await?;
            let last = page.len() < PAGE;
            all.extend(page);
            if last {
                return Ok(all);
            }
        }
    }

    /// Returns the root metadata of a mission's artifacts.
    pub(super) async fn root_of(
        &self,
        caller: &Caller,
        mission: &MissionId,
    ) -> Result<MissionRoot, EngineError> {
        let record = self.record(caller, mission).await?;
        let root = record.root();
        root.map_err(|found| EngineError::violations("stored mission_envelope", &found))
    }
}

fn artifact(stored: StoredArtifact, root: &MissionRoot) -> Result<ArtifactView, EngineError> {
    let StoredArtifact {
        place,
        event,
        record,
    } = stored;
    let read = record.read(root);
    let read = read.map_err(|found| EngineError::violations(record.kind.as_str(), &found))?;
    let written = serde_json::to_value(read.as_ref());
    Ok(ArtifactView {
        place,
        event,
        kind: record.kind,
        artifact_id: record.artifact_id,
        task_id: record.task_id,
        artifact: written.map_err(|error| EngineError::internal("writing an artifact", error))?,
    })
}
