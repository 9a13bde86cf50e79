//! What a process holds of the runs that it claims.

use std::sync::Arc;

use charter_store::journal::Journal;
use charter_testkit::store_suite::sample;

use super::crash::play::{engine, open, sandbox};
use crate::Settings;

/// A claimed run has its driver's place, and its lease is renewed, before anything of it has begun: on the one
/// thread of this test nothing has had its turn yet when the claim returns.
#[tokio::test]
async fn claimed_runs_are_held_before_they_begin() {
    const RUNS: u128 = 20;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let models = Arc::new(charter_effects::NoModels);
    let tools = Arc::new(sandbox(dir.path()).await);
    let shared = Arc::clone(&store);
    let engine = engine(shared, tools, models, Settings::default()).await;
    for number in 1..=RUNS {
        let (run, events) = sample::new_run("acme", number, 0).unwrap();
        let made = store.create_run(&run, events, vec![], vec![]);
        made.await.unwrap();
    }
    engine.claim().await.unwrap();
    let mut held = engine.drivers().held();
    held.sort();
    let runs: Vec<String> = (1..=RUNS).map(|n| sample::run(n).to_string()).collect();
    assert_eq!(held, runs);
}
