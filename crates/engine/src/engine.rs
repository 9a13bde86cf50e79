//! The engine: its ports, and the common state of every use case. [`assembly`] builds it, and [`accessors`] give access
//! to its services.

mod accessors;
mod assembly;
mod clients;
mod conversation_services;
mod execution_services;
mod mission_services;
mod services;

use std::sync::{Arc, Weak};

use charter_domain::clock::Clock;
use charter_effects::channel::Channels;
use charter_effects::webhook::Webhooks;
use charter_effects::{AuthorizationServers, Imports, Models, Sources, ToolRunner};
use charter_search::embed::Embedder;
use charter_store::SharedStore;
use charter_store::skill_index::SkillIndex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use conversation_services::ConversationServices;
use execution_services::ExecutionServices;
use mission_services::MissionServices;
use services::Services;

use crate::EngineError;
use crate::EvidenceKey;
use crate::conversation::candidates::Generator;
use crate::ground::ids::IdSource;
use crate::ground::settings::Settings;
use crate::identity::providers::Providers;
use crate::identity::quotas::TenantQuotas;
use crate::maintenance::MaintenanceService;
use crate::schedules::ScheduleService;

/// The ports of the engine.
#[derive(Clone)]
pub struct Ports {
    /// Storage.
    pub store: SharedStore,
    /// Embeddings; without them routing is only lexical, and every verdict notes that.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The index of agent skills on a search node, if there is one.
    pub skill_index: Option<Arc<dyn SkillIndex>>,
    /// Tools.
    pub tools: Arc<dyn ToolRunner>,
    /// The tools that are imported from MCP servers, as they change.
    pub imports: watch::Receiver<Arc<Imports>>,
    /// Sources of lenses.
    pub sources: Arc<dyn Sources>,
    /// Language models, by the routes of tenants.
    pub models: Arc<dyn Models>,
    /// Systems of record that receive proposals.
    pub webhooks: Arc<dyn Webhooks>,
    /// Channels that reach people.
    pub channels: Arc<dyn Channels>,
    /// Identity providers whose tokens are accepted.
    pub providers: Arc<Providers>,
    /// Authorization servers that issue tokens for tools.
    pub authorization_servers: Arc<dyn AuthorizationServers>,
    /// Generator of candidates on a miss.
    pub generator: Arc<dyn Generator>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn IdSource>,
    /// Key that signs the evidence log.
    pub evidence_key: EvidenceKey,
}

/// The use cases of one process over one store.
pub struct Engine {
    ports: Ports,
    settings: Settings,
    quotas: Arc<TenantQuotas>,
    services: Services,
    execution: ExecutionServices,
    missions: MissionServices,
    conversation: ConversationServices,
    schedules: Arc<ScheduleService>,
    maintenance: Arc<MaintenanceService>,
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts an engine that serves the present catalogue of the store.
    ///
    /// # Errors
    /// If the catalogue cannot be read, or a stored vector is missing and cannot be made.
    pub async fn start(ports: Ports, settings: Settings) -> Result<Arc<Self>, EngineError> {
        let engine = Self::unloaded(ports, settings);
        engine.execution.replicas.begin_following().await?;
        engine.services.catalogue.reload_catalogue().await?;
        engine.agent_skills().load_skills().await?;
        let recovery = Arc::clone(engine.run_recovery());
        engine.tasks.spawn(recovery.renew_leases_forever());
        Ok(engine)
    }

    /// Creates an engine with an empty catalogue: for [`reindex`](crate::IndexService::reindex), which loads the
    /// catalogue at its end.
    #[must_use]
    pub fn unloaded(ports: Ports, settings: Settings) -> Arc<Self> {
        Arc::new_cyclic(|engine: &Weak<Self>| assembly::assemble(ports, settings, engine.clone()))
    }

    /// Ends running work without waiting for it. Requests answer `unavailable`, stay open, and are resumed at the next
    /// start.
    pub fn interrupt(&self) {
        self.shutdown.cancel();
    }

    /// Ends running work, as [`Engine::interrupt`] does, and waits for it.
    pub async fn stop(&self) {
        self.interrupt();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Checks that storage answers.
    ///
    /// # Errors
    /// Errors of storage.
    pub async fn check_storage(&self) -> Result<(), EngineError> {
        self.store().revision().await?;
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
