//! A standby: it takes over from a killed server, and a store with both addresses continues without losing acknowledged
//! writes; and it serves listings.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use charter_contract::ids::RunId;
use charter_store::StoreError;
use charter_store::journal::{Journal, RunFilter};
use charter_store::page::PageRequest;
use charter_store_sql::postgres::{PostgresOptions, PostgresStore, StandbyOptions, back_up};
use charter_testkit::postgres_server::{Database, PostgresServer};
use charter_testkit::store_suite::{Outcome, sample};
use tokio_postgres::Client;

use crate::postgres::database::{raw, raw_at};

/// Most runs that each writer creates.
const RUNS: u128 = 100_000;

/// How long every writer's commit waits for the stalled standby before the server is killed.
const STALLED: &str = "1 second";

/// Waits until the server requires its standby for every acknowledgement.
async fn followed(database: &Database) {
    let client = raw(database).await;
    let sql = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    let begun = Instant::now();
    while client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody follows");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until `commits` commits have waited for the standby for [`STALLED`]. If the server acknowledged commits
/// without the standby, none would wait.
async fn held_up(database: &Database, commits: i64) {
    let client = raw(database).await;
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event = 'SyncRep'
           AND clock_timestamp() - query_start > interval '{STALLED}'"
    );
    let begun = Instant::now();
    let sql = sql.as_str();
    while client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) < commits {
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(60), "commits do not wait");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Creates runs one after another until it is stopped; returns the acknowledged ones.
async fn write(store: Arc<PostgresStore>, first: u128, stop: Arc<AtomicBool>) -> BTreeSet<RunId> {
    let mut acknowledged = BTreeSet::new();
    for n in first..first + RUNS {
        let (run, events) = sample::new_run("acme", n, 0).unwrap();
        match store.create_run(&run, events, vec![], vec![]).await {
            Ok(()) => drop(acknowledged.insert(run.run_id)),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    acknowledged
}

async fn number(store: &PostgresStore) -> Result<usize, StoreError> {
    let runs = store.unfinished_runs(None, 1_000_000).await?;
    Ok(runs.len())
}

/// Waits until a store has more runs than before.
async fn goes_on(store: &PostgresStore, before: usize) {
    let begun = Instant::now();
    while !number(store).await.is_ok_and(|now| now > before + 20) {
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(60), "it does not go on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_goes_on_with_the_standby_and_has_all_that_was_acknowledged() -> Outcome {
    let primary = PostgresServer::mortal();
    let database = primary.database();
    let standby = primary.standby();
    followed(&database).await;
    let options = PostgresOptions::new(database.url_with(standby));
    let store = Arc::new(PostgresStore::connect(&options).await?);
    let stop = Arc::new(AtomicBool::new(false));
    let writers = [1, 2, 3, 4].map(|writer| {
        let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
        tokio::spawn(write(store, writer * RUNS, stop))
    });
    goes_on(&store, 0).await;
    let receiver = standby.stall();
    // Each writer's commit waits for the standby, which does not receive it. A run that is acknowledged without the
    // standby would be lost, and the comparison below would detect it.
    held_up(&database, 4).await;
    primary.kill();
    receiver.end();
    // Soon no server answers, because the standby accepts no writes yet: sessions of a killed server continue until
    // they notice.
    let killed = Instant::now();
    while number(&store).await.is_ok() {
        assert!(killed.elapsed() < Duration::from_secs(60), "it answers");
    }
    standby.promote();
    let promoted = Instant::now();
    let kept = loop {
        match number(&store).await {
            Ok(number) => break number,
            Err(_) => assert!(promoted.elapsed() < Duration::from_secs(60)),
        }
    };
    goes_on(&store, kept).await;
    stop.store(true, Ordering::Relaxed);
    let mut acknowledged = BTreeSet::new();
    for writer in writers {
        acknowledged.extend(writer.await?);
    }
    let found = store.unfinished_runs(None, 1_000_000).await?;
    let found: BTreeSet<RunId> = found.into_iter().map(|run| run.run_id).collect();
    let lost: Vec<_> = acknowledged.difference(&found).collect();
    assert!(lost.is_empty(), "{} of {}", lost.len(), acknowledged.len());
    assert!(acknowledged.len() > kept);
    store.close();
    // The server no longer exists.
    std::mem::forget(database);
    Ok(())
}

/// The standby's allowed lag in these tests.
const MAY_LAG: Duration = Duration::from_millis(1_500);

/// Returns the runs in a listing.
async fn listed(store: &PostgresStore) -> BTreeSet<RunId> {
    let tenant = sample::tenant("acme").unwrap();
    let page = store
        .runs(&tenant, &RunFilter::default(), &PageRequest::new(None, 100))
        .await;
    let runs = page.unwrap().entries.into_iter();
    runs.map(|run| run.run_id).collect()
}

async fn create(store: &PostgresStore, n: u128) -> RunId {
    let (run, events) = sample::new_run("acme", n, 0).unwrap();
    store
        .create_run(&run, events, vec![], vec![])
        .await
        .unwrap();
    run.run_id
}

/// Waits until a listing has exactly these runs; returns the elapsed time.
async fn until_listed(store: &PostgresStore, runs: &BTreeSet<RunId>) -> Duration {
    let begun = Instant::now();
    while listed(store).await != *runs {
        assert!(begun.elapsed() < Duration::from_secs(60), "never listed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    begun.elapsed()
}

/// Lists runs until the standby has answered a listing, which proves that the store reads from it.
async fn until_read(store: &PostgresStore, standby: &Client) {
    let sql = "SELECT clock_timestamp()::text";
    let since: String = standby.query_one(sql, &[]).await.unwrap().get(0);
    let sql = "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND query LIKE '%ORDER BY created_at DESC%' AND query_start > $1::text::timestamptz";
    let begun = Instant::now();
    loop {
        listed(store).await;
        let answered = standby.query_one(sql, &[&since]).await.unwrap();
        if answered.get::<_, i64>(0) > 0 {
            return;
        }
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(60), "it is not read");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A listing comes from the standby while its lag is within the limit; otherwise, and for all other reads, the primary
/// is used. The standby can be backed up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listings_are_read_from_a_standby_that_is_near_enough() -> Outcome {
    let primary = PostgresServer::mortal();
    let database = primary.database();
    let standby = primary.standby();
    followed(&database).await;
    let mut options = PostgresOptions::new(database.url());
    PostgresStore::connect(&options).await?.close();
    options.standby = Some(StandbyOptions {
        url: database.url_at(standby),
        may_lag: MAY_LAG,
    });
    let store = PostgresStore::connect(&options).await?;
    let of_standby = raw_at(&database.url_at(standby)).await;
    let mut runs = BTreeSet::from([create(&store, 1).await]);
    until_listed(&store, &runs).await;
    until_read(&store, &of_standby).await;
    standby.hold_replay(true);
    let held = Instant::now();
    let second = create(&store, 2).await;
    let acme = sample::tenant("acme")?;
    let found = store.run(&acme, &second).await?;
    assert!(found.is_some(), "by its id it is there");
    assert_eq!(listed(&store).await, runs, "the standby does not know it");
    runs.insert(second);
    until_listed(&store, &runs).await;
    let behind = held.elapsed();
    assert!(behind < MAY_LAG + Duration::from_secs(5), "{behind:?}");
    standby.hold_replay(false);

    // First caught up again, then gone.
    runs.insert(create(&store, 3).await);
    until_listed(&store, &runs).await;
    until_read(&store, &of_standby).await;
    let folder = tempfile::tempdir()?;
    let options = PostgresOptions::new(database.url_at(standby));
    let at = sample::at(0)?;
    back_up(&options, &folder.path().join("backup"), at).await?;
    standby.kill();
    assert_eq!(listed(&store).await, runs);
    store.close();
    // Writes wait for the standby.
    std::mem::forget(database);
    Ok(())
}
