//! The services of missions: what each is built from. Their use cases are in the files beside this one.

use std::sync::Arc;

use charter_store::SharedStore;

use crate::execution::runs::{JournalService, RunViewService};

/// Missions as their readers see them.
pub struct MissionViewService {
    pub(super) store: SharedStore,
    pub(super) journals: Arc<JournalService>,
    pub(super) run_views: Arc<RunViewService>,
}

impl std::fmt::Debug for MissionViewService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MissionViewService").finish_non_exhaustive()
    }
}

impl MissionViewService {
    pub(crate) fn new(
        store: SharedStore,
        journals: Arc<JournalService>,
        run_views: Arc<RunViewService>,
    ) -> Self {
        Self {
            store,
            journals,
            run_views,
        }
    }
}
