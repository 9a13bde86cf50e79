//! Tools of MCP servers in the catalogue: the live one follows the servers' offers. Must not know the protocol, or how
//! a server is reached.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use charter_contract::catalogue::tool::Tool;
use charter_effects::{ImportedTool, Imports};

use crate::Engine;

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

impl Engine {
    /// Serves the offers of MCP servers whenever they change, until the engine shuts down. Returns at once if no server
    /// is registered.
    pub(crate) async fn follow_imports_forever(self: Arc<Self>) {
        let mut imports = self.imports();
        let mut served: Vec<String> = Vec::new();
        loop {
            let offered: Vec<String> = {
                let imports = imports.borrow_and_update();
                imports
                    .tools()
                    .map(|tool| tool.content_hash.clone())
                    .collect()
            };
            if offered != served {
                // One change of the live catalogue at a time.
                let turn = self.registration().lock().await;
                match self.reload_catalogue().await {
                    Ok(()) => served = offered,
                    Err(error) => tracing::error!(
                        %error,
                        "the tools of MCP servers are not in force; retrying at the next change"
                    ),
                }
                drop(turn);
            }
            tokio::select! {
                () = self.shutdown().cancelled() => return,
                changed = imports.changed() => if changed.is_err() { return },
            }
        }
    }
}
