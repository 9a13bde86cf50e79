//! Tools of MCP servers that were in the catalogue. Must not know the protocol, or how a server is reached.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use charter_contract::catalogue::tool::Tool;
use charter_effects::{ImportedTool, Imports};

/// Maximum imported documents that are no longer in force and are kept for runs that pinned them.
const KEPT_IMPORTS: usize = 1_000;

/// Imported documents by content, for runs whose pinned document has changed since. The comparison of definitions then
/// refuses the call with the reason. In memory, until the next start.
#[derive(Debug, Default)]
pub(crate) struct PastImports {
    kept: Mutex<VecDeque<ImportedTool>>,
}

impl PastImports {
    /// Keeps the present imports.
    pub(crate) fn keep(&self, imports: &Imports) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in imports.tools() {
            let known = |known: &ImportedTool| known.content_hash == tool.content_hash;
            if !kept.iter().any(known) {
                kept.push_back(tool.clone());
            }
        }
        let excess = kept.len().saturating_sub(KEPT_IMPORTS);
        kept.drain(..excess);
    }

    /// Returns the document with this hash.
    pub(crate) fn get(&self, content_hash: &str) -> Option<Tool> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = kept.iter();
        let found = kept.find(|tool| tool.content_hash == content_hash)?;
        Some(found.document.clone())
    }
}
