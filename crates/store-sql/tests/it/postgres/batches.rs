//! Group append: appends of several runs in one transaction, each answered on its own.
//!
//! The cases fill a queue by polling their calls once, while a lock on the outbox stops every connection that writes
//! batches.

use std::sync::Arc;

use charter_contract::ids::{ApprovalId, TenantId};
use charter_store::StoreError;
use charter_store::approval::{ApprovalChange, ApprovalState, ApprovalTransition};
use charter_store::journal::{Append, EventHash, Journal, NewLeasedRun, NextPhase};
use charter_store::lease::Fence;
use charter_store_sql::postgres::PostgresStore;
use charter_testkit::postgres_server::Database;
use charter_testkit::store_suite::Outcome;
use charter_testkit::store_suite::sample::{self, Made};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use super::several::until_waiting;
use crate::postgres::database::{migrated, raw, store};

/// Connections that write batches.
const WRITERS: u128 = 4;

/// Queued writes of one tenant.
const QUEUED: usize = 1_024;

/// Creates the `n`th run.
async fn create(store: &PostgresStore, tenant: &str, n: u128) -> Outcome {
    let (run, events) = sample::new_run(tenant, n, 0)?;
    Ok(store.create_run(&run, events, vec![], vec![]).await?)
}

/// Returns an append to the `n`th run, with a message.
fn append(tenant: &str, n: u128) -> Made<Append> {
    let mut append = sample::second_append(n, NextPhase::Runs, &["{}"])?;
    append.tenant_id = sample::tenant(tenant)?;
    for message in &mut append.messages {
        message.tenant = Some(tenant.to_owned());
    }
    Ok(append)
}

async fn length(store: &PostgresStore, tenant: &str, n: u128) -> Made<usize> {
    let tenant = sample::tenant(tenant)?;
    Ok(store.events(&tenant, &sample::run(n), 0, 9).await?.len())
}

/// Starts an append on each connection that writes batches, to runs from 1,000 on. They wait for the outbox.
async fn stop_writers(
    store: &Arc<PostgresStore>,
    watcher: &Client,
) -> Made<tokio::task::JoinSet<Result<u64, StoreError>>> {
    let mut stopped = tokio::task::JoinSet::new();
    for n in 0..WRITERS {
        let (store, append) = (Arc::clone(store), append("acme", 1_000 + n)?);
        stopped.spawn(async move { store.append(append).await });
        until_waiting(watcher, i64::try_from(n)? + 1).await;
    }
    Ok(stopped)
}

/// Returns the number of transactions that wrote the second events of a tenant's runs below 1,000.
async fn transactions(client: &Client, tenant: &str) -> Made<i64> {
    let sql = "SELECT count(DISTINCT xmin::text) FROM journal_event
               WHERE tenant_id = $1 AND sequence = 2 AND run_id < $2";
    let before = sample::run(1_000);
    let row = client.query_one(sql, &[&tenant, &before.as_str()]).await?;
    Ok(row.get(0))
}

/// Polls a call once, which queues it.
fn queued<T>(call: &mut BoxFuture<'_, T>) -> Option<T> {
    call.now_or_never()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_append_of_a_batch_fails_alone() -> Outcome {
    let database = migrated().await;
    let store = Arc::new(store(&database).await);
    for n in (1..=6).chain(1_000..1_000 + WRITERS) {
        create(&store, "acme", n).await?;
    }
    let (mut other, watcher) = (raw(&database).await, raw(&database).await);
    let obstacle = other.transaction().await?;
    obstacle
        .batch_execute("LOCK TABLE outbox IN EXCLUSIVE MODE")
        .await?;
    let stopped = stop_writers(&store, &watcher).await?;
    let mut appends = Vec::new();
    for n in 1..=7 {
        appends.push(append("acme", n)?);
    }
    appends[1].fence = Fence(3);
    appends[2].expected = 7;
    appends[3].events[0].hash = EventHash([0; 32]);
    appends[4].approvals = vec![ApprovalChange::Move(ApprovalTransition {
        approval_id: ApprovalId::from_uuid(Uuid::from_u128(1)),
        from: ApprovalState::Approved,
        expected_body: None,
        to: ApprovalState::Consumed,
        body: "{}".to_owned(),
    })];
    let mut calls: Vec<_> = appends.into_iter().map(|one| store.append(one)).collect();
    assert!(calls.iter_mut().all(|call| queued(call).is_none()));
    obstacle.rollback().await?;
    for ended in stopped.join_all().await {
        assert_eq!(ended?, 2);
    }
    let answers = join_all(calls).await;
    assert!(
        matches!(
            &answers[..],
            [
                Ok(2),
                Err(StoreError::FencedOff {
                    held: 3,
                    current: 0,
                    ..
                }),
                Err(StoreError::VersionConflict { found: 1, .. }),
                Err(StoreError::Corrupt { .. }),
                Err(StoreError::Refused { .. }),
                Ok(2),
                Err(StoreError::NotFound { .. })
            ]
        ),
        "{answers:?}"
    );
    for (n, events) in (1..).zip([2, 1, 1, 1, 1, 2]) {
        assert_eq!(length(&store, "acme", n).await?, events, "run {n}");
    }
    assert_eq!(transactions(&watcher, "acme").await?, 1);
    Ok(())
}

/// Runs start, take steps and end in the same transactions. Batches of two tenants are separate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_has_the_runs_of_one_tenant() -> Outcome {
    let database = migrated().await;
    let store = Arc::new(store(&database).await);
    let stopping = 1_000..1_000 + WRITERS;
    for n in stopping.chain(1..=8) {
        create(&store, "acme", n).await?;
    }
    for n in 11..=18 {
        create(&store, "umbra", n).await?;
    }
    let (mut other, watcher) = (raw(&database).await, raw(&database).await);
    let obstacle = other.transaction().await?;
    obstacle
        .batch_execute("LOCK TABLE outbox IN EXCLUSIVE MODE")
        .await?;
    let stopped = stop_writers(&store, &watcher).await?;
    let mut calls = Vec::new();
    for n in 1..=8 {
        calls.push(store.append(append("acme", n)?));
        calls.push(store.append(append("umbra", n + 10)?));
        // Another tenant's run.
        calls.push(store.append(append("umbra", n)?));
    }
    let (run, events) = sample::new_run("acme", 9, 0)?;
    let mut creation = store.create_held_run(NewLeasedRun {
        run,
        events,
        approvals: vec![],
        artifacts: vec![],
        mission_state: None,
        holder: "a".to_owned(),
        expires_at: sample::at(10)?,
        release: false,
        messages: vec![],
    });
    assert!(calls.iter_mut().all(|call| queued(call).is_none()));
    assert!(queued(&mut creation).is_none());
    obstacle.rollback().await?;
    for ended in stopped.join_all().await {
        assert_eq!(ended?, 2);
    }
    for (n, answer) in join_all(calls).await.into_iter().enumerate() {
        match (n % 3, answer) {
            (0 | 1, Ok(2)) | (2, Err(StoreError::NotFound { .. })) => {}
            (_, answer) => panic!("call {n}: {answer:?}"),
        }
    }
    assert_eq!(creation.await?.fence, Fence(1));
    assert_eq!(transactions(&watcher, "acme").await?, 1);
    assert_eq!(transactions(&watcher, "umbra").await?, 1);
    let both = "SELECT count(DISTINCT xmin::text) FROM journal_event
                WHERE (sequence = 2 AND run_id < $1) OR run_id = $2";
    let (before, created) = (sample::run(1_000), sample::run(9));
    let row = watcher
        .query_one(both, &[&before.as_str(), &created.as_str()])
        .await?;
    assert_eq!(row.get::<_, i64>(0), 2);
    Ok(())
}

/// A run that another transaction has locked does not delay the other runs of a batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_does_not_wait_for_a_locked_run() -> Outcome {
    let database = migrated().await;
    let store = Arc::new(store(&database).await);
    for n in [1, 2] {
        create(&store, "acme", n).await?;
    }
    let mut other = raw(&database).await;
    let locking = other.transaction().await?;
    let run = sample::run(1);
    let sql = "SELECT FROM run WHERE run_id = $1 FOR UPDATE";
    locking.execute(sql, &[&run.as_str()]).await?;
    let locked = {
        let (store, append) = (Arc::clone(&store), append("acme", 1)?);
        tokio::spawn(async move { store.append(append).await })
    };
    until_waiting(&raw(&database).await, 1).await;
    assert_eq!(store.append(append("acme", 2)?).await?, 2);
    locking.commit().await?;
    assert_eq!(locked.await??, 2);
    Ok(())
}

/// Beyond its bound the queue of a tenant refuses at once. Another tenant's append is accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_is_overloaded_at_once() -> Outcome {
    let database = migrated().await;
    let store = Arc::new(store(&database).await);
    for n in (1_000..1_000 + WRITERS).chain([1]) {
        create(&store, "acme", n).await?;
    }
    create(&store, "umbra", 2).await?;
    let (mut other, watcher) = (raw(&database).await, raw(&database).await);
    let obstacle = other.transaction().await?;
    obstacle
        .batch_execute("LOCK TABLE outbox IN EXCLUSIVE MODE")
        .await?;
    let stopped = stop_writers(&store, &watcher).await?;
    let mut calls = Vec::new();
    for _ in 0..QUEUED {
        let mut call = store.append(append("acme", 1)?);
        assert!(queued(&mut call).is_none());
        calls.push(call);
    }
    let refused = queued(&mut store.append(append("acme", 1)?));
    assert!(
        matches!(refused, Some(Err(StoreError::Overloaded { waiting, .. })) if waiting == QUEUED as u64),
        "{refused:?}"
    );
    let mut foreign = store.append(append("umbra", 2)?);
    assert!(queued(&mut foreign).is_none());
    // Callers that are gone before their write begins leave nothing behind.
    calls.truncate(1);
    obstacle.rollback().await?;
    for ended in stopped.join_all().await {
        assert_eq!(ended?, 2);
    }
    assert_eq!(foreign.await?, 2);
    for ended in join_all(calls).await {
        assert_eq!(ended?, 2);
    }
    assert_eq!(length(&store, "acme", 1).await?, 2);
    Ok(())
}

/// Connects as Charter's own role, without the store.
async fn owner(database: &Database) -> Made<Client> {
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Calls the function for an append to the first run, with a hash that does not chain.
fn call(tenant: &str) -> String {
    let run = sample::run(1);
    let empty = vec!["'{}'"; 23].join(", ");
    format!(
        "SELECT found_versions FROM charter_append('{tenant}', '{{{run}}}', '{{1}}', '{{0}}', '{{2}}',
             ARRAY['\\x00'::bytea], '{{0}}', '{{working}}', '{{runnable}}', '{{NULL}}', '{{f}}', '{{t}}',
             '{{1}}', '{{1}}', '{{{run}}}', '{{2}}', '{{0}}', ARRAY['\\x00'::bytea], '{{x}}', {empty})"
    )
}

/// Row security restricts the function to one tenant, also if its caller names another one's run.
#[tokio::test]
async fn an_append_is_restricted_to_its_tenant() -> Outcome {
    let database = migrated().await;
    let store = store(&database).await;
    create(&store, "acme", 1).await?;
    let client = owner(&database).await?;
    for (tenant, found) in [("acme", Some(1_i64)), ("umbra", None)] {
        let row = client.query_one(&call(tenant), &[]).await?;
        let versions: Vec<Option<i64>> = row.get(0);
        assert_eq!(versions, [found], "{tenant}");
    }
    for everyone in ["*", ""] {
        let refused = client.query(&call(everyone), &[]).await.unwrap_err();
        let refused = refused
            .as_db_error()
            .map(|error| error.message().to_owned());
        assert_eq!(refused.as_deref(), Some("an append names its tenant"));
    }
    // The setting ends with the transaction.
    let rows = client.query("SELECT FROM run", &[]).await?;
    assert_eq!(rows.len(), 0);
    let acme: TenantId = sample::tenant("acme")?;
    assert_eq!(store.events(&acme, &sample::run(1), 0, 9).await?.len(), 1);
    Ok(())
}
