//! What is sent to be remembered, and the entry that it becomes.

use charter_contract::agentic::memory::{MemoryEntry, MemoryMetadata, Tags, Visibility};
use charter_contract::ids::{AgentId, MemoryId};
use charter_contract::time::Timestamp;
use charter_contract::validate::Contract;
use charter_contract::violation::Report;
use charter_domain::memory;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Map;

use crate::EngineError;

/// What somebody wants remembered.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryDraft {
    /// Its title.
    pub title: String,
    /// What is remembered.
    pub content: String,
    /// Words to find it by.
    pub tags: Tags,
    /// Its source, and how much it matters.
    pub metadata: MemoryMetadata,
    /// Memories it belongs with.
    #[serde(default)]
    pub related_memories: Vec<MemoryId>,
}

/// A new memory.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// What.
    pub memory: MemoryDraft,
    /// For whom.
    #[serde(default)]
    pub visibility: Visibility,
    /// The agent that writes it for the caller; it is then a proposal.
    #[serde(default)]
    pub agent_id: Option<AgentId>,
}

/// A new version of a memory.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Supersede {
    /// What.
    pub memory: MemoryDraft,
    /// The version in force that the writer saw; absent when none is.
    #[serde(default)]
    pub expected_version: Option<u64>,
    /// The agent that writes it for the caller; it is then a proposal.
    #[serde(default)]
    pub agent_id: Option<AgentId>,
}

/// The entry of a draft.
pub(super) fn entry(
    id: &MemoryId,
    created_at: Timestamp,
    updated_at: Option<Timestamp>,
    draft: MemoryDraft,
) -> Result<MemoryEntry, EngineError> {
    let related = draft.related_memories;
    let entry = MemoryEntry {
        id: id.clone(),
        title: draft.title,
        content: draft.content,
        created_at,
        updated_at,
        tags: draft.tags,
        metadata: Some(draft.metadata),
        related_memories: (!related.is_empty()).then_some(related),
        extra: Map::new(),
    };
    let mut report = Report::new();
    entry.check(&mut report);
    memory::check(&entry, &mut report);
    if report.violations.is_empty() {
        return Ok(entry);
    }
    Err(EngineError::violations(
        MemoryEntry::NAME.as_str(),
        &report.violations,
    ))
}
