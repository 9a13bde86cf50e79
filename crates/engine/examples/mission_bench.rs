//! Charter's side of `bench/missions.py`: one mission of many tasks through the production engine and SQLite store, in
//! this process. The offline provider answers, so that the benchmark measures the mission without model time: stages,
//! checks, artifacts, journal.
//!
//! `mission_bench DATA_DIR TASKS WIDTH`: tasks in layers of WIDTH, each waiting for one task of the layer before.
//! Writes one line of JSON.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use charter_contract::package::PackageBundle;
use charter_domain::clock::SystemClock;
use charter_effects::{Sandbox, SandboxOptions};
use charter_engine::{Caller, Engine, EvidenceKey, MissionOrder, Mode, Ports, RandomIds, Settings};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use serde_json::json;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [directory, tasks, width] = given.as_slice() else {
        return Err("usage: mission_bench DATA_DIR TASKS WIDTH".into());
    };
    let (tasks, width): (usize, usize) = (tasks.parse()?, width.parse()?);
    let directory = PathBuf::from(directory);
    let store = Arc::new(SqliteStore::open(&directory, &SqliteOptions::default())?);
    let ports = Ports {
        store: Arc::<SqliteStore>::clone(&store),
        embedder: None,
        skill_index: None,
        // No task calls a tool.
        tools: Arc::new(Sandbox::new(SandboxOptions::new(directory.join("sandbox"))).await?),
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
    let files = package(tasks, width)?;
    engine
        .packages()
        .register(&caller, PackageBundle { files }, Mode::Apply)
        .await?;
    let order: MissionOrder = serde_json::from_value(json!({
        "goal": "Do every task.", "mission_type": "bench.tasks", "model": "offline",
        "context_refs": {"entity": "e1"},
    }))?;
    let started = Instant::now();
    let begun = engine.missions().start(&caller, &order).await?.mission();
    loop {
        let run = engine
            .run_views()
            .wait(&caller, &begun.run_id, Duration::from_secs(600))
            .await?;
        if run.state.outcome.is_some() {
            break;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let done = engine
        .mission_views()
        .show(&caller, &begun.mission_id)
        .await?;
    let replay = Instant::now();
    let replayed = engine
        .mission_views()
        .replay(&caller, &begun.mission_id)
        .await?;
    println!(
        "{}",
        json!({
            "seconds": seconds, "tasks": tasks, "state": done.state, "artifacts": done.artifacts,
            "events": replayed.events, "identical": replayed.identical,
            "replay_seconds": replay.elapsed().as_secs_f64(), "reason": done.reason,
        })
    );
    engine.stop().await;
    store.close().await?;
    Ok(())
}

fn package(
    tasks: usize,
    width: usize,
) -> Result<std::collections::BTreeMap<String, String>, Failure> {
    let mut kind =
        "mission_type: bench.tasks\ndomain: reliability\ntitle: Tasks\ndescription: Many tasks.\n\
                    sensitivity_class: internal\nprompts: {worker: bench.worker}\noutline:\n"
            .to_owned();
    for at in 0..tasks {
        let before = at
            .checked_sub(width)
            .map_or_else(String::new, |before| format!("t{before}"));
        writeln!(
            kind,
            "  - {{task_id: t{at}, role_type: worker, objective: Do task {at}, depends_on: [{before}]}}"
        )?;
    }
    // The benchmark measures the mission, so no task needs a source.
    let prompt = "prompt_id: bench.worker\ndomain: reliability\ntitle: Worker\nrole_type: worker\n\
                  system_prompt: You do tasks.\ntask_prompt: \"${objective}\"\nmodel_route: none\n\
                  constraints: {must_cite_sources: false, must_not_writeback_directly: true}\n";
    let manifest = "name: bench\nversion: 1.0.0\ntitle: Bench\nscope: tenant\n";
    let files = [
        ("package.yaml", manifest.to_owned()),
        ("missions/tasks.yaml", kind),
        ("prompts/worker.yaml", prompt.to_owned()),
    ];
    Ok(files.map(|(path, text)| (path.to_owned(), text)).into())
}
