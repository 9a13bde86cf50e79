//! Waiting runs when the machine's clock is set back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::ids::RunId;
use charter_contract::package::PackageBundle;
use charter_domain::clock::Clock;
use charter_domain::run::ErrorKind;
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use charter_testkit::clock::SimulatedClock;
use charter_testkit::store_suite::sample;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use crate::engine::tests::{engine_at, open};
use crate::identity::caller::tests::person;
use crate::{DryRun, Engine, Mode, Settings, SubmittedPlan};

/// How long a worker keeps a run that waits; it releases a run that waits longer.
const LEASE: Duration = Duration::from_millis(90);

/// Fails the first time.
#[derive(Default)]
struct Flaky(AtomicUsize);

#[async_trait]
impl ToolRunner for Flaky {
    async fn run(&self, _call: ToolCall, _cancel: CancellationToken) -> ToolOutcome {
        let (duration_ms, log) = (1, String::new());
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => ToolOutcome::Failed {
                kind: ErrorKind::ExecutionError,
                message: "not yet".to_owned(),
                retryable: true,
                stale: false,
                answered: false,
                duration_ms,
                log,
            },
            _ => ToolOutcome::Succeeded {
                output: json!({}),
                duration_ms,
                log,
            },
        }
    }
}

fn package() -> PackageBundle {
    let tool = "tool_id: vault.ping\nname: ping\nprovider: vault\ntool_class: readonly\ndomain: reliability\n\
                description: Pings.\nlanguage: python\nimplementation: {type: script, body: \"pass\"}\n";
    let files = json!({"files": {
        "package.yaml": "name: vault\nversion: 1.0.0\ntitle: Vault\nscope: tenant\n",
        "tools/ping.yaml": tool,
    }});
    serde_json::from_value(files).unwrap()
}

fn plan(delay_ms: u64) -> SubmittedPlan {
    let plan = json!({
        "id": "plan-01930000-0000-7000-8000-000000000007",
        "request_id": "req-01930000-0000-7000-8000-000000000001",
        "steps": [{
            "id": "step-001", "tool": "vault.ping", "parameters": {},
            "retry": {"max_attempts": 3, "delay_ms": delay_ms},
        }],
    });
    SubmittedPlan::ExecutionPlan {
        plan: Box::new(serde_json::from_value(plan).unwrap()),
        fallbacks: Vec::new(),
    }
}

/// Polls until the run is shown with this word.
async fn shown_as(engine: &Engine, run: &RunId, word: &str) {
    let asking = async {
        let mut again = tokio::time::interval(Duration::from_millis(5));
        loop {
            again.tick().await;
            let shown = engine.run_views().show(&person("ann"), run).await.unwrap();
            if json!(shown).to_string().contains(word) {
                return;
            }
        }
    };
    let asked = tokio::time::timeout(Duration::from_secs(30), asking).await;
    assert!(asked.is_ok(), "the run never came to be {word}");
}

/// A retry happens after its delay even if the clock leaves its due time an hour away, whether a worker holds the run
/// meanwhile or has released it.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_comes_though_the_clock_went_back() {
    for delay in [LEASE / 2, 2 * LEASE] {
        let dir = tempfile::tempdir().unwrap();
        let clock = SimulatedClock::at(sample::at(0).unwrap());
        let settings = Settings {
            lease: LEASE,
            ..Settings::default()
        };
        let (tools, models) = (
            Arc::new(Flaky::default()),
            Arc::new(charter_effects::NoModels),
        );
        let at: Arc<dyn Clock> = Arc::new(clock.clone());
        let engine = engine_at(at, open(dir.path()), tools, models, settings).await;
        let ann = person("ann");
        let registered = engine
            .packages()
            .register(&ann, package(), Mode::Apply)
            .await;
        registered.unwrap();
        let delay_ms = u64::try_from(delay.as_millis()).unwrap();
        let run = engine
            .run_starts()
            .start_plan(&ann, &plan(delay_ms), Map::new(), DryRun::No, None)
            .await;
        let run = run.unwrap().run().summary.run_id;
        shown_as(&engine, &run, "\"retrying\"").await;
        let hour = 3_600 * 1_000_000;
        clock.set(
            charter_contract::time::Timestamp::from_micros(clock.now().as_micros() - hour).unwrap(),
        );
        clock.advance(delay).unwrap();
        shown_as(&engine, &run, "\"completed\"").await;
        engine.stop().await;
    }
}
