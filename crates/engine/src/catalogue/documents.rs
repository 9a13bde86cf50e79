//! Documents of the catalogue, of any kind: listed and counted, shown with both layers and their sources, with their
//! dependents. `resolve` finds the rules that apply to a subject. Served from the snapshot; sources are stored files.

mod dependencies;
mod differences;
mod list;
mod show;

use std::sync::Arc;

use charter_store::SharedStore;

pub use dependencies::{DependencyNode, DocumentDependencies};
pub(crate) use differences::differing_fields;
pub use list::{CatalogueKind, CatalogueView, DocumentFilter, DocumentSummary};
pub(crate) use list::{unseen, unseen_active};
pub use show::{DocumentLayer, DocumentSource, DocumentView};

use crate::catalogue::live::CatalogueService;
use crate::ground::checks::CheckSlots;

/// Documents of the catalogue, and the rules that apply to them.
pub struct DocumentService {
    pub(super) catalogue: Arc<CatalogueService>,
    pub(super) store: SharedStore,
    pub(super) checks: CheckSlots,
    /// The persona of requests that name none.
    pub(super) persona: String,
}

impl std::fmt::Debug for DocumentService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocumentService").finish_non_exhaustive()
    }
}

impl DocumentService {
    pub(crate) fn new(
        catalogue: Arc<CatalogueService>,
        store: SharedStore,
        checks: CheckSlots,
        persona: String,
    ) -> Self {
        Self {
            catalogue,
            store,
            checks,
            persona,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use charter_contract::time::Timestamp;
    use charter_effects::Imports;
    use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
    use charter_testkit::clock::SimulatedClock;
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::Caller;
    use crate::catalogue::live::TextVectors;
    use crate::ground::core_ports::CorePorts;
    use crate::ground::ids::RandomIds;

    /// Without the rest of the engine, the catalogue of a store is loaded, changed in turns, and shown.
    #[tokio::test]
    async fn a_catalogue_is_loaded_and_shown() {
        let dir = tempfile::tempdir().unwrap();
        let store: SharedStore =
            Arc::new(SqliteStore::open(dir.path(), &SqliteOptions::default()).unwrap());
        let clock = SimulatedClock::at(Timestamp::parse("2026-04-14T12:00:00Z").unwrap());
        let ports = CorePorts {
            store: Arc::clone(&store),
            clock: Arc::new(clock),
            ids: Arc::new(RandomIds),
        };
        let catalogue = Arc::new(CatalogueService::new(
            ports,
            Arc::new(TextVectors::new(Arc::clone(&store), None)),
            Imports::none(),
            Duration::from_secs(30),
            CancellationToken::new(),
            TaskTracker::new(),
        ));
        let turn = catalogue.registration_turn().await.unwrap();
        catalogue.reload_catalogue().await.unwrap();
        drop(turn);
        let revision = store.revision().await.unwrap();
        assert_eq!(catalogue.live().revision, revision);
        let checks = CheckSlots::default();
        let documents = DocumentService::new(catalogue, store, checks, "operator".to_owned());
        assert_eq!(documents.abilities(&Caller::local().unwrap()), []);
    }
}
