//! Missions and their artifacts (seed 002 §14).
//!
//! A mission belongs to its run: its envelope is written with the run's creation, every further
//! artifact with an append to the run's journal ([`crate::journal::Append::artifacts`]), and all of
//! it goes with the run. Nothing changes an artifact. What may be added to a mission is decided in
//! `charter_domain::mission::admit`, before.

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
    /// Whose it is.
    pub tenant_id: TenantId,
    /// The run that carries it out; each run has one mission at most.
    pub run_id: RunId,
    /// What the run is called in listings.
    pub title: String,
    /// Where it stands.
    pub state: MissionState,
    /// How many artifacts it has, the envelope among them.
    pub artifacts: u64,
    /// The envelope, as it was written.
    pub envelope: String,
    /// When the mission was created, as its envelope says.
    pub created_at: Timestamp,
    /// When the last event of its run was appended, or it was imported.
    pub updated_at: Timestamp,
    /// When it was imported, if it was: nothing can be added to it.
    pub imported_at: Option<Timestamp>,
}

impl MissionRecord {
    /// The measure of the mission's artifacts.
    ///
    /// # Errors
    /// Every violation of the envelope.
    pub fn root(&self) -> Result<MissionRoot, Vec<Violation>> {
        parse_stored::<MissionEnvelope>(&self.envelope).map(|envelope| envelope.mission_root())
    }
}

/// An artifact with where it stands in its mission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredArtifact {
    /// Its place among the mission's artifacts, from 1, in the order of writing.
    pub place: u64,
    /// The last event of the append that it was written with.
    pub event: u64,
    /// The artifact.
    pub record: ArtifactRecord,
}

/// Which missions to list. Absent fields do not restrict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MissionFilter<'a> {
    /// In this state.
    pub state: Option<MissionState>,
    /// That this user began.
    pub user_id: Option<&'a UserId>,
}

/// Which artifacts of a mission to list. Absent fields do not restrict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArtifactFilter<'a> {
    /// Of this kind.
    pub kind: Option<ArtifactKind>,
    /// Made for this task.
    pub task_id: Option<&'a TaskId>,
}

/// What an import came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// The mission is there now.
    New,
    /// It was there already, the same in everything; nothing was written.
    Unchanged,
}

/// Missions. Writing is a matter of the journal ([`crate::journal::Journal`]).
#[async_trait]
pub trait Missions {
    /// The mission, unless it is absent or another tenant's.
    async fn mission(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
    ) -> Result<Option<MissionRecord>, StoreError>;

    /// A tenant's missions that fit, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a cursor that no page gave out.
    async fn missions(
        &self,
        tenant: &TenantId,
        filter: MissionFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<MissionRecord>, StoreError>;

    /// The artifacts of a mission that fit and come after the place `after`, in the order of writing,
    /// at most `limit`; none when the tenant has no such mission.
    async fn artifacts(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
        filter: ArtifactFilter<'_>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, StoreError>;

    /// One artifact, unless it is absent or another tenant's.
    async fn artifact(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
        kind: ArtifactKind,
        artifact: &str,
    ) -> Result<Option<StoredArtifact>, StoreError>;

    /// Writes a mission that has ended elsewhere, with its run and journal, in one transaction. It is
    /// read only: its run is finished. It is kept as long as if it had ended at `import.at`.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] when the tenant has a mission of the id with other content, or
    /// the run's id is taken; [`StoreError::Refused`] when the mission has not ended, or its parts
    /// are not of one mission or of a version that is not known; [`StoreError::Corrupt`] when the
    /// events do not chain.
    async fn import_mission(&self, import: MissionImport) -> Result<Imported, StoreError>;
}
