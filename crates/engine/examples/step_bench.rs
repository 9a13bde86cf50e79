//! Charter's side of `bench/steps.py`: runs of a playbook whose steps do nothing, through the production engine and
//! store, in this process. Only the tool runner replaces the sandbox: it answers at once.
//!
//! `cargo run --release -p charter-engine --example step_bench -- STORE STEPS…` registers a playbook for each number of
//! steps, then reads scenarios from standard input and writes the figures of each. `bench/steps.py` documents both
//! formats. STORE is a directory, for SQLite, or the `postgres://` URL of a database.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use charter_contract::ids::{PlaybookId, RunId};
use charter_contract::package::PackageBundle;
use charter_domain::clock::SystemClock;
use charter_domain::run::RunOutcome;
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use charter_engine::{Caller, Engine, EvidenceKey, Mode, Ports, RandomIds, Settings};
use charter_store::SharedStore;
use charter_store_sql::postgres::{PostgresOptions, PostgresStore};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Prefix of a database URL.
const URL: &str = "postgres://";

/// How long a journal is replayed repeatedly.
const REPLAY: Duration = Duration::from_secs(2);

const TOOL: &str = "tool_id: bench.nothing\nname: nothing\nprovider: charter\ntool_class: readonly\n\
                    domain: reliability\ndescription: Does nothing.\nlanguage: bash\n\
                    execution_target: server\nimplementation: {type: script, body: \":\"}\n";

/// A tool that does nothing, so that the benchmark measures the step around it.
struct Nothing;

#[async_trait]
impl ToolRunner for Nothing {
    async fn run(&self, _: ToolCall, _: CancellationToken) -> ToolOutcome {
        ToolOutcome::Succeeded {
            output: Value::Null,
            log: String::new(),
            duration_ms: 0,
        }
    }
}

/// A requested measurement.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Scenario {
    /// Runs with this many steps each, with this many in flight.
    Runs {
        runs: u32,
        steps: u32,
        in_flight: u32,
    },
    /// Strict replays of one run with this many steps.
    Replay { replay: u32 },
}

/// The store under test.
enum Stored {
    Sqlite(Arc<SqliteStore>),
    Postgres(Arc<PostgresStore>),
}

/// An engine with the playbooks registered.
struct Bench {
    engine: Arc<Engine>,
    caller: Caller,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let place = arguments.next().ok_or("usage: step_bench STORE STEPS…")?;
    let steps: Vec<u32> = arguments
        .map(|steps| steps.parse())
        .collect::<Result<_, _>>()?;
    let stored = Stored::open(&place).await?;
    let bench = Arc::new(Bench::over(stored.shared(), &steps).await?);
    for line in std::io::stdin().lines() {
        let answer = match serde_json::from_str(&line?)? {
            Scenario::Runs {
                runs,
                steps,
                in_flight,
            } => bench.runs(runs, steps, in_flight).await?,
            Scenario::Replay { replay } => bench.replay(replay).await?,
        };
        println!("{answer}");
    }
    bench.engine.stop().await;
    stored.close().await
}

impl Stored {
    async fn open(place: &str) -> Result<Self, Failure> {
        if place.starts_with(URL) {
            let store = PostgresStore::connect(&PostgresOptions::new(place)).await?;
            return Ok(Self::Postgres(Arc::new(store)));
        }
        let store = SqliteStore::open(Path::new(place), &SqliteOptions::default())?;
        Ok(Self::Sqlite(Arc::new(store)))
    }

    fn shared(&self) -> SharedStore {
        match self {
            Self::Sqlite(store) => Arc::<SqliteStore>::clone(store),
            Self::Postgres(store) => Arc::<PostgresStore>::clone(store),
        }
    }

    async fn close(self) -> Result<(), Failure> {
        match self {
            Self::Sqlite(store) => store.close().await?,
            Self::Postgres(store) => store.close(),
        }
        Ok(())
    }
}

impl Bench {
    async fn over(store: SharedStore, steps: &[u32]) -> Result<Self, Failure> {
        let ports = Ports {
            store,
            embedder: None,
            skill_index: None,
            tools: Arc::new(Nothing),
            imports: charter_effects::Imports::none(),
            sources: Arc::new(charter_effects::NoSources),
            models: Arc::new(charter_effects::NoModels),
            webhooks: Arc::new(charter_effects::webhook::NoWebhooks),
            channels: Arc::new(charter_effects::channel::NoChannels),
            providers: Arc::default(),
            authorization_servers: Arc::new(charter_effects::NoAuthorizationServers),
            clock: Arc::new(SystemClock::start()?),
            ids: Arc::new(RandomIds),
            generator: Arc::new(charter_engine::Composer),
            evidence_key: EvidenceKey::new("bench", [7; 32])?,
        };
        let caller = Caller::local()?;
        let engine = Engine::start(ports, Settings::default()).await?;
        let package = PackageBundle {
            files: package(steps)?,
        };
        engine
            .packages()
            .register(&caller, package, Mode::Apply)
            .await?;
        Ok(Self { engine, caller })
    }

    /// Executes runs, some concurrently; returns the total time and the time of each.
    async fn runs(
        self: &Arc<Self>,
        runs: u32,
        steps: u32,
        in_flight: u32,
    ) -> Result<Value, Failure> {
        let left = Arc::new(AtomicU32::new(runs));
        let mut workers = JoinSet::new();
        let started = Instant::now();
        for _ in 0..in_flight.min(runs) {
            workers.spawn(Arc::clone(self).work(Arc::clone(&left), steps));
        }
        let mut times_ms = Vec::with_capacity(runs as usize);
        while let Some(worked) = workers.join_next().await {
            times_ms.extend(worked??);
        }
        Ok(json!({"seconds": started.elapsed().as_secs_f64(), "times_ms": times_ms}))
    }

    /// Executes runs while any are left; returns the time of each.
    async fn work(self: Arc<Self>, left: Arc<AtomicU32>, steps: u32) -> Result<Vec<f64>, Failure> {
        let take = |left: u32| left.checked_sub(1);
        let mut times_ms = Vec::new();
        while left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
        {
            let started = Instant::now();
            self.carry_out(steps).await?;
            times_ms.push(started.elapsed().as_secs_f64() * 1e3);
        }
        Ok(times_ms)
    }

    async fn carry_out(&self, steps: u32) -> Result<RunId, Failure> {
        let playbook: PlaybookId = format!("bench.take_{steps}").parse()?;
        let (run, outcome) = self
            .engine
            .run_starts()
            .drive_playbook(&self.caller, &playbook, &Map::new())
            .await?;
        match outcome {
            Some(RunOutcome::Completed { .. }) => Ok(run),
            other => Err(format!("the run {run} ended as {other:?}").into()),
        }
    }

    /// Replays one run's journal for a while; returns the events and the time.
    async fn replay(&self, steps: u32) -> Result<Value, Failure> {
        let run = self.carry_out(steps).await?;
        let (mut events, started) = (0, Instant::now());
        while started.elapsed() < REPLAY {
            let replayed = self.engine.run_views().replay(&self.caller, &run).await?;
            if let Some(diverges) = replayed.divergence {
                return Err(format!("the run {run} diverges: {diverges:?}").into());
            }
            events += replayed.events;
        }
        Ok(json!({"seconds": started.elapsed().as_secs_f64(), "events": events}))
    }
}

/// A package with the tool and, for each number of steps, a playbook that calls it that often.
fn package(steps: &[u32]) -> Result<BTreeMap<String, String>, Failure> {
    let manifest = "name: bench\nversion: 1.0.0\ntitle: Steps that do nothing\nscope: tenant\n";
    let mut files = BTreeMap::from([
        ("package.yaml".to_owned(), manifest.to_owned()),
        ("tools/nothing.yaml".to_owned(), TOOL.to_owned()),
    ]);
    for count in steps {
        let mut playbook = format!(
            "playbook_id: bench.take_{count}\nname: Take {count}\ndomain: reliability\n\
             trigger_conditions: [take {count} steps]\nsafety: {{safety_class: automated}}\nsteps:\n"
        );
        for step in 1..=*count {
            writeln!(
                playbook,
                "  - {{step_id: s{step}, type: readonly, tool_id: bench.nothing}}"
            )?;
        }
        files.insert(format!("playbooks/take_{count}.yaml"), playbook);
    }
    Ok(files)
}
