//! Aborted runs in the process that resumes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::package::PackageBundle;
use charter_contract::run_status::RunStatus;
use charter_domain::run::StepState;
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use charter_store_sql::sqlite::SqliteStore;
use serde_json::{Map, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::engine::tests::{engine, open};
use crate::identity::caller::tests::person;
use crate::{DryRun, Engine, Mode, RollBack, Settings, SubmittedPlan};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A tool that counts its calls and answers none.
#[derive(Default)]
struct Hanging {
    calls: AtomicUsize,
    begun: Notify,
}

#[async_trait]
impl ToolRunner for Hanging {
    async fn run(&self, _: ToolCall, _: CancellationToken) -> ToolOutcome {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.begun.notify_one();
        std::future::pending().await
    }
}

fn package() -> PackageBundle {
    let files = json!({"files": {
        "package.yaml": "name: slow\nversion: 1.0.0\ntitle: Slow\nscope: tenant\n",
        "tools/look.yaml":
            "tool_id: slow.look\nname: look\nprovider: aws\ntool_class: readonly\ndomain: reliability\n\
             description: Looks for long.\nlanguage: python\nexecution_target: server\nparameters: []\n\
             implementation: {type: script, body: \"pass\"}\n",
    }});
    serde_json::from_value(files).unwrap()
}

async fn engine_over(store: &Arc<SqliteStore>) -> (Arc<Engine>, Arc<Hanging>) {
    let tools = Arc::new(Hanging::default());
    let engine = engine(
        Arc::<SqliteStore>::clone(store),
        Arc::<Hanging>::clone(&tools),
        Arc::new(charter_effects::NoModels),
        Settings::default(),
    );
    (engine.await, tools)
}

/// B000-18: a run is aborted while a step reads, and its process ends before the step does. The run ends in the next
/// process without reading again.
#[tokio::test]
async fn b000_18_an_aborted_run_reads_nothing_again_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ann = person("ann");
    let (first, tools) = engine_over(&store).await;
    let registered = first.packages().register(&ann, package(), Mode::Apply);
    registered.await.unwrap();
    let plan = json!({
        "id": "plan-01930000-0000-7000-8000-000000000001",
        "request_id": "req-01930000-0000-7000-8000-000000000001",
        "steps": [{"id": "step-001", "tool": "slow.look", "parameters": {}}],
        "error_handling": {"on_step_failure": "abort_plan"},
    });
    let sent = SubmittedPlan::ExecutionPlan {
        plan: Box::new(serde_json::from_value(plan).unwrap()),
        fallbacks: Vec::new(),
    };
    let started = first
        .run_starts()
        .start_plan(&ann, &sent, Map::new(), DryRun::No, None)
        .await;
    let run = started.unwrap().run().summary.run_id;
    let begun = tokio::time::timeout(TIMEOUT, tools.begun.notified());
    begun.await.unwrap();
    let aborted = first
        .run_management()
        .abort(&ann, &run, "enough".to_owned(), RollBack::No);
    assert_eq!(aborted.await.unwrap().summary.status, RunStatus::Stopping);
    first.stop().await;

    let (second, tools) = engine_over(&store).await;
    second.maintenance().recover().await.unwrap();
    let ended = second.run_views().wait(&ann, &run, TIMEOUT).await.unwrap();
    assert_eq!(
        (ended.summary.status, tools.calls.load(Ordering::SeqCst)),
        (RunStatus::Aborted, 0)
    );
    let StepState::Failed { failure } = &ended.state.steps[0].state else {
        panic!("{:#?}", ended.state.steps);
    };
    assert_eq!(failure.code, "cancelled");
    let replayed = second.run_views().replay(&ann, &run).await.unwrap();
    assert_eq!(replayed.divergence, None);
    second.stop().await;
}
