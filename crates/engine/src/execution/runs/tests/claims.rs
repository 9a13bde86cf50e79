//! The runs that a process claims, and those of them that it holds.

use std::sync::Arc;

use charter_store::journal::Journal;
use charter_testkit::store_suite::sample;
use tempfile::TempDir;

use crate::engine::tests::{engine, open, sandbox};
use crate::{Engine, Settings};

/// A claimed run has a driver's slot, and its lease is renewed, before any of its steps begin. This test has one
/// thread, so no driver has run yet when the claim returns.
#[tokio::test]
async fn claimed_runs_are_held_before_they_begin() {
    const RUNS: u128 = 20;
    let (held, _engine, _dir) = claimed(RUNS, Settings::default()).await;
    let runs: Vec<String> = (1..=RUNS).map(|n| sample::run(n).to_string()).collect();
    assert_eq!(held, runs);
}

/// A process claims no more than it can execute: from a backlog, one run for each slot of a tool call, and one that
/// waits for the slot.
#[tokio::test]
async fn of_a_backlog_a_process_claims_what_it_can_carry_out() {
    let settings = Settings {
        tool_calls: 3,
        ..Settings::default()
    };
    let (held, engine, _dir) = claimed(20, settings).await;
    let oldest: Vec<String> = (1..=6).map(|n| sample::run(n).to_string()).collect();
    assert_eq!(held, oldest);
    engine.run_recovery().claim().await.unwrap();
    assert_eq!(engine.runs().drivers().held().len(), 6);
}

/// Returns the leases of an engine that has claimed from this many runs.
async fn claimed(runs: u128, settings: Settings) -> (Vec<String>, Arc<Engine>, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let models = Arc::new(charter_effects::NoModels);
    let tools = Arc::new(sandbox(dir.path()).await);
    let shared = Arc::clone(&store);
    let engine = engine(shared, tools, models, settings).await;
    for number in 1..=runs {
        let (run, events) = sample::new_run("acme", number, 0).unwrap();
        let made = store.create_run(&run, events, vec![], vec![]);
        made.await.unwrap();
    }
    engine.run_recovery().claim().await.unwrap();
    let held = engine.runs().drivers().held().into_keys();
    let mut held: Vec<String> = held.map(|run| run.to_string()).collect();
    held.sort();
    (held, engine, dir)
}
