//! Construction of the engine from its ports, storey by storey.

use std::sync::{Arc, Weak};

use charter_effects::ToolRunner;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::conversation_services::ConversationServices;
use super::execution_services::{ExecutionServices, ProcessParts};
use super::mission_services::MissionServices;
use super::services::Services;
use super::{Engine, Ports};
use crate::execution::executors::{ClientCalls, TargetRouter};
use crate::execution::outputs::OutputBudgetRunner;
use crate::execution::runs::RunClients;
use crate::ground::confined::Computations;
use crate::ground::core_ports::BackgroundTasks;
use crate::ground::questions::QuestionSlots;
use crate::ground::settings::{ClientTools, Settings};
use crate::identity::quotas::TenantQuotas;
use crate::maintenance::{MaintenanceParts, MaintenanceService, MaintenanceSettings};
use crate::schedules::{ScheduleParts, ScheduleService};

/// Builds the engine that runs know as their `clients`.
pub(super) fn assemble(ports: Ports, settings: Settings, clients: Weak<dyn RunClients>) -> Engine {
    let holder = format!("worker-{}", ports.ids.uuid().simple());
    let shutdown = CancellationToken::new();
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
        draining: shutdown.child_token(),
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
    Engine {
        schedules,
        maintenance: Arc::new(maintenance),
        execution,
        missions,
        conversation,
        quotas,
        services,
        shutdown,
        tasks,
        ports,
        settings,
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
        missions: Arc::clone(&missions.missions),
        mission_views: Arc::clone(&missions.views),
        requests: Arc::clone(&conversation.requests),
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
