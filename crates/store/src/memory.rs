//! Memories (B003-10): versions of what is remembered, of which at most one is in force and at most
//! one is proposed.
//!
//! A version is never changed: a later one supersedes it. Removal takes the content of all versions
//! away and leaves that the memory existed.

use async_trait::async_trait;
use charter_contract::agentic::memory::{MemoryEntry, MemoryState, Visibility};
use charter_contract::ids::{AgentId, MemoryId, TenantId, UserId};
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::page::{Page, PageRequest};

/// A memory without its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRecord {
    /// Its id.
    pub memory_id: MemoryId,
    /// Whose data it is.
    pub tenant_id: TenantId,
    /// Its owner.
    pub user_id: UserId,
    /// Who sees it.
    pub visibility: Visibility,
    /// When its first version was written.
    pub created_at: Timestamp,
    /// From then on it is as if removed; absent when it is kept for good.
    pub expires_at: Option<Timestamp>,
    /// The number of its newest version.
    pub latest: u64,
    /// The version in force.
    pub current: Option<u64>,
    /// The version that waits for a person's word.
    pub proposed: Option<u64>,
    /// When it was removed or expired, and by whom; an expiry is by nobody.
    pub removed: Option<Removal>,
}

/// The end of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// When.
    pub at: Timestamp,
    /// By whom; absent when it expired.
    pub by: Option<UserId>,
}

/// One version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryVersion {
    /// Counted from 1.
    pub version: u64,
    /// Where it stands.
    pub state: MemoryState,
    /// When it was written.
    pub at: Timestamp,
    /// By whom.
    pub author: UserId,
    /// The agent that wrote it for them.
    pub agent: Option<AgentId>,
    /// The version in force that it was made from.
    pub based_on: Option<u64>,
    /// Who decided on it, and when; absent for one that needed nobody's word.
    pub decided: Option<(UserId, Timestamp)>,
    /// The entry; absent once the memory was removed.
    pub entry: Option<MemoryEntry>,
}

/// The embedding of one version by one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryVector {
    /// The model.
    pub model: String,
    /// Little-endian `f32` components.
    pub bytes: Vec<u8>,
}

/// A version to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVersion {
    /// `Accepted` comes into force at once, `Proposed` waits; nothing else is written.
    pub state: MemoryState,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub author: UserId,
    /// The agent that wrote it for them.
    pub agent: Option<AgentId>,
    /// The entry.
    pub entry: MemoryEntry,
    /// Its embedding, where there is an embedder.
    pub vector: Option<MemoryVector>,
    /// When the memory is to expire, if this version is in force or the memory's first.
    pub expires_at: Option<Timestamp>,
}

/// A memory to write, with its first version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMemory {
    /// Whose data it is.
    pub tenant_id: TenantId,
    /// Its owner.
    pub user_id: UserId,
    /// Who sees it.
    pub visibility: Visibility,
    /// Its first version; the entry's id is the memory's.
    pub first: NewVersion,
}

/// A person's word on a proposed version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryDecision {
    /// Which version.
    pub version: u64,
    /// Whether it comes into force, and when the memory is then to expire.
    pub verdict: MemoryVerdict,
    /// Whose word.
    pub by: UserId,
    /// When.
    pub at: Timestamp,
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryVerdict {
    /// It comes into force.
    Accept {
        /// When the memory is then to expire; kept for good when absent.
        expires_at: Option<Timestamp>,
    },
    /// It does not.
    Reject,
}

/// A memory that changed, with the versions that can be found by a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryChange {
    /// The tenant's counter of changes at this one.
    pub revision: u64,
    /// The memory as it now is.
    pub record: MemoryRecord,
    /// The version in force and the proposed one, with their embeddings.
    pub versions: Vec<(MemoryVersion, Option<MemoryVector>)>,
}

/// Which proposals a listing shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proposals {
    /// None: memories with a version in force.
    Without,
    /// Only memories with a proposal, those that the reader owns or wrote.
    Own,
    /// Only memories with a proposal, the reader's own and everybody's shared ones.
    Shared,
}

/// What is looked for among a tenant's memories, in force at `now`, and among which of them. The filters are
/// part of the search, so that what they exclude takes no place.
#[derive(Debug, Clone, PartialEq)]
pub struct NearestMemories<'a> {
    /// Of the shared ones, and those that this person owns.
    pub reader: &'a UserId,
    /// When.
    pub now: Timestamp,
    /// With every one of these tags.
    pub tags_all: &'a [String],
    /// With at least one of these, if there are any.
    pub tags_any: &'a [String],
    /// Whose version in force is from this moment or later.
    pub from: Option<Timestamp>,
    /// Whose version in force is from before this moment.
    pub until: Option<Timestamp>,
    /// At least this important.
    pub min_importance: u8,
    /// How important one is that does not say it.
    pub unsaid_importance: u8,
    /// The model of the vector: only memories embedded by it are compared.
    pub model: &'a str,
    /// What is looked for.
    pub vector: &'a [f32],
    /// How many.
    pub most: usize,
}

/// A memory that was found by its vector.
#[derive(Debug, Clone, PartialEq)]
pub struct NearMemory {
    /// The memory with the version in force, without its embedding.
    pub change: MemoryChange,
    /// The cosine with what was looked for, -1 to 1.
    pub cosine: f32,
}

/// Memories.
#[async_trait]
pub trait Memories {
    /// Writes a memory with its first version.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] for a known id of the tenant; [`StoreError::Refused`] when the
    /// tenant has `most` memories that are not removed.
    async fn add_memory(&self, new: &NewMemory, most: u64) -> Result<(), StoreError>;

    /// Writes the next version and returns its number. One that is accepted supersedes the version in
    /// force in the same transaction.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the memory is absent, removed or expired at `new.at`;
    /// [`StoreError::VersionConflict`] when the version in force is not `expected`;
    /// [`StoreError::Refused`] while another version is proposed.
    async fn add_memory_version(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        expected: Option<u64>,
        new: &NewVersion,
    ) -> Result<u64, StoreError>;

    /// Records a person's word. One that is accepted supersedes the version in force in the same
    /// transaction. Of several words at the same time exactly one is recorded.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the memory is absent, removed or expired at `decision.at`;
    /// [`StoreError::Refused`] when that version is not proposed.
    async fn decide_memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        decision: &MemoryDecision,
    ) -> Result<(), StoreError>;

    /// Takes the content and embeddings of all versions away, for good; a repeat does nothing.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the tenant never had such a memory.
    async fn remove_memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        by: &UserId,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// The memory, also when it was removed; one that has expired at `now` reads as removed.
    async fn memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        now: Timestamp,
    ) -> Result<Option<MemoryRecord>, StoreError>;

    /// One version.
    async fn memory_version(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        version: u64,
    ) -> Result<Option<MemoryVersion>, StoreError>;

    /// The newest `limit` versions, newest first.
    async fn memory_versions(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        limit: usize,
    ) -> Result<Vec<MemoryVersion>, StoreError>;

    /// Memories that are neither removed nor expired at `now` and that `reader` owns or that are
    /// shared, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a cursor that no page gave out.
    async fn memories(
        &self,
        tenant: &TenantId,
        reader: &UserId,
        proposals: Proposals,
        now: Timestamp,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError>;

    /// What changed after a revision, in order of revisions, removed memories included; each memory
    /// once, as it now is. From revision 0 it is everything.
    async fn memory_changes(
        &self,
        tenant: &TenantId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<MemoryChange>, StoreError>;

    /// The nearest memories that the filters let through, nearest first; approximate, as far as the
    /// engine's index is. `None` of an engine that searches no vectors: whoever asks has to.
    async fn nearest_memories(
        &self,
        tenant: &TenantId,
        asked: &NearestMemories<'_>,
    ) -> Result<Option<Vec<NearMemory>>, StoreError>;

    /// Versions in force or proposed, of any tenant, that have no embedding of this model.
    async fn memories_without_vector(
        &self,
        model: &str,
        limit: usize,
    ) -> Result<Vec<(TenantId, MemoryVersion)>, StoreError>;

    /// Keeps embeddings in place of those of other models, all or none; of versions that are not
    /// searched any more nothing is kept.
    async fn put_memory_vectors(
        &self,
        vectors: &[(TenantId, MemoryId, u64, MemoryVector)],
    ) -> Result<(), StoreError>;

    /// Removes what expired at or before `now`; returns how many.
    async fn sweep_memories(&self, now: Timestamp) -> Result<u64, StoreError>;
}
