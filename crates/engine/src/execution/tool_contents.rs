//! Keeps the content of tool results, such as images, apart from the outputs that refer to it. Must not know a protocol,
//! or the readers of the content.

use std::sync::Arc;

use charter_contract::ids::TenantId;
use charter_domain::clock::Clock;
use charter_domain::tool_content::{attach, separate};
use charter_store::SharedStore;
use serde_json::{Value, json};

/// Keeps the content of tool results.
pub(crate) struct ToolContentService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
}

impl ToolContentService {
    /// Creates the service.
    pub(crate) fn new(store: SharedStore, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Stores the content of an output, and adds the references to it. If storage fails, the output has the reason instead:
    /// the rest of the result is kept.
    pub(crate) async fn keep(&self, tenant: &TenantId, output: &mut Value, blocks: Value) {
        let (blocks, contents) = separate(blocks);
        let now = self.clock.now();
        let blocks = match self.store.put_tool_contents(tenant, &contents, now).await {
            Ok(()) => blocks,
            Err(error) => {
                tracing::warn!(%error, "the content of a tool's result could not be stored");
                json!([{"type": "left_out", "reason": "the content could not be stored"}])
            }
        };
        attach(output, blocks);
    }
}
