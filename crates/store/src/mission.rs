//! Missions and their artifacts (seed 002 §14).
//!
//! A mission belongs to its run: its envelope is written with the run's creation, every further artifact with an append
//! to the run's journal ([`crate::journal::Append::artifacts`]), and all of them are deleted with the run. Artifacts
//! never change. `charter_domain::mission::admit` decides beforehand which artifacts a mission accepts.

mod exchange;

use async_trait::async_trait;
use charter_contract::ids::{MissionId, RunId, TaskId, TenantId, UserId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::{ArtifactKind, MissionRoot, MissionState};
use charter_contract::time::Timestamp;
use charter_contract::validate::parse_stored;
use charter_contract::violation::Violation;

use crate::StoreError;
use crate::page::{Page, PageRequest};

pub use crate::artifact::ArtifactRecord;
pub use exchange::{MissionImport, bundle};

/// A mission without its other artifacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissionRecord {
    /// Its id, unique within the tenant.
    pub mission_id: MissionId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// The run that executes it; each run has at most one mission.
    pub run_id: RunId,
    /// The run's title in listings.
    pub title: String,
    /// Its state.
    pub state: MissionState,
    /// Its number of artifacts, including the envelope.
    pub artifacts: u64,
    /// The envelope, as it was written.
    pub envelope: String,
    /// When the mission was created, from its envelope.
    pub created_at: Timestamp,
    /// When the last event of its run was appended, or it was imported.
    pub updated_at: Timestamp,
    /// When it was imported; absent for others. No artifact can be added to an imported mission.
    pub imported_at: Option<Timestamp>,
}

impl MissionRecord {
    /// Returns the root against which the mission's artifacts are checked.
    ///
    /// # Errors
    /// Every violation of the envelope.
    pub fn root(&self) -> Result<MissionRoot, Vec<Violation>> {
        parse_stored::<MissionEnvelope>(&self.envelope).map(|envelope| envelope.mission_root())
    }
}

/// An artifact with its position in its mission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredArtifact {
    /// Its position among the mission's artifacts, from 1, in the order of writing.
    pub place: u64,
    /// The last event of the append that it was written with.
    pub event: u64,
    /// The artifact.
    pub record: ArtifactRecord,
}

/// Filter of a listing. Absent fields match all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MissionFilter<'a> {
    /// Only missions in this state.
    pub state: Option<MissionState>,
    /// Only missions that this user started.
    pub user_id: Option<&'a UserId>,
}

/// Filter of a mission's artifacts. Absent fields match all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArtifactFilter<'a> {
    /// Only artifacts of this kind.
    pub kind: Option<ArtifactKind>,
    /// Only artifacts for this task.
    pub task_id: Option<&'a TaskId>,
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// The mission was stored.
    New,
    /// It was stored already, identically; nothing was written.
    Unchanged,
}

/// Missions. The journal writes them ([`crate::journal::Journal`]).
#[async_trait]
pub trait Missions {
    /// Returns the mission, unless it is absent or another tenant's.
    async fn mission(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
    ) -> Result<Option<MissionRecord>, StoreError>;

    /// Returns a tenant's matching missions, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn missions(
        &self,
        tenant: &TenantId,
        filter: MissionFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<MissionRecord>, StoreError>;

    /// Returns the matching artifacts of a mission after the position `after`, in the order of writing, at most
    /// `limit`; none when the tenant has no such mission.
    async fn artifacts(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
        filter: ArtifactFilter<'_>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, StoreError>;

    /// Returns one artifact, unless it is absent or another tenant's.
    async fn artifact(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
        kind: ArtifactKind,
        artifact: &str,
    ) -> Result<Option<StoredArtifact>, StoreError>;

    /// Writes a mission that ended elsewhere, with its run and journal, in one transaction. It is read-only, because
    /// its run is finished. Its retention counts from `import.at`.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] when the tenant has a mission of that id with other content, or the run's id is in
    /// use; [`StoreError::Refused`] when the mission has not ended, or its parts are not of one mission or of an
    /// unknown version; [`StoreError::Corrupt`] when the events do not chain.
    async fn import_mission(&self, import: MissionImport) -> Result<Imported, StoreError>;
}
