//! Engines, and the services of execution and of missions without an engine, for tests: plain ports over an SQLite
//! store in a directory. A test replaces the ports that it exercises, as in `Ports { sources, ..ports(store, tools) }`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::ids::{PlaybookId, RunId, TenantId};
use charter_contract::package::PackageBundle;
use charter_domain::clock::{Clock, SystemClock};
use charter_domain::run::Run;
use charter_effects::channel::NoChannels;
use charter_effects::webhook::NoWebhooks;
use charter_effects::{
    Imports, LandlockUse, Models, NoAuthorizationServers, NoModels, NoSources, Sandbox,
    SandboxOptions, ToolCall, ToolOutcome, ToolRunner,
};
use charter_store::SharedStore;
use charter_store::request::RequestRecord;
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::conversation_services::ConversationServices;
use super::execution_services::{ExecutionServices, ProcessParts};
use super::mission_services::MissionServices;
use super::services::Services;
use crate::execution::executors::ClientCalls;
use crate::execution::runs::{
    AnalysisDone, AnalysisWork, JournalService, RunClients, RunService, StageFailure,
};
use crate::ground::confined::Computations;
use crate::ground::core_ports::BackgroundTasks;
use crate::ground::questions::{MAX_CONCURRENT, QuestionSlots};
use crate::identity::caller::tests::person;
use crate::identity::quotas::TenantQuotas;
use crate::{Composer, Engine, EvidenceKey, Mode, Ports, RandomIds, Settings};

/// The store in a directory.
pub(crate) fn open(dir: &Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(dir, &SqliteOptions::default()).unwrap())
}

/// A sandbox in a directory, confined as far as the kernel allows.
pub(crate) async fn sandbox(dir: &Path) -> Sandbox {
    let mut options = SandboxOptions::new(dir.join("sandbox"));
    options.landlock = LandlockUse::WhenAvailable;
    Sandbox::new(options).await.unwrap()
}

/// Tools for a test that calls none.
#[derive(Debug)]
pub(crate) struct NoTools;

#[async_trait]
impl ToolRunner for NoTools {
    async fn run(&self, call: ToolCall, _cancel: CancellationToken) -> ToolOutcome {
        panic!("`{}` is not expected to be called", call.tool_id)
    }
}

/// Ports without models, lenses, embeddings or other systems, with the machine's clock.
pub(crate) fn ports(store: SharedStore, tools: Arc<dyn ToolRunner>) -> Ports {
    Ports {
        store,
        embedder: None,
        skill_index: None,
        tools,
        imports: Imports::none(),
        sources: Arc::new(NoSources),
        models: Arc::new(NoModels),
        webhooks: Arc::new(NoWebhooks),
        channels: Arc::new(NoChannels),
        providers: Arc::default(),
        authorization_servers: Arc::new(NoAuthorizationServers),
        generator: Arc::new(Composer),
        clock: Arc::new(SystemClock::start().unwrap()),
        ids: Arc::new(RandomIds),
        evidence_key: EvidenceKey::new("test", [7; 32]).unwrap(),
    }
}

/// Conversations, for a test without them.
struct NoClients;

#[async_trait]
impl RunClients for NoClients {
    async fn run_analysis(
        &self,
        work: AnalysisWork,
        _cancel: &CancellationToken,
    ) -> Result<AnalysisDone, StageFailure> {
        panic!("no analysis is expected: {work:?}")
    }

    async fn record_end(&self, _tenant: &TenantId, _run: &Run) {}

    async fn planned_by(
        &self,
        _tenant: &TenantId,
        _run: &RunId,
    ) -> Option<(RequestRecord, PlaybookId)> {
        None
    }

    async fn suggest_started(&self, _request: &RequestRecord, _playbook: &PlaybookId) {}

    fn has_active_requests(&self) -> bool {
        false
    }
}

/// The services of execution and those below, without missions and conversations.
pub(crate) struct ExecutionRig {
    pub(crate) below: Services,
    pub(crate) services: ExecutionServices,
    _clients: Arc<NoClients>,
}

/// The services of missions and those below, without conversations.
pub(crate) struct MissionRig {
    pub(crate) execution: ExecutionRig,
    pub(crate) services: MissionServices,
}

/// The services of conversations and those below, without an engine.
pub(crate) struct ConversationRig {
    pub(crate) execution: ExecutionRig,
    pub(crate) services: ConversationServices,
    _missions: MissionServices,
}

/// The parts of a process over these ports.
fn parts<'p>(
    ports: &'p Ports,
    settings: &'p Settings,
    clients: &Arc<NoClients>,
) -> ProcessParts<'p> {
    let background = BackgroundTasks {
        shutdown: CancellationToken::new(),
        tasks: TaskTracker::new(),
    };
    let computations = Computations::new(Arc::clone(&ports.tools), background.shutdown.clone());
    let quotas = TenantQuotas::new(
        settings.quotas.clone(),
        Arc::clone(&ports.store),
        Arc::clone(&ports.clock),
    );
    let weak = Arc::downgrade(clients);
    ProcessParts {
        ports,
        settings,
        draining: background.shutdown.child_token(),
        background,
        news: Arc::new(Notify::new()),
        holder: "worker-test".to_owned(),
        tools: Arc::clone(&ports.tools),
        calls: Arc::new(ClientCalls::new(settings.executor_lease)),
        computations: Arc::new(computations),
        questions: QuestionSlots::default(),
        quotas: Arc::new(quotas),
        clients: weak,
    }
}

/// The services below execution, with the stored catalogue.
async fn below(parts: &ProcessParts<'_>) -> Services {
    let below = Services::new(
        parts.ports,
        parts.settings,
        parts.background.clone(),
        Arc::clone(&parts.news),
        parts.holder.clone(),
    );
    below.catalogue.reload_catalogue().await.unwrap();
    below
}

/// The services of execution over these ports.
pub(crate) async fn execution(ports: &Ports, settings: &Settings) -> ExecutionRig {
    let clients = Arc::new(NoClients);
    execution_of(&parts(ports, settings, &clients), clients).await
}

async fn execution_of(parts: &ProcessParts<'_>, clients: Arc<NoClients>) -> ExecutionRig {
    let below = below(parts).await;
    ExecutionRig {
        services: ExecutionServices::new(&below, parts),
        below,
        _clients: clients,
    }
}

/// The services of missions over these ports.
pub(crate) async fn missions(ports: &Ports, settings: &Settings) -> MissionRig {
    let clients = Arc::new(NoClients);
    let parts = parts(ports, settings, &clients);
    let execution = execution_of(&parts, clients).await;
    MissionRig {
        services: MissionServices::new(&execution.below, &execution.services, &parts),
        execution,
    }
}

/// The services of conversations over these ports.
pub(crate) async fn conversation(ports: &Ports, settings: &Settings) -> ConversationRig {
    let clients = Arc::new(NoClients);
    let parts = parts(ports, settings, &clients);
    let execution = execution_of(&parts, clients).await;
    let (below, runs) = (&execution.below, &execution.services);
    let missions = MissionServices::new(below, runs, &parts);
    ConversationRig {
        services: ConversationServices::new(below, runs, &missions, &parts),
        execution,
        _missions: missions,
    }
}

impl Engine {
    /// Returns the journals of runs.
    pub(crate) fn journals(&self) -> &Arc<JournalService> {
        &self.execution.journals
    }

    /// Returns the drivers of runs.
    pub(crate) fn runs(&self) -> &Arc<RunService> {
        &self.execution.runs
    }
}

/// An engine over a store, tools and models.
pub(crate) async fn engine(
    store: SharedStore,
    tools: Arc<dyn ToolRunner>,
    models: Arc<dyn Models>,
    settings: Settings,
) -> Arc<Engine> {
    let ports = Ports {
        models,
        ..ports(store, tools)
    };
    Engine::start(ports, settings).await.unwrap()
}

/// An engine without models in a directory, with a package that Ann registered.
pub(crate) async fn engine_with(
    package: PackageBundle,
    dir: &Path,
    tools: Arc<dyn ToolRunner>,
    settings: Settings,
) -> Arc<Engine> {
    let engine = engine(open(dir), tools, Arc::new(NoModels), settings).await;
    let ann = person("ann");
    let registered = engine.packages().register(&ann, package, Mode::Apply);
    registered.await.unwrap();
    engine
}

/// An engine with another clock.
pub(crate) async fn engine_at(
    clock: Arc<dyn Clock>,
    store: SharedStore,
    tools: Arc<dyn ToolRunner>,
    models: Arc<dyn Models>,
    settings: Settings,
) -> Arc<Engine> {
    let ports = Ports {
        clock,
        models,
        ..ports(store, tools)
    };
    Engine::start(ports, settings).await.unwrap()
}

/// Returns the outcome of `work` that asks a long question. All slots for such questions are in use until the work
/// waits, and then one is freed. Work that waits for no slot never ends.
pub(crate) async fn in_a_place<T>(engine: &Engine, work: impl Future<Output = T>) -> T {
    let slots = engine.runs().questions.slots();
    let other = TenantId::parse("other").unwrap();
    let mut held = Vec::new();
    for _ in 0..MAX_CONCURRENT {
        held.push(slots.take(&other).await);
    }
    let giving_back = async {
        while slots.queued() == 0 {
            tokio::task::yield_now().await;
        }
        drop(held);
    };
    let both = async { tokio::join!(work, giving_back) };
    let (done, ()) = tokio::time::timeout(Duration::from_secs(60), both)
        .await
        .unwrap();
    done
}

/// Asks until there is an answer, for half a minute at most.
pub(crate) async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let answer = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), answer)
        .await
        .unwrap()
}
