//! Schedules and triggers: work that starts without a person who asks.
//!
//! A package has definitions of schedules. None runs until a user of a tenant enables it; what then runs is the
//! definition as it was enabled, with that user's rights. Every replica looks for due schedules; a lease and the natural
//! key of each occurrence make one of them start it. The ids of the work follow from the key and a secret of the
//! schedule, so that an interrupted start is repeated without effect.

mod enable;
mod events;
mod fire;
mod follow;
mod form;
mod hook;
mod identity;
mod manage;
mod occurrences;
mod propose;
mod settle;
mod start;

use std::sync::Arc;
use std::time::Duration;

use charter_contract::catalogue::schedule::Schedule;
use charter_contract::ids::{ScheduleId, TenantId};
use charter_contract::json::decode_stored;
use charter_domain::clock::Clock;
use charter_store::SharedStore;
use charter_store::schedule::ScheduleRecord;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::EngineError;
use crate::catalogue::live::CatalogueService;
use crate::conversation::requests::RequestService;
use crate::execution::starts::RunStartService;
use crate::ground::confined::Computations;
use crate::ground::core_ports::CorePorts;
use crate::ground::ids::IdSource;
use crate::ground::vault::SealingKeys;
use crate::missions::{MissionService, MissionViewService};

pub use form::{
    NewSchedule, OccurrencePage, OccurrenceView, ScheduleOrder, SchedulePage, ScheduleView,
    StartedWork,
};
pub use hook::{WebhookEvent, WebhookReceipt};

/// How long a start, or a read of started work, that fails is repeated.
const RETRIED_FOR: Duration = Duration::from_secs(3_600);

/// The services that schedules start and follow work with.
pub(crate) struct ScheduleParts {
    pub(crate) news: Arc<Notify>,
    /// The name of this process.
    pub(crate) holder: String,
    /// Cancelled when no new work may begin.
    pub(crate) draining: CancellationToken,
    /// The keys that seal the secrets of webhooks, if they are configured.
    pub(crate) sealing: Option<SealingKeys>,
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) computations: Arc<Computations>,
    pub(crate) run_starts: Arc<RunStartService>,
    pub(crate) missions: Arc<MissionService>,
    pub(crate) mission_views: Arc<MissionViewService>,
    pub(crate) requests: Arc<RequestService>,
}

/// The schedules of all tenants.
pub struct ScheduleService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    parts: ScheduleParts,
}

impl std::fmt::Debug for ScheduleService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScheduleService").finish_non_exhaustive()
    }
}

impl ScheduleService {
    pub(crate) fn new(ports: CorePorts, parts: ScheduleParts) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            ids: ports.ids,
            parts,
        }
    }
}

/// Reads the definition of an enabled schedule.
fn definition_of(record: &ScheduleRecord) -> Result<Schedule, EngineError> {
    decode_stored(&record.definition)
        .map_err(|error| EngineError::internal("reading an enabled schedule", error))
}

/// Returns the name of a schedule, unique over all tenants.
fn name_of(tenant: &TenantId, schedule: &ScheduleId) -> String {
    format!("{tenant}/{schedule}")
}

#[cfg(test)]
mod tests;
