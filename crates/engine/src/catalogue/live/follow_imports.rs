//! Puts the tools of MCP servers in force whenever the servers' offers change.

use std::sync::Arc;

use super::service::CatalogueService;

impl CatalogueService {
    /// Serves the offers of MCP servers whenever they change, until the engine shuts down. Returns at once if no server
    /// is registered.
    pub(crate) async fn follow_imports_forever(self: Arc<Self>) {
        let mut imports = self.imports.clone();
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
                let turn = self.registration.lock().await;
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
                () = self.shutdown.cancelled() => return,
                changed = imports.changed() => if changed.is_err() { return },
            }
        }
    }
}
