//! The input for a memory, and its conversion into an entry.

use charter_contract::agentic::memory::{MemoryEntry, MemoryMetadata, Tags, Visibility};
use charter_contract::ids::{AgentId, MemoryId};
use charter_contract::time::Timestamp;
use charter_contract::validate::Contract;
use charter_contract::violation::{Report, Violation};
use charter_domain::memory;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::EngineError;

/// The input for a memory.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryDraft {
    /// Its title.
    #[schemars(length(min = 1, max = memory::MAX_TITLE))]
    pub title: String,
    /// Its content.
    #[schemars(length(min = 1, max = memory::MAX_CONTENT))]
    pub content: String,
    /// Tags for searching.
    #[schemars(length(max = memory::MAX_TAGS), inner(length(min = 1, max = memory::MAX_TAG)))]
    pub tags: Tags,
    /// Its source and importance.
    #[schemars(transform = needs_source)]
    pub metadata: MemoryMetadata,
    /// Memories it belongs with.
    #[serde(default)]
    #[schemars(length(max = memory::MAX_RELATED))]
    pub related_memories: Vec<MemoryId>,
}

/// Entries of this interface require a source, and have no field that is `null`.
fn needs_source(schema: &mut Schema) {
    schema.insert("required".to_owned(), json!(["source"]));
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (name, property) in properties {
        let types = property.get("type").and_then(Value::as_array);
        let mut types: Vec<Value> = types.cloned().unwrap_or_default();
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            property["type"] = only.clone();
        }
        if name == "source" {
            property["minLength"] = json!(1);
        }
    }
}

/// A new memory.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// The content.
    pub memory: MemoryDraft,
    /// Its visibility.
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
    /// The content.
    pub memory: MemoryDraft,
    /// The version in force that the writer saw; absent if none is.
    #[serde(default)]
    pub expected_version: Option<u64>,
    /// The agent that writes it for the caller; it is then a proposal.
    #[serde(default)]
    pub agent_id: Option<AgentId>,
}

/// Builds the entry of a draft. The pointers of violations lead into the request that has the draft as its `memory`.
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
    let violations = report.violations.into_iter();
    let violations: Vec<Violation> = violations.map(|found| found.below("/memory")).collect();
    Err(EngineError::violations(
        MemoryEntry::NAME.as_str(),
        &violations,
    ))
}
