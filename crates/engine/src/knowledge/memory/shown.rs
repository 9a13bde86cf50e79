//! Views of memories: the version in force, the history, related memories.

use std::collections::{BTreeSet, VecDeque};

use charter_contract::agentic::memory::{MemoryEntry, MemoryState, Visibility};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{AgentId, MemoryId, UserId};
use charter_contract::time::Timestamp;
use charter_store::memory::{MemoryRecord, MemoryVersion};
use schemars::JsonSchema;
use serde::Serialize;

use super::MemoryService;
use super::{absent, holding, person};
use crate::{Caller, EngineError};

/// Maximum versions of a history, newest first.
const MAX_HISTORY: usize = 100;
/// Maximum edges from a memory to one related to it.
const MAX_DEPTH: u8 = 5;
/// Maximum related memories that are returned.
const MAX_RELATED: usize = 100;

/// One version of a memory, with its state.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Memory")]
pub struct MemoryView {
    /// The memory.
    pub memory_id: MemoryId,
    /// Its owner.
    pub owner: UserId,
    /// Its visibility.
    pub visibility: Visibility,
    /// The version's number.
    pub version: u64,
    /// The version's state.
    pub state: MemoryState,
    /// When it was written.
    pub at: Timestamp,
    /// Its author.
    pub author: UserId,
    /// The agent that wrote it for the author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The version that was in force when it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<u64>,
    /// The user who decided on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<UserId>,
    /// When it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// The version that waits for a decision, if it is visible to the reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed: Option<u64>,
    /// When the memory expires; absent if it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When the content was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<Timestamp>,
    /// The user who removed it; absent if it expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed_by: Option<UserId>,
    /// The entry; absent once it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryEntry>,
    /// Memories with the same or nearly the same content: in the hits of a search, and in the answer to a write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub similar_to: Vec<MemoryId>,
    /// Memories that contradict it, by heuristics: in the hits of a search, and in the answer to a write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<MemoryId>,
    /// The same marks as text, in the answer to a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// A memory reached from another one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RelatedMemory {
    /// Distance in edges.
    pub distance: u8,
    /// The memory before it on the path.
    pub from: MemoryId,
    /// The memory.
    #[serde(flatten)]
    pub shown: MemoryView,
}

impl MemoryView {
    fn new(record: &MemoryRecord, version: MemoryVersion, proposed: Option<u64>) -> Self {
        let (decided_by, decided_at) = version.decided.unzip();
        let removed = record.removed.as_ref();
        Self {
            memory_id: record.memory_id.clone(),
            owner: record.user_id.clone(),
            visibility: record.visibility,
            version: version.version,
            state: version.state,
            at: version.at,
            author: version.author,
            agent_id: version.agent,
            supersedes: version.based_on,
            decided_by,
            decided_at,
            proposed,
            expires_at: record.expires_at,
            removed_at: removed.map(|removal| removal.at),
            removed_by: removed.and_then(|removal| removal.by.clone()),
            // An expired entry is not shown, whether it was swept or not.
            memory: version.entry.filter(|_| removed.is_none()),
            similar_to: Vec::new(),
            conflicts_with: Vec::new(),
            notice: None,
        }
    }
}

impl MemoryService {
    /// Returns a memory: its version in force, or the newest visible one while none is in force. For a removed memory,
    /// only its existence.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn show(&self, caller: &Caller, id: &MemoryId) -> Result<MemoryView, EngineError> {
        self.show_written(caller, id, None).await
    }

    /// Returns the version that a write put in force, even if another one is by now. If the write put none in force,
    /// returns the memory's present state.
    pub(super) async fn show_written(
        &self,
        caller: &Caller,
        id: &MemoryId,
        in_force: Option<u64>,
    ) -> Result<MemoryView, EngineError> {
        let record = self.seen(caller, id).await?;
        let version = in_force.or(record.current).unwrap_or(record.latest);
        let shown = self.shown_at(caller, record, Some(version)).await?;
        shown.ok_or_else(|| absent(id))
    }

    /// Returns the visible versions of a memory, newest first, at most 100.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn history(
        &self,
        caller: &Caller,
        id: &MemoryId,
    ) -> Result<Vec<MemoryView>, EngineError> {
        let record = self.seen(caller, id).await?;
        let versions = self.store.memory_versions(&caller.tenant, id, MAX_HISTORY);
        let versions = versions.await?.into_iter();
        let seen = versions.filter(|version| may_see(caller, &record, version));
        Ok(seen
            .map(|version| MemoryView::new(&record, version, None))
            .collect())
    }

    /// Returns the related memories of a memory, their related ones, and so on: each once, nearest first. Memories that
    /// are not visible to the caller are skipped, with those reached only through them.
    ///
    /// # Errors
    /// `not_found`; `invalid_request` for a depth outside 1 to 5.
    pub async fn related(
        &self,
        caller: &Caller,
        id: &MemoryId,
        depth: u8,
    ) -> Result<Vec<RelatedMemory>, EngineError> {
        if !(1..=MAX_DEPTH).contains(&depth) {
            let message = format!("related memories are followed 1 to {MAX_DEPTH} deep");
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
        let first = self.show(caller, id).await?;
        let mut seen = BTreeSet::from([id.clone()]);
        let mut queue = VecDeque::from([(0, first)]);
        let mut found: Vec<RelatedMemory> = Vec::new();
        while let Some((distance, from)) = queue.pop_front() {
            let related = from.memory.and_then(|memory| memory.related_memories);
            for next in related.into_iter().flatten() {
                if distance == depth || found.len() == MAX_RELATED || !seen.insert(next.clone()) {
                    continue;
                }
                let shown = match self.show(caller, &next).await {
                    Ok(shown) if shown.memory.is_some() => shown,
                    Ok(_) => continue,
                    Err(error) if error.code == ErrorCode::NotFound => continue,
                    Err(error) => return Err(error),
                };
                queue.push_back((distance + 1, shown.clone()));
                found.push(RelatedMemory {
                    distance: distance + 1,
                    from: from.memory_id.clone(),
                    shown,
                });
            }
        }
        Ok(found)
    }

    /// Returns one version, if it is visible to the caller.
    pub(super) async fn shown_at(
        &self,
        caller: &Caller,
        record: MemoryRecord,
        version: Option<u64>,
    ) -> Result<Option<MemoryView>, EngineError> {
        let (tenant, id) = (&caller.tenant, &record.memory_id);
        let Some(number) = version else {
            return Ok(None);
        };
        let found = self.store.memory_version(tenant, id, number).await?;
        let Some(found) = found.filter(|found| may_see(caller, &record, found)) else {
            return Ok(None);
        };
        let open = match record.proposed {
            None => None,
            Some(open) => {
                let open = self.store.memory_version(tenant, id, open).await?;
                open.filter(|open| may_see(caller, &record, open))
            }
        };
        let open = open.map(|open| open.version);
        Ok(Some(MemoryView::new(&record, found, open)))
    }
}

fn may_see(caller: &Caller, record: &MemoryRecord, version: &MemoryVersion) -> bool {
    let holding = holding(record);
    match version.state {
        MemoryState::Accepted | MemoryState::Superseded => holding.is_seen_by(person(caller)),
        MemoryState::Proposed | MemoryState::Rejected => {
            holding.shows_proposal_to(&version.author, person(caller))
        }
    }
}
