//! The service that serves the live catalogue. Must not know its readers.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use charter_domain::clock::Clock;
use charter_effects::Imports;
use charter_store::SharedStore;
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::LiveCatalogue;
use super::vectors::TextVectors;
use crate::catalogue::imports::PastImports;
use crate::ground::core_ports::CorePorts;
use crate::ground::ids::IdSource;

/// Serves the catalogue, and gives the turns to change it.
pub(crate) struct CatalogueService {
    pub(in crate::catalogue) store: SharedStore,
    pub(in crate::catalogue) clock: Arc<dyn Clock>,
    pub(in crate::catalogue) ids: Arc<dyn IdSource>,
    pub(in crate::catalogue) vectors: Arc<TextVectors>,
    /// The tools that are imported from MCP servers, as they change.
    pub(in crate::catalogue) imports: watch::Receiver<Arc<Imports>>,
    pub(in crate::catalogue) past_imports: PastImports,
    pub(in crate::catalogue) live: ArcSwap<LiveCatalogue>,
    pub(in crate::catalogue) registration: Mutex<()>,
    /// How long a process holds the turn to change the catalogue.
    pub(in crate::catalogue) lease: Duration,
    pub(in crate::catalogue) shutdown: CancellationToken,
    pub(in crate::catalogue) tasks: TaskTracker,
}

impl CatalogueService {
    /// Creates the service with an empty catalogue.
    pub(crate) fn new(
        ports: CorePorts,
        vectors: Arc<TextVectors>,
        imports: watch::Receiver<Arc<Imports>>,
        lease: Duration,
        shutdown: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            ids: ports.ids,
            vectors,
            imports,
            past_imports: PastImports::default(),
            live: ArcSwap::default(),
            registration: Mutex::new(()),
            lease,
            shutdown,
            tasks,
        }
    }

    /// Returns the catalogue that is served now.
    pub(crate) fn live(&self) -> Arc<LiveCatalogue> {
        self.live.load_full()
    }

    /// Returns the lock of changes in this process.
    pub(crate) fn registration(&self) -> &Mutex<()> {
        &self.registration
    }

    /// Returns the imported documents that are no longer in force.
    pub(crate) fn past_imports(&self) -> &PastImports {
        &self.past_imports
    }
}
