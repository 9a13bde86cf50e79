//! Starting runs: of playbooks, of plans that callers send, and of skills.

mod once;
mod plans;
mod playbooks;
mod skills;

use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::json::{Profile, extent_of};
use charter_store::SharedStore;
use serde_json::{Map, Value};

use crate::EngineError;
use crate::catalogue::documents::DocumentService;
use crate::catalogue::live::CatalogueService;
use crate::execution::runs::{JournalService, RunService, RunViewService};
use crate::execution::tags::TagService;
use crate::ground::core_ports::CorePorts;
use crate::ground::ids::IdSource;
use crate::identity::quotas::TenantQuotas;

pub use once::{IdempotencyKey, RunStarted};
pub(crate) use once::{MAX_CLIENT_ID, derived};
pub use plans::SubmittedPlan;

/// The services that runs are started with.
pub(crate) struct RunStartParts {
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) documents: Arc<DocumentService>,
    pub(crate) quotas: Arc<TenantQuotas>,
    pub(crate) tags: Arc<TagService>,
    pub(crate) journals: Arc<JournalService>,
    pub(crate) runs: Arc<RunService>,
    pub(crate) views: Arc<RunViewService>,
}

/// Starts runs.
pub struct RunStartService {
    store: SharedStore,
    ids: Arc<dyn IdSource>,
    catalogue: Arc<CatalogueService>,
    documents: Arc<DocumentService>,
    quotas: Arc<TenantQuotas>,
    tags: Arc<TagService>,
    journals: Arc<JournalService>,
    runs: Arc<RunService>,
    views: Arc<RunViewService>,
}

impl std::fmt::Debug for RunStartService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunStartService").finish_non_exhaustive()
    }
}

impl RunStartService {
    pub(crate) fn new(ports: CorePorts, parts: RunStartParts) -> Self {
        Self {
            store: ports.store,
            ids: ports.ids,
            catalogue: parts.catalogue,
            documents: parts.documents,
            quotas: parts.quotas,
            tags: parts.tags,
            journals: parts.journals,
            runs: parts.runs,
            views: parts.views,
        }
    }
}

/// Refuses values that are nested deeper than any use of them expects.
pub(crate) fn check_depth(given: &Map<String, Value>) -> Result<(), EngineError> {
    for (name, value) in given {
        extent_of(value, Profile::PARAMETER).map_err(|much| {
            let message = format!("the parameter `{name}` {much}");
            EngineError::new(ErrorCode::InvalidParameters, message)
        })?;
    }
    Ok(())
}
