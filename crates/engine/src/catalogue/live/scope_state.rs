//! The live catalogue's state of one scope.

use std::sync::{Arc, OnceLock};

use charter_domain::catalogue::Layer;
use charter_domain::dependencies::Dependents;

use super::index::IndexSet;

/// A scope's documents with what they were made from.
#[derive(Debug, Clone)]
pub(crate) struct ScopeState {
    pub(super) digest: [u8; 32],
    pub(crate) layer: Arc<Layer>,
    pub(crate) indexes: IndexSet,
    /// Made on the first question.
    pub(super) dependents: Arc<OnceLock<Arc<Dependents>>>,
}

impl ScopeState {
    /// The references of the scope's documents.
    pub(super) fn dependents(&self) -> Arc<Dependents> {
        let read = || Arc::new(Dependents::from_layer(&self.layer));
        Arc::clone(self.dependents.get_or_init(read))
    }
}
