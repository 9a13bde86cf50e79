//! Memories (B003-10): versioned entries, each with at most one current and at most one proposed version.
//!
//! A version is never changed: a later one supersedes it. Removal deletes the content of all versions, and keeps the
//! fact that the memory existed.

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
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its owner.
    pub user_id: UserId,
    /// Its visibility.
    pub visibility: Visibility,
    /// When its first version was written.
    pub created_at: Timestamp,
    /// When it expires, as if removed; absent for never.
    pub expires_at: Option<Timestamp>,
    /// The number of its newest version.
    pub latest: u64,
    /// The current version.
    pub current: Option<u64>,
    /// The version that waits for a person's decision.
    pub proposed: Option<u64>,
    /// Its removal or expiry.
    pub removed: Option<Removal>,
}

/// The removal of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Time of the removal.
    pub at: Timestamp,
    /// The user who removed it; absent when it expired.
    pub by: Option<UserId>,
}

/// One version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryVersion {
    /// Counted from 1.
    pub version: u64,
    /// Its state.
    pub state: MemoryState,
    /// When it was written.
    pub at: Timestamp,
    /// Its author.
    pub author: UserId,
    /// The agent that wrote it for the user.
    pub agent: Option<AgentId>,
    /// The version that was current when it was written.
    pub based_on: Option<u64>,
    /// The user who decided on it, and when; absent if no decision was required.
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

/// A new version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVersion {
    /// `Accepted` becomes current at once, `Proposed` waits for a decision; no other state is allowed.
    pub state: MemoryState,
    /// Time of the write.
    pub at: Timestamp,
    /// Its author.
    pub author: UserId,
    /// The agent that wrote it for the user.
    pub agent: Option<AgentId>,
    /// The entry.
    pub entry: MemoryEntry,
    /// Its embedding, if there is an embedder.
    pub vector: Option<MemoryVector>,
    /// The memory's expiry, if this version is current or the memory's first.
    pub expires_at: Option<Timestamp>,
}

/// A new memory with its first version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMemory {
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its owner.
    pub user_id: UserId,
    /// Its visibility.
    pub visibility: Visibility,
    /// Its first version; the entry's id is the memory's.
    pub first: NewVersion,
}

/// A person's decision on a proposed version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryDecision {
    /// The version.
    pub version: u64,
    /// The decision, with the memory's expiry.
    pub verdict: MemoryVerdict,
    /// The acting user.
    pub by: UserId,
    /// Time of the decision.
    pub at: Timestamp,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryVerdict {
    /// The version becomes current.
    Accept {
        /// The memory's new expiry; absent for never.
        expires_at: Option<Timestamp>,
    },
    /// The version is rejected.
    Reject,
}

/// A changed memory, with the versions that a search can find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryChange {
    /// The tenant's revision of this change.
    pub revision: u64,
    /// The memory's current state.
    pub record: MemoryRecord,
    /// The current version and the proposed one, with their embeddings.
    pub versions: Vec<(MemoryVersion, Option<MemoryVector>)>,
}

/// Filter of a listing by proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proposals {
    /// No proposals: memories with a current version.
    Without,
    /// Only memories with a proposal, among those that the reader owns or wrote.
    Own,
    /// Only memories with a proposal, among the reader's own and all shared ones.
    Shared,
}

/// A vector search in a tenant's memories. The filters are part of the search, so that excluded memories do not use up
/// its limit.
#[derive(Debug, Clone, PartialEq)]
pub struct NearestMemories<'a> {
    /// Searches shared memories, and those that this user owns.
    pub reader: &'a UserId,
    /// The current time.
    pub now: Timestamp,
    /// With every one of these tags.
    pub tags_all: &'a [String],
    /// With at least one of these, if there are any.
    pub tags_any: &'a [String],
    /// Only memories whose current version is from this time or later.
    pub from: Option<Timestamp>,
    /// Only memories whose current version is from before this time.
    pub until: Option<Timestamp>,
    /// Minimum importance.
    pub min_importance: u8,
    /// Importance of memories without one.
    pub unsaid_importance: u8,
    /// The model of the vector: only memories with an embedding by it are compared.
    pub model: &'a str,
    /// The query's vector.
    pub vector: &'a [f32],
    /// Maximum number of results.
    pub most: usize,
}

/// A search result.
#[derive(Debug, Clone, PartialEq)]
pub struct NearMemory {
    /// The memory with its current version, without its embedding.
    pub change: MemoryChange,
    /// The cosine with the query's vector, -1 to 1.
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

    /// Writes the next version and returns its number. An accepted one supersedes the current version in the same
    /// transaction.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the memory is absent, removed or expired at `new.at`;
    /// [`StoreError::VersionConflict`] when the current version is not `expected`; [`StoreError::Refused`] while
    /// another version is proposed.
    async fn add_memory_version(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        expected: Option<u64>,
        new: &NewVersion,
    ) -> Result<u64, StoreError>;

    /// Records a decision. An accepted version supersedes the current one in the same transaction. Of several
    /// concurrent decisions exactly one is recorded.
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

    /// Deletes the content and embeddings of all versions permanently; a repeat does nothing.
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

    /// Returns the memory, even if it was removed; one that has expired at `now` reads as removed.
    async fn memory(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        now: Timestamp,
    ) -> Result<Option<MemoryRecord>, StoreError>;

    /// Returns one version.
    async fn memory_version(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        version: u64,
    ) -> Result<Option<MemoryVersion>, StoreError>;

    /// Returns the newest `limit` versions, newest first.
    async fn memory_versions(
        &self,
        tenant: &TenantId,
        memory: &MemoryId,
        limit: usize,
    ) -> Result<Vec<MemoryVersion>, StoreError>;

    /// Returns memories that are neither removed nor expired at `now`, and that are shared or owned by `reader`, newest
    /// first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn memories(
        &self,
        tenant: &TenantId,
        reader: &UserId,
        proposals: Proposals,
        now: Timestamp,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError>;

    /// Returns the memories that changed after a revision, in order of revisions, including removed ones; each memory
    /// once, in its current state. From revision 0 it returns all.
    async fn memory_changes(
        &self,
        tenant: &TenantId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<MemoryChange>, StoreError>;

    /// Returns the nearest memories that match the filters, nearest first; approximate if the engine's index is.
    /// Returns `None` if the engine cannot search vectors: then the caller has to.
    async fn nearest_memories(
        &self,
        tenant: &TenantId,
        asked: &NearestMemories<'_>,
    ) -> Result<Option<Vec<NearMemory>>, StoreError>;

    /// Returns current or proposed versions, of any tenant, that have no embedding by this model.
    async fn memories_without_vector(
        &self,
        model: &str,
        limit: usize,
    ) -> Result<Vec<(TenantId, MemoryVersion)>, StoreError>;

    /// Stores embeddings, and replaces those of other models, atomically; ignores versions that are not searched any
    /// more.
    async fn put_memory_vectors(
        &self,
        vectors: &[(TenantId, MemoryId, u64, MemoryVector)],
    ) -> Result<(), StoreError>;

    /// Removes memories that expired at or before `now`; returns their number.
    async fn sweep_memories(&self, now: Timestamp) -> Result<u64, StoreError>;
}
