//! The engine: its ports, and the common state of every use case.

mod clients;
mod conversation_services;
mod execution_services;
mod mission_services;
mod services;

use std::sync::{Arc, Weak};

use charter_contract::time::Timestamp;
use charter_domain::clock::Clock;
use charter_effects::channel::Channels;
use charter_effects::webhook::Webhooks;
use charter_effects::{AuthorizationServers, Imports, Models, Sources, ToolRunner};
use charter_search::embed::Embedder;
use charter_store::SharedStore;
use charter_store::skill_index::SkillIndex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use conversation_services::ConversationServices;
use execution_services::{ExecutionServices, ProcessParts};
use mission_services::MissionServices;
use services::Services;

use crate::EngineError;
use crate::EvidenceKey;
use crate::catalogue::documents::DocumentService;
use crate::catalogue::live::LiveCatalogue;
use crate::conversation::candidates::{CandidateService, Generator};
use crate::conversation::requests::{
    RequestClassificationService, RequestManagementService, RequestService, RequestViewService,
    ResponseService, RouteConfirmationService,
};
use crate::conversation::sessions::SessionService;
use crate::conversation::tasks::TaskService;
use crate::conversation::tool_invocations::ToolInvocationService;
use crate::execution::events::EventService;
use crate::execution::evidence::EvidenceService;
use crate::execution::evidence_log::EvidenceLogService;
use crate::execution::executors::{ClientCalls, ExecutorService, TargetRouter};
use crate::execution::explain::GateService;
use crate::execution::linked_calls::LinkedCallService;
use crate::execution::notifications::NotificationService;
use crate::execution::outputs::OutputBudgetRunner;
use crate::execution::previews::PreviewService;
use crate::execution::runs::{
    ApprovalService, RunClients, RunManagementService, RunRecoveryService, RunViewService,
};
use crate::execution::starts::RunStartService;
use crate::execution::tags::TagService;
use crate::ground::confined::Computations;
use crate::ground::core_ports::BackgroundTasks;
use crate::ground::ids::IdSource;
use crate::ground::questions::QuestionSlots;
use crate::ground::settings::{ClientTools, Settings};
use crate::identity::credentials::CredentialService;
use crate::identity::keys::KeyService;
use crate::identity::providers::Providers;
use crate::identity::quotas::TenantQuotas;
use crate::identity::sign_in::SignInService;
use crate::knowledge::agent_skills::AgentSkillService;
use crate::knowledge::expert_graph::ExpertGraphService;
use crate::knowledge::lenses::LensService;
use crate::knowledge::memory::MemoryService;
use crate::maintenance::{MaintenanceParts, MaintenanceService, MaintenanceSettings};
use crate::missions::{AssignmentService, MissionService, MissionViewService};
use crate::registry::indexing::IndexService;
use crate::registry::packages::PackageService;
use crate::registry::pins::PinService;
use crate::registry::route_examples::RouteExampleService;
use crate::registry::routing::RoutingService;
use crate::registry::skill_scripts::SkillScriptService;
use crate::registry::tool_search::ToolSearchService;
use crate::registry::tools::ToolRegistrationService;
use crate::schedules::{ScheduleParts, ScheduleService};

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
    draining: CancellationToken,
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

    /// Creates an engine with an empty catalogue: for [`IndexService::reindex`], which loads the catalogue at its end.
    #[must_use]
    pub fn unloaded(ports: Ports, settings: Settings) -> Arc<Self> {
        Arc::new_cyclic(|engine: &Weak<Self>| Self::build(ports, settings, engine.clone()))
    }

    /// Builds the engine that runs know as their `clients`.
    fn build(ports: Ports, settings: Settings, clients: Weak<dyn RunClients>) -> Self {
        let holder = format!("worker-{}", ports.ids.uuid().simple());
        let shutdown = CancellationToken::new();
        let draining = shutdown.child_token();
        let news = Arc::new(Notify::new());
        let calls = Arc::new(ClientCalls::new(settings.executor_lease));
        let tools = routed(&ports, &calls, settings.client_tools);
        let tasks = TaskTracker::new();
        let background = BackgroundTasks {
            shutdown: shutdown.clone(),
            tasks: tasks.clone(),
        };
        let computations = Arc::new(Computations::new(Arc::clone(&tools), shutdown.clone()));
        let quotas = Arc::new(tenant_quotas(&ports, &settings));
        let services = Services::new(
            &ports,
            &settings,
            background.clone(),
            Arc::clone(&news),
            holder.clone(),
        );
        let parts = ProcessParts {
            ports: &ports,
            settings: &settings,
            background,
            draining: draining.clone(),
            news: Arc::clone(&news),
            holder,
            tools,
            calls,
            computations,
            questions: QuestionSlots::default(),
            quotas: Arc::clone(&quotas),
            clients,
        };
        let execution = ExecutionServices::new(&services, &parts);
        let missions = MissionServices::new(&services, &execution, &parts);
        let conversation = ConversationServices::new(&services, &execution, &missions, &parts);
        let schedules = schedules(&services, &execution, &missions, &conversation, &parts);
        let schedules = Arc::new(schedules);
        let maintenance = maintenance(&services, &execution, &conversation, &schedules, &parts);
        Self {
            schedules,
            maintenance: Arc::new(maintenance),
            execution,
            missions,
            conversation,
            quotas,
            services,
            draining,
            shutdown,
            tasks,
            ports,
            settings,
        }
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

    /// Returns the catalogue that is served now.
    #[must_use]
    pub fn live(&self) -> Arc<LiveCatalogue> {
        self.services.catalogue.live()
    }

    /// Returns the credentials that tools act with.
    #[must_use]
    pub fn credentials(&self) -> &Arc<CredentialService> {
        &self.services.credentials
    }

    /// Returns the sign-in to the console, and its sessions.
    #[must_use]
    pub fn sign_in(&self) -> &Arc<SignInService> {
        &self.services.sign_in
    }

    /// Returns the documents of the catalogue.
    #[must_use]
    pub fn documents(&self) -> &Arc<DocumentService> {
        &self.services.documents
    }

    /// Returns the lenses.
    #[must_use]
    pub fn lenses(&self) -> &Arc<LensService> {
        &self.services.lenses
    }

    /// Returns the expert graphs of tenants.
    #[must_use]
    pub fn expert_graph(&self) -> &Arc<ExpertGraphService> {
        &self.services.expert_graph
    }

    /// Returns the memories of all tenants.
    #[must_use]
    pub fn memories(&self) -> &Arc<MemoryService> {
        &self.services.memories
    }

    /// Returns the skills of the link graph.
    #[must_use]
    pub fn agent_skills(&self) -> &Arc<AgentSkillService> {
        &self.services.agent_skills
    }

    /// Returns what routes requests to documents of the catalogue.
    #[must_use]
    pub fn routing(&self) -> &Arc<RoutingService> {
        &self.services.routing
    }

    /// Returns the packages of the catalogue.
    #[must_use]
    pub fn packages(&self) -> &Arc<PackageService> {
        &self.services.packages
    }

    /// Returns what imports skills with the tools of their scripts.
    #[must_use]
    pub fn skill_scripts(&self) -> &Arc<SkillScriptService> {
        &self.services.skill_scripts
    }

    /// Returns the route examples of tenants.
    #[must_use]
    pub fn route_examples(&self) -> &Arc<RouteExampleService> {
        &self.services.route_examples
    }

    /// Returns what finds tools by words.
    #[must_use]
    pub fn tool_search(&self) -> &Arc<ToolSearchService> {
        &self.services.tool_search
    }

    /// Returns the registrations of single tools.
    #[must_use]
    pub fn tool_registrations(&self) -> &Arc<ToolRegistrationService> {
        &self.services.tool_registrations
    }

    /// Returns what clients of the Model Context Protocol are offered as tools of their own.
    #[must_use]
    pub fn pins(&self) -> &Arc<PinService> {
        &self.services.pins
    }

    /// Returns the calls of tools whose clients take part in them.
    #[must_use]
    pub fn linked_calls(&self) -> &Arc<LinkedCallService> {
        &self.execution.linked_calls
    }

    /// Returns the indexes of all texts.
    #[must_use]
    pub fn indexes(&self) -> &Arc<IndexService> {
        &self.services.indexes
    }

    /// Returns the background tasks.
    #[must_use]
    pub fn maintenance(&self) -> &Arc<MaintenanceService> {
        &self.maintenance
    }

    /// Returns the events of tenants.
    #[must_use]
    pub fn events(&self) -> &Arc<EventService> {
        &self.execution.events
    }

    /// Returns the evidence of tenants.
    #[must_use]
    pub fn evidence(&self) -> &Arc<EvidenceService> {
        &self.execution.evidence
    }

    /// Returns the evidence logs of tenants.
    #[must_use]
    pub fn evidence_log(&self) -> &Arc<EvidenceLogService> {
        &self.execution.evidence_log
    }

    /// Returns the leases of calls to executors.
    #[must_use]
    pub fn executors(&self) -> &Arc<ExecutorService> {
        &self.execution.executors
    }

    /// Returns the tags of requests.
    #[must_use]
    pub fn tags(&self) -> &Arc<TagService> {
        &self.execution.tags
    }

    /// Returns the approvals that people decide on.
    #[must_use]
    pub fn approvals(&self) -> &Arc<ApprovalService> {
        &self.execution.approvals
    }

    /// Returns the previews of writes that wait for an approval.
    #[must_use]
    pub fn previews(&self) -> &Arc<PreviewService> {
        &self.execution.previews
    }

    /// Returns the notifications of tenants, and their channels.
    #[must_use]
    pub fn notifications(&self) -> &Arc<NotificationService> {
        &self.execution.notifications
    }

    /// Returns runs as their readers see them.
    #[must_use]
    pub fn run_views(&self) -> &Arc<RunViewService> {
        &self.execution.views
    }

    /// Returns the operations of users on runs.
    #[must_use]
    pub fn run_management(&self) -> &Arc<RunManagementService> {
        &self.execution.management
    }

    /// Returns the starts of runs.
    #[must_use]
    pub fn run_starts(&self) -> &Arc<RunStartService> {
        &self.execution.starts
    }

    /// Returns the gate, for calls that do not happen.
    #[must_use]
    pub fn gate(&self) -> &Arc<GateService> {
        &self.execution.gate
    }

    /// Returns the claims of runs, and the leases of this process.
    #[must_use]
    pub fn run_recovery(&self) -> &Arc<RunRecoveryService> {
        &self.execution.recovery
    }

    /// Returns the missions.
    #[must_use]
    pub fn missions(&self) -> &Arc<MissionService> {
        &self.missions.missions
    }

    /// Returns the tasks of missions that outside agents carry out.
    #[must_use]
    pub fn assignments(&self) -> &Arc<AssignmentService> {
        &self.missions.assignments
    }

    /// Returns missions as their readers see them.
    #[must_use]
    pub fn mission_views(&self) -> &Arc<MissionViewService> {
        &self.missions.views
    }

    /// Returns the schedules and triggers of tenants.
    #[must_use]
    pub fn schedules(&self) -> &Arc<ScheduleService> {
        &self.schedules
    }

    /// Returns the sessions of users.
    #[must_use]
    pub fn sessions(&self) -> &Arc<SessionService> {
        &self.conversation.sessions
    }

    /// Returns the candidates of tenants.
    #[must_use]
    pub fn candidates(&self) -> &Arc<CandidateService> {
        &self.conversation.candidates
    }

    /// Returns what answers requests.
    #[must_use]
    pub fn requests(&self) -> &Arc<RequestService> {
        &self.conversation.requests
    }

    /// Returns the calls of single tools.
    #[must_use]
    pub fn tool_invocations(&self) -> &Arc<ToolInvocationService> {
        &self.conversation.tool_invocations
    }

    /// Returns recorded requests, as their users see them.
    #[must_use]
    pub fn request_views(&self) -> &Arc<RequestViewService> {
        &self.conversation.request_views
    }

    /// Returns the operations of users on requests.
    #[must_use]
    pub fn request_management(&self) -> &Arc<RequestManagementService> {
        &self.conversation.request_management
    }

    /// Returns what classifies requests.
    #[must_use]
    pub fn classifications(&self) -> &Arc<RequestClassificationService> {
        &self.conversation.classifications
    }

    /// Returns what builds the responses to requests.
    #[must_use]
    pub fn responses(&self) -> &Arc<ResponseService> {
        &self.conversation.responses
    }

    /// Returns what suggests route examples where callers confirm a route.
    #[must_use]
    pub fn route_confirmations(&self) -> &Arc<RouteConfirmationService> {
        &self.conversation.route_confirmations
    }

    /// Returns the tasks of other agents.
    #[must_use]
    pub fn agent_tasks(&self) -> &Arc<TaskService> {
        &self.conversation.tasks
    }

    /// Returns the engine's settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the current embedding model, if there is one.
    #[must_use]
    pub fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.ports.embedder.as_ref()
    }

    /// Returns the keys of all tenants.
    #[must_use]
    pub fn keys(&self) -> &Arc<KeyService> {
        &self.services.keys
    }

    /// Returns the identity providers whose tokens are accepted.
    #[must_use]
    pub fn providers(&self) -> &Providers {
        &self.ports.providers
    }

    /// Returns the language models, by the routes of tenants.
    #[must_use]
    pub fn models(&self) -> &Arc<dyn Models> {
        &self.ports.models
    }

    pub(crate) fn store(&self) -> &SharedStore {
        &self.ports.store
    }

    /// Returns the time, by the engine's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }

    /// Returns whether this process is draining.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Returns the number of tool calls that wait for a slot in this process, over all tenants.
    #[must_use]
    pub fn queued_tool_calls(&self) -> usize {
        self.execution.calls.queued()
    }

    /// The quotas of tenants, and their use.
    #[must_use]
    pub fn quotas(&self) -> &TenantQuotas {
        &self.quotas
    }

    /// Returns a token that is cancelled when the engine stops.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.shutdown.child_token()
    }
}

fn tenant_quotas(ports: &Ports, settings: &Settings) -> TenantQuotas {
    TenantQuotas::new(
        settings.quotas.clone(),
        Arc::clone(&ports.store),
        Arc::clone(&ports.clock),
    )
}

/// Returns the schedules of a process.
fn schedules(
    below: &Services,
    execution: &ExecutionServices,
    missions: &MissionServices,
    conversation: &ConversationServices,
    parts: &ProcessParts<'_>,
) -> ScheduleService {
    let services = ScheduleParts {
        news: Arc::clone(&parts.news),
        holder: parts.holder.clone(),
        draining: parts.draining.clone(),
        sealing: parts.settings.tool_credentials.keys.clone(),
        catalogue: Arc::clone(&below.catalogue),
        computations: Arc::clone(&parts.computations),
        run_starts: Arc::clone(&execution.starts),
        run_views: Arc::clone(&execution.views),
        missions: Arc::clone(&missions.missions),
        mission_views: Arc::clone(&missions.views),
        requests: Arc::clone(&conversation.requests),
        request_views: Arc::clone(&conversation.request_views),
    };
    ScheduleService::new(parts.core(), services)
}

/// Returns the background tasks of a process.
fn maintenance(
    below: &Services,
    execution: &ExecutionServices,
    conversation: &ConversationServices,
    schedules: &Arc<ScheduleService>,
    parts: &ProcessParts<'_>,
) -> MaintenanceService {
    let settings = MaintenanceSettings {
        duty: parts.settings.duty,
        lease: parts.settings.lease,
        retention: parts.settings.retention,
    };
    let services = MaintenanceParts {
        credentials: Arc::clone(&below.credentials),
        catalogue: Arc::clone(&below.catalogue),
        lenses: Arc::clone(&below.lenses),
        agent_skills: Arc::clone(&below.agent_skills),
        evidence_log: Arc::clone(&execution.evidence_log),
        notifications: Arc::clone(&execution.notifications),
        replicas: Arc::clone(&execution.replicas),
        run_recovery: Arc::clone(&execution.recovery),
        requests: Arc::clone(&conversation.requests),
        request_results: Arc::clone(&conversation.request_results),
        schedules: Arc::clone(schedules),
    };
    MaintenanceService::new(
        Arc::clone(&parts.ports.store),
        Arc::clone(&parts.ports.clock),
        parts.background.clone(),
        parts.draining.clone(),
        settings,
        services,
    )
}

/// Returns the port for tools, behind the router to executors and the check of outputs.
fn routed(
    ports: &Ports,
    calls: &Arc<ClientCalls>,
    client_tools: ClientTools,
) -> Arc<dyn ToolRunner> {
    let here = Arc::clone(&ports.tools);
    let tools = TargetRouter::new(here, Arc::clone(calls), client_tools);
    Arc::new(OutputBudgetRunner(Arc::new(tools)))
}

#[cfg(test)]
pub(crate) mod tests;
