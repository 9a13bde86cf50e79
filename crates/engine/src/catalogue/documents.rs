//! Documents of the catalogue, of any kind: listed and counted, shown with both layers and their sources, with their
//! dependents. `resolve` finds the rules that apply to a subject. Served from the snapshot; sources are stored files.

mod dependencies;
mod differences;
mod list;
mod show;

use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::SkillId;
use charter_domain::skill_folder::skill_of_tool;
use charter_store::SharedStore;

pub use dependencies::{DependencyNode, DocumentDependencies};
pub(crate) use differences::differing_fields;
pub use list::{CatalogueKind, CatalogueView, DocumentFilter, DocumentSummary};
pub(crate) use list::{unseen, unseen_active};
pub use show::{DocumentLayer, DocumentSource, DocumentView};

use crate::Caller;
use crate::catalogue::live::CatalogueService;
use crate::ground::checks::CheckSlots;

/// The agent skills that callers reach.
pub(crate) trait SkillReach: Send + Sync {
    /// Returns whether a skill exists and is within the caller's reach.
    fn reaches(&self, caller: &Caller, skill: &SkillId) -> bool;
}

/// Documents of the catalogue, and the rules that apply to them.
pub struct DocumentService {
    pub(super) catalogue: Arc<CatalogueService>,
    skills: Arc<dyn SkillReach>,
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
        skills: Arc<dyn SkillReach>,
        store: SharedStore,
        checks: CheckSlots,
        persona: String,
    ) -> Self {
        Self {
            catalogue,
            skills,
            store,
            checks,
            persona,
        }
    }

    /// Returns whether the caller reaches the agent skill whose script a tool runs. Every other tool is reached.
    pub(crate) fn reaches_tool(&self, caller: &Caller, tool: &str) -> bool {
        skill_of_tool(tool).is_none_or(|skill| self.skills.reaches(caller, &skill))
    }

    /// Returns whether the caller reaches a document: the tools of skills out of reach look absent.
    fn is_reached(&self, caller: &Caller, kind: DocumentKind, id: &str) -> bool {
        kind != DocumentKind::Tool || self.reaches_tool(caller, id)
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
    use crate::catalogue::live::TextVectors;
    use crate::ground::core_ports::CorePorts;
    use crate::ground::ids::RandomIds;

    struct NoSkills;

    impl SkillReach for NoSkills {
        fn reaches(&self, _: &Caller, _: &SkillId) -> bool {
            false
        }
    }

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
        let (skills, persona) = (Arc::new(NoSkills), "operator".to_owned());
        let documents = DocumentService::new(catalogue, skills, store, checks, persona);
        assert_eq!(documents.abilities(&Caller::local().unwrap()), []);
    }
}
