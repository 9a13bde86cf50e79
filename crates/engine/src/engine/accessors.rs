//! Access to the services of the engine, and to what they share.

use std::sync::Arc;

use charter_contract::time::Timestamp;
use charter_effects::Models;
use charter_search::embed::Embedder;
use charter_store::SharedStore;
use tokio_util::sync::CancellationToken;

use super::Engine;
use crate::catalogue::documents::DocumentService;
use crate::catalogue::live::LiveCatalogue;
use crate::conversation::candidates::CandidateService;
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
use crate::execution::executors::ExecutorService;
use crate::execution::explain::GateService;
use crate::execution::linked_calls::LinkedCallService;
use crate::execution::notifications::NotificationService;
use crate::execution::previews::PreviewService;
use crate::execution::runs::{
    ApprovalService, RunManagementService, RunRecoveryService, RunViewService,
};
use crate::execution::starts::RunStartService;
use crate::execution::tags::TagService;
use crate::ground::settings::Settings;
use crate::identity::credentials::CredentialService;
use crate::identity::keys::KeyService;
use crate::identity::providers::Providers;
use crate::identity::quotas::TenantQuotas;
use crate::identity::sign_in::SignInService;
use crate::knowledge::agent_skills::AgentSkillService;
use crate::knowledge::expert_graph::ExpertGraphService;
use crate::knowledge::lenses::LensService;
use crate::knowledge::memory::MemoryService;
use crate::maintenance::MaintenanceService;
use crate::missions::{AssignmentService, MissionService, MissionViewService};
use crate::registry::indexing::IndexService;
use crate::registry::packages::PackageService;
use crate::registry::pins::PinService;
use crate::registry::route_examples::RouteExampleService;
use crate::registry::routing::RoutingService;
use crate::registry::skill_scripts::SkillScriptService;
use crate::registry::tool_search::ToolSearchService;
use crate::registry::tools::ToolRegistrationService;
use crate::schedules::ScheduleService;

impl Engine {
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
