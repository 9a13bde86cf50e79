//! Interaction of several processes on one database: waiting, conflicts, and notices.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::ids::RunId;
use charter_store::StoreError;
use charter_store::calibration::{CalibrationRecord, Calibrations};
use charter_store::evidence::Evidence;
use charter_store::evidence_log::EvidenceLog;
use charter_store::journal::{Append, Claim, Journal, NextPhase};
use charter_store::lease::{Fence, Leases};
use charter_store::notices::Notices;
use charter_store::outbox::Outbox;
use charter_store_sql::postgres::PostgresStore;
use charter_testkit::store_suite::{Outcome, sample};
use tokio_postgres::Client;

use crate::postgres::database::{migrated, options, raw, store};

/// Waits until `how_many` statements wait for another transaction.
pub(super) async fn until_waiting(watcher: &Client, how_many: i64) {
    let sql = "SELECT count(*) FROM pg_stat_activity
               WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let waiting = async {
        while watcher.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) < how_many {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await;
    waited.expect("nobody waits");
}

/// Transactions commit in a different order than they began; a reader at a message has missed no earlier one.
#[tokio::test]
async fn a_message_that_is_committed_later_comes_later() -> Outcome {
    let database = migrated().await;
    let store = store(&database).await;
    let (mut first, mut second) = (raw(&database).await, raw(&database).await);
    let late = |topic: &str| {
        format!(
            "INSERT INTO outbox (tenant_id, topic, at, payload) VALUES ('acme', '{topic}', 0, '{{}}')"
        )
    };
    let (first, second) = (first.transaction().await?, second.transaction().await?);
    first.batch_execute(&late("first")).await?;
    second.batch_execute(&late("second")).await?;
    store.publish(vec![sample::message("third", 1)?]).await?;
    let mut at = 0;
    let mut topics = Vec::new();
    let mut read = async |topics: &mut Vec<String>| -> Outcome {
        for message in store.messages(at, 10).await? {
            at = message.id;
            topics.push(message.message.topic);
        }
        assert_eq!(store.last_message().await?, at);
        Ok(())
    };
    read(&mut topics).await?;
    second.commit().await?;
    read(&mut topics).await?;
    first.commit().await?;
    read(&mut topics).await?;
    assert_eq!(topics, ["third", "second", "first"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_among_many_writers_sees_each_message_once() -> Outcome {
    const WRITERS: usize = 6;
    const EACH: usize = 25;
    let database = migrated().await;
    let store = Arc::new(store(&database).await);
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for n in 0..EACH {
                    let message = sample::message(&format!("{writer}.{n}"), 0);
                    let message = message.map_err(|error| error.to_string())?;
                    let sent = store.publish(vec![message]).await;
                    sent.map_err(|error| error.to_string())?;
                }
                Ok::<(), String>(())
            })
        })
        .collect();
    let (mut at, mut seen) = (0, Vec::new());
    let reading = async {
        while seen.len() < WRITERS * EACH {
            for message in store.messages(at, 7).await? {
                assert!(message.id > at);
                at = message.id;
                seen.push(message.message.topic);
            }
        }
        Ok::<(), StoreError>(())
    };
    tokio::time::timeout(Duration::from_secs(30), reading).await??;
    for writer in writers {
        writer.await??;
    }
    assert_eq!(store.messages(at, 1).await?, []);
    for writer in 0..WRITERS {
        let prefix = format!("{writer}.");
        let own = seen.iter().filter_map(|topic| topic.strip_prefix(&prefix));
        let expected: Vec<String> = (0..EACH).map(|n| n.to_string()).collect();
        assert_eq!(own.collect::<Vec<_>>(), expected);
    }
    Ok(())
}

async fn with_a_run(
    store: &PostgresStore,
) -> Result<RunId, Box<dyn std::error::Error + Send + Sync>> {
    let (run, events) = sample::new_run("acme", 1, 0)?;
    store.create_run(&run, events, vec![], vec![]).await?;
    Ok(run.run_id)
}

/// An append that waits for a takeover's commit is then fenced off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_waits_for_a_takeover_and_is_fenced_off() -> Outcome {
    for held in [false, true] {
        let database = migrated().await;
        let store = Arc::new(store(&database).await);
        let run = with_a_run(&store).await?;
        let mut fence = Fence(0);
        if held {
            let lease = store
                .acquire(run.as_str(), "a", sample::at(0)?, sample::at(1)?)
                .await?;
            fence = lease.ok_or("taken")?.fence;
        }
        let (mut other, watcher) = (raw(&database).await, raw(&database).await);
        let takeover = other.transaction().await?;
        let sql = format!(
            "INSERT INTO lease VALUES ('{run}', 'b', 1, 9) ON CONFLICT (resource) DO UPDATE
             SET holder = 'b', fence = lease.fence + 1"
        );
        takeover.batch_execute(&sql).await?;
        let mut append = sample::second_append(1, NextPhase::Runs, &["{}"])?;
        append.fence = fence;
        let appending = {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.append(append).await })
        };
        until_waiting(&watcher, 1).await;
        takeover.commit().await?;
        match appending.await? {
            Err(StoreError::FencedOff { held, current, .. }) => {
                assert_eq!((held, current), (fence.0, fence.0 + 1));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(
            store
                .events(&sample::tenant("acme")?, &run, 0, 9)
                .await?
                .len(),
            1
        );
    }
    Ok(())
}

/// An append under an expired lease is in the journal before the next holder gets the lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_takeover_waits_for_an_append_that_has_begun() -> Outcome {
    let database = migrated().await;
    let store = Arc::new(store(&database).await);
    let run = with_a_run(&store).await?;
    let lease = store
        .acquire(run.as_str(), "a", sample::at(0)?, sample::at(1)?)
        .await?
        .ok_or("taken")?;
    // A lock that the append of `a` waits for at its end, while it holds its own.
    let (mut other, watcher) = (raw(&database).await, raw(&database).await);
    let obstacle = other.transaction().await?;
    obstacle
        .batch_execute("LOCK TABLE outbox IN EXCLUSIVE MODE")
        .await?;
    let mut append = sample::second_append(1, NextPhase::Runs, &["{}"])?;
    append.fence = lease.fence;
    append.messages = vec![sample::message("a", 0)?];
    let appending = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.append(append).await })
    };
    until_waiting(&watcher, 1).await;
    let acquiring = {
        let (store, run) = (Arc::clone(&store), run.clone());
        let (now, until) = (sample::at(5)?, sample::at(9)?);
        let acme = sample::tenant("acme")?;
        tokio::spawn(async move {
            let lease = store.acquire(run.as_str(), "b", now, until).await;
            // The new holder's first read.
            (lease, store.events(&acme, &run, 0, 9).await)
        })
    };
    until_waiting(&watcher, 2).await;
    obstacle.rollback().await?;
    assert_eq!(appending.await??, 2);
    let (taken, seen) = acquiring.await?;
    assert_eq!(
        taken?.map(|lease| lease.fence),
        Some(Fence(lease.fence.0 + 1))
    );
    assert_eq!(seen?.len(), 2);
    Ok(())
}

/// Two pools represent two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_of_two_processes_have_one_winner() -> Outcome {
    let database = migrated().await;
    let (one, two) = (store(&database).await, store(&database).await);
    let run = with_a_run(&one).await?;
    let append = sample::second_append(1, NextPhase::Runs, &["{}"])?;
    let (first, second) = tokio::join!(one.append(append.clone()), two.append(append));
    let (won, lost) = match (first, second) {
        (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won, lost),
        other => panic!("{other:?}"),
    };
    assert_eq!(won, 2);
    assert!(
        matches!(
            lost,
            StoreError::VersionConflict {
                expected: 1,
                found: 2,
                ..
            }
        ),
        "{lost:?}"
    );
    assert_eq!(
        two.events(&sample::tenant("acme")?, &run, 0, 9)
            .await?
            .len(),
        2
    );
    Ok(())
}

/// A write that is the victim of a deadlock is retried, without an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_is_the_victim_of_a_deadlock_is_made_again() -> Outcome {
    let database = migrated().await;
    let mut options = options(&database);
    options.url += "?options=-c%20deadlock_timeout%3D2s";
    let (mut other, watcher) = (raw(&database).await, raw(&database).await);
    let granted = "GRANT SET ON PARAMETER deadlock_timeout TO charter";
    other.batch_execute(granted).await?;
    let store = Arc::new(PostgresStore::connect(&options).await?);
    let run = with_a_run(&store).await?;
    other
        .batch_execute("SET deadlock_timeout = '10min'")
        .await?;
    let lock = format!("INSERT INTO lease VALUES ('{run}', NULL, 0, 0)");
    let crossing = other.transaction().await?;
    crossing.batch_execute(&lock).await?;
    let append = sample::second_append(1, NextPhase::Runs, &["{}"])?;
    let appending = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.append(append).await })
    };
    until_waiting(&watcher, 1).await;
    // The append has locked the run and waits for the lease; this transaction has locked the lease and waits for the
    // run.
    crossing.batch_execute("SELECT FROM run FOR UPDATE").await?;
    crossing.commit().await?;
    assert_eq!(appending.await??, 2);
    Ok(())
}

#[tokio::test]
async fn waiting_for_another_transaction_is_bounded() -> Outcome {
    let database = migrated().await;
    let mut options = options(&database);
    options.lock_timeout = Duration::from_millis(50);
    options.statement_timeout = Duration::from_secs(3600);
    let store = PostgresStore::connect(&options).await?;
    let (now, until) = (sample::at(0)?, sample::at(9)?);
    let mut other = raw(&database).await;
    let holding = other.transaction().await?;
    holding.batch_execute("LOCK TABLE lease").await?;
    let acquiring = store.acquire("thing", "a", now, until);
    let error = tokio::time::timeout(Duration::from_secs(20), acquiring)
        .await?
        .err();
    let error = error.ok_or("it was not held up")?;
    assert!(
        matches!(error, StoreError::Engine { .. }) && error.is_transient(),
        "{error:?}"
    );
    holding.rollback().await?;
    assert!(store.acquire("thing", "a", now, until).await?.is_some());
    Ok(())
}

#[tokio::test]
async fn a_store_lives_on_when_the_server_ends_its_connections() -> Outcome {
    let database = migrated().await;
    let store = store(&database).await;
    assert_eq!(store.calibration("m").await?, None);
    // Returns how many connections it ended, and repeats until there were none: a connection takes time to end.
    let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let other = raw(&database).await;
    let mut ended = Vec::new();
    while ended.last() != Some(&0) {
        ended.push(other.query_one(sql, &[]).await?.get::<_, i64>(0));
    }
    assert!(ended[0] > 0);
    // A connection that ends during use fails one call, which can be retried.
    match store.calibration("m").await {
        Ok(found) => assert_eq!(found, None),
        Err(error) => assert!(error.is_transient(), "{error:?}"),
    }
    assert_eq!(store.calibration("m").await?, None);
    Ok(())
}

#[tokio::test]
async fn a_text_that_postgresql_cannot_hold_is_refused() -> Outcome {
    let database = migrated().await;
    let store = store(&database).await;
    let calibration = CalibrationRecord {
        model: "m".to_owned(),
        body: "nul\0".to_owned(),
        at: sample::at(0)?,
    };
    match store.put_calibration(&calibration).await {
        Err(StoreError::Refused { detail, .. }) => {
            assert_eq!(
                detail,
                "it has the character U+0000, which PostgreSQL cannot hold"
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(store.calibration("m").await?, None);
    Ok(())
}

/// A process is notified of another one's messages, even after its listening connection was cut.
#[tokio::test]
async fn a_notice_reaches_the_other_processes() -> Outcome {
    let database = migrated().await;
    let (one, other) = (store(&database).await, store(&database).await);
    assert!(one.is_shared());
    let watcher = raw(&database).await;
    let listeners = "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'charter notices'
           AND query LIKE ANY (ARRAY['LISTEN%', 'NOTIFY%'])";
    let soon = Duration::from_secs(20);
    for cut in [false, true] {
        if cut {
            let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND application_name = 'charter notices'";
            watcher.query(sql, &[]).await?;
        }
        let listening = async {
            while watcher
                .query_one(listeners, &[])
                .await
                .unwrap()
                .get::<_, i64>(0)
                < 2
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(soon, listening).await?;
        // Reconnecting also triggers a read.
        tokio::time::timeout(soon, other.notice()).await?;
        one.publish(vec![sample::message("news", 1)?]).await?;
        tokio::time::timeout(soon, other.notice()).await?;
    }
    Ok(())
}

/// Concurrent claims get different runs, each run is claimed once, and no claim waits.
#[tokio::test]
async fn a_run_is_claimed_by_one_of_many() -> Outcome {
    let database = migrated().await;
    let store = Arc::new(store(&database).await);
    for n in 1..=300 {
        let (record, events) = sample::new_run("acme", n, 0)?;
        store.create_run(&record, events, vec![], vec![]).await?;
    }
    let mut claiming = tokio::task::JoinSet::new();
    for worker in 0..8 {
        let store = Arc::clone(&store);
        claiming.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let claim = Claim {
                    holder: format!("w{worker}"),
                    now: sample::at(1).unwrap(),
                    until: sample::at(9).unwrap(),
                    limit: 10,
                    except: Vec::new(),
                };
                let got = store.claim_runs(&claim).await.unwrap();
                if got.is_empty() {
                    break mine;
                }
                mine.extend(got.into_iter().map(|one| one.run.run_id));
            }
        });
    }
    let mut all = claiming.join_all().await.concat();
    // A claim that found all candidates locked returned early; no run is left for another claim.
    let rest = Claim {
        holder: "last".to_owned(),
        now: sample::at(1)?,
        until: sample::at(9)?,
        limit: 300,
        except: Vec::new(),
    };
    all.extend(
        store
            .claim_runs(&rest)
            .await?
            .into_iter()
            .map(|one| one.run.run_id),
    );
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!((count, all.len()), (300, 300));
    Ok(())
}

/// Writers of evidence wait for each other's commits; a lease is still renewed in time, and only an invalid record
/// fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_write_evidence_together_hold_no_lease_up() -> Outcome {
    const WRITERS: u32 = 24;
    let database = migrated().await;
    let mut options = options(&database);
    options.connections = 2;
    let store = Arc::new(PostgresStore::connect(&options).await?);
    let acme = sample::tenant("acme")?;
    let first = sample::evidence("acme", 0, sample::at(1)?)?;
    store
        .put_evidence(&acme, std::slice::from_ref(&first))
        .await?;
    let run = ["run".to_owned()];
    let lease = store.acquire(&run[0], "one", sample::at(1)?, sample::at(9)?);
    assert!(lease.await?.is_some());

    let mut other = raw(&database).await;
    let log = other.transaction().await?;
    log.batch_execute("SELECT FROM evidence_log FOR UPDATE")
        .await?;
    let writers: Vec<_> = (0..WRITERS)
        .map(|n| {
            let (store, acme) = (Arc::clone(&store), acme.clone());
            tokio::spawn(async move {
                let record = sample::evidence("acme", n, sample::at(2).unwrap()).unwrap();
                store.put_evidence(&acme, &[record]).await
            })
        })
        .collect();
    until_waiting(&raw(&database).await, 1).await;
    let soon = Duration::from_secs(1);
    tokio::time::timeout(soon, store.renew("one", &run, sample::at(20)?)).await??;
    tokio::time::timeout(soon, store.evidence(&acme, &first.id)).await??;
    log.commit().await?;
    for (n, writer) in writers.into_iter().enumerate() {
        match writer.await? {
            Ok(()) => assert_ne!(n, 0),
            Err(StoreError::AlreadyExists { .. }) => assert_eq!(n, 0),
            Err(other) => return Err(other.into()),
        }
    }
    assert_eq!(store.log_size(&acme).await?, u64::from(WRITERS));
    Ok(())
}

/// The steps of a run do not update the indexes of its row, except at its begin and end.
#[tokio::test]
async fn steps_write_a_runs_row_beside_itself() -> Outcome {
    const STEPS: u64 = 100;
    let database = migrated().await;
    let store = store(&database).await;
    let (run, first) = sample::new_run("acme", 1, 0)?;
    let mut head = first[0].hash;
    store
        .create_run(&run, first, Vec::new(), Vec::new())
        .await?;
    for version in 1..=STEPS {
        let events = sample::events(head, version, &["{}"])?;
        head = events[0].hash;
        let append = Append {
            expected: version,
            events,
            ..sample::second_append(1, NextPhase::Runs, &[])?
        };
        store.append(append).await?;
    }
    store.close();
    drop(store);
    let raw = raw(&database).await;
    let sql = "SELECT pg_stat_clear_snapshot(), n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
               WHERE relname = 'run'";
    loop {
        let row = raw.query_one(sql, &[]).await?;
        let (updates, beside): (i64, i64) = (row.get(1), row.get(2));
        if u64::try_from(updates)? == STEPS {
            // Occasionally a page is full.
            assert!(10 * beside >= 9 * updates, "{beside} of {updates}");
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
}
