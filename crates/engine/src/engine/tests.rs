//! Engines for tests: plain ports over an SQLite store in a directory. A test replaces the ports that it exercises, as
//! in `Ports { sources, ..ports(store, tools) }`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::ids::TenantId;
use charter_domain::clock::{Clock, SystemClock};
use charter_effects::webhook::NoWebhooks;
use charter_effects::{
    Imports, LandlockUse, Models, NoModels, NoSources, Sandbox, SandboxOptions, ToolCall,
    ToolOutcome, ToolRunner,
};
use charter_store::SharedStore;
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use tokio_util::sync::CancellationToken;

use crate::ground::questions::MAX_CONCURRENT;
use crate::{Composer, Engine, EvidenceKey, Ports, RandomIds, Settings};

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
        providers: Arc::default(),
        generator: Arc::new(Composer),
        clock: Arc::new(SystemClock::start().unwrap()),
        ids: Arc::new(RandomIds),
        evidence_key: EvidenceKey::new("test", [7; 32]).unwrap(),
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
    let slots = engine.question_slots().slots();
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
