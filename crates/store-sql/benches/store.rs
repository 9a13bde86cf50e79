//! Measures the embedded engine: durable appends per second, and the reads of a cold start.
//!
//! `cargo bench -p charter-store-sql`. Prints one line per figure; the directory is on the disk of
//! the target directory, so that syncs are real.

#![allow(
    clippy::unwrap_used,
    reason = "a failing preparation is a failing test"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use charter_contract::run_status::RunStatus;
use charter_contract::scope::Scope;
use charter_store::catalogue::Catalogue;
use charter_store::journal::{Append, Journal, NextPhase};
use charter_store::lease::Fence;
use charter_store::vector::{StoredVector, TextHash, Vectors};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::{Outcome, sample};

const DOCUMENTS: usize = 10_000;
/// Bytes of a document's body, about a skill's.
const BODY: usize = 2_000;
const VECTORS: u32 = 30_000;
const DIMENSIONS: usize = 384;
const MODEL: &str = "all-MiniLM-L6-v2/f32";
/// Duration of each append measurement.
const MEASURE: Duration = Duration::from_secs(3);

fn open(dir: &Path) -> Result<SqliteStore, charter_store::StoreError> {
    SqliteStore::open(dir, &SqliteOptions::default())
}

/// Appends one event of 300 bytes at a time to its own run until the deadline.
async fn append(store: Arc<SqliteStore>, n: u128, until: Instant) -> u64 {
    let payload = format!(r#"{{"output":"{}"}}"#, "x".repeat(285));
    let (record, first) = sample::new_run("acme", n, 0).unwrap();
    let mut last = first[0].hash;
    store
        .create_run(&record, first, vec![], vec![])
        .await
        .unwrap();
    let mut version = 1;
    while Instant::now() < until {
        let events = sample::events(last, version, &[&payload]).unwrap();
        last = events[0].hash;
        let append = Append {
            tenant_id: record.tenant_id.clone(),
            run_id: record.run_id.clone(),
            expected: version,
            fence: Fence(0),
            events,
            then: NextPhase::Runs,
            status: RunStatus::Working,
            approvals: vec![],
            artifacts: vec![],
            mission_state: None,
            release: false,
            messages: vec![],
        };
        version = store.append(append).await.unwrap();
    }
    version - 1
}

async fn measure_appends(dir: &Path, callers: u128) -> Outcome {
    let store = Arc::new(open(dir)?);
    let until = Instant::now() + MEASURE;
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..callers {
        calls.spawn(append(
            Arc::clone(&store),
            u128::from(u64::MAX) * callers + n,
            until,
        ));
    }
    let appended: u64 = calls.join_all().await.iter().sum();
    let per_second = appended / MEASURE.as_secs();
    println!("appends: {callers} callers, {per_second} per second");
    Ok(store.close().await?)
}

async fn write_catalogue(dir: &Path) -> Outcome {
    let store = open(dir)?;
    let text = "word ".repeat(BODY / 5);
    let documents = (0..DOCUMENTS).map(|n| sample::skill(&format!("skill-{n:05}"), &text));
    let registration = sample::registration(&Scope::Global, "p", "1", 0, documents.collect())?;
    let started = Instant::now();
    store.register(registration).await?;
    println!(
        "register: {DOCUMENTS} documents of {BODY} bytes in {:?}",
        started.elapsed()
    );
    let mut vectors = Vec::new();
    for n in 0..VECTORS {
        let mut text = [0x5A; 32];
        // Distributed as real hashes are.
        text[..4].copy_from_slice(&n.wrapping_mul(2_654_435_761).to_be_bytes());
        let bytes = vec![0x3C; DIMENSIONS * 4];
        let text = TextHash(text);
        vectors.push(StoredVector { text, bytes });
    }
    let started = Instant::now();
    for chunk in vectors.chunks(1_000) {
        store.put_vectors(MODEL, chunk.to_vec()).await?;
    }
    println!(
        "put_vectors: {VECTORS} x {DIMENSIONS} f32 in {:?}",
        started.elapsed()
    );
    Ok(store.close().await?)
}

async fn measure_start(dir: &Path) -> Outcome {
    let started = Instant::now();
    let store = open(dir)?;
    let opened = started.elapsed();
    let (_, documents) = store.load().await?;
    let loaded = started.elapsed();
    let vectors = store.all_vectors(MODEL).await?;
    let all = started.elapsed();
    assert_eq!(
        (documents.len(), vectors.len()),
        (DOCUMENTS, VECTORS as usize)
    );
    println!(
        "start: open {opened:?}, load {:?}, all_vectors {:?}, together {all:?}",
        loaded - opened,
        all - loaded
    );
    Ok(store.close().await?)
}

#[tokio::main]
async fn main() -> Outcome {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let dir = tempfile::tempdir_in(place)?;
    for callers in [1, 8, 64] {
        measure_appends(dir.path(), callers).await?;
    }
    let dir = tempfile::tempdir_in(place)?;
    write_catalogue(dir.path()).await?;
    for _ in 0..3 {
        measure_start(dir.path()).await?;
    }
    Ok(())
}
