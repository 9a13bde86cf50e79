//! Recalls memories for the work of a caller: missions and requests.
//!
//! Operators can read the records of that work, but not another user's private memories. So the content of a private
//! memory is left out, unless all callers are one person.

use charter_contract::agentic::memory::Visibility;
use charter_contract::bounds::{RECALLED_MEMORIES, RECALLED_MEMORY};
use charter_contract::ids::MemoryId;
use charter_contract::time::Timestamp;
use serde::Serialize;

use super::propose::MEMORY_QUERY;
use super::{MemoryHit, MemoryQuery, MemoryService};
use crate::{AccessScope, Caller, EngineError};

/// Minimum probability that a memory is relevant, for it to be recalled.
const RELEVANT: f32 = 0.15;

/// A memory that is recalled: a recorded statement, not an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RecalledMemory {
    pub(crate) memory_id: MemoryId,
    pub(crate) visibility: Visibility,
    /// When its version was written.
    pub(crate) at: Timestamp,
    /// Absent for a private memory whose content is left out.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<RecalledNote>,
}

/// The content of a recalled memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RecalledNote {
    pub(crate) title: String,
    /// Its content, cut off at [`RECALLED_MEMORY`] bytes.
    pub(crate) content: String,
}

impl MemoryService {
    /// Returns the memories in force that relate to a text, best first, at most [`RECALLED_MEMORIES`]; none for a
    /// credential without access to memories.
    ///
    /// # Errors
    /// If the search fails.
    pub(crate) async fn recall(
        &self,
        caller: &Caller,
        about: &str,
    ) -> Result<Vec<RecalledMemory>, EngineError> {
        if about.trim().is_empty() || !caller.scopes.opens(AccessScope::MemoryRead) {
            return Ok(Vec::new());
        }
        // Most tenants of an installation may have no memory, and need no embedding of the text.
        let any = self.store.memory_changes(&caller.tenant, 0, 1).await?;
        if any.is_empty() {
            return Ok(Vec::new());
        }
        let query = MemoryQuery {
            text: Some(about[..about.floor_char_boundary(MEMORY_QUERY)].to_owned()),
            limit: Some(RECALLED_MEMORIES),
            ..MemoryQuery::default()
        };
        let found = self.find(caller, &query).await?;
        let one_person = self.keys.is_one_person().await?;
        let related = found
            .into_iter()
            .filter(|hit| hit.is_related() && hit.score.is_some_and(|score| score >= RELEVANT));
        Ok(related
            .filter_map(|hit| recalled(hit, one_person))
            .collect())
    }

    /// Recalls as [`MemoryService::recall`] does; a failure costs only the memories.
    pub(crate) async fn recall_if_possible(
        &self,
        caller: &Caller,
        about: &str,
    ) -> Vec<RecalledMemory> {
        self.recall(caller, about).await.unwrap_or_else(|error| {
            tracing::warn!(error = %error, "memories could not be recalled; continuing without them");
            Vec::new()
        })
    }
}

fn recalled(hit: MemoryHit, one_person: bool) -> Option<RecalledMemory> {
    let shown = hit.shown;
    let entry = shown.memory?;
    let note = match (shown.visibility, one_person) {
        (Visibility::Shared, _) | (Visibility::Private, true) => {
            let mut content = entry.content;
            content.truncate(content.floor_char_boundary(RECALLED_MEMORY));
            Some(RecalledNote {
                title: entry.title,
                content,
            })
        }
        (Visibility::Private, false) => None,
    };
    Some(RecalledMemory {
        memory_id: shown.memory_id,
        visibility: shown.visibility,
        at: shown.at,
        note,
    })
}
