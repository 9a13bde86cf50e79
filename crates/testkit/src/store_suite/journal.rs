//! Cases of runs and journals.

use charter_contract::bounds::PAGE_BYTES;
use charter_contract::ids::RunId;
use charter_store::journal::{
    Append, Claim, EventHash, GENESIS, JournalEvent, NewEvent, NewLeasedRun, NextPhase, RunFilter,
    RunPhase, RunRecord, RunWait, verify_chain,
};
use charter_store::lease::{Fence, Lease};
use charter_store::page::PageRequest;
use charter_store::{Store, StoreError};
use futures_util::future::join_all;

use super::sample::{Made, at, events, message, new_run, run, second_append, tenant};
use super::{Outcome, assert_one_winner};
use crate::assert_refused;

fn read_back(first: u64, events: &[NewEvent]) -> Vec<JournalEvent> {
    (first..)
        .zip(events)
        .map(|(sequence, event)| JournalEvent {
            sequence,
            payload: event.payload.clone(),
            hash: event.hash,
            at: event.at,
        })
        .collect()
}

/// Creates the `n`th run of acme, at `seconds`.
async fn create(store: &dyn Store, n: u128, seconds: i64) -> Made<RunRecord> {
    create_for(store, "acme", n, seconds).await
}

pub(super) async fn create_for(store: &dyn Store, of: &str, n: u128, at: i64) -> Made<RunRecord> {
    let (record, events) = new_run(of, n, at)?;
    store.create_run(&record, events, vec![], vec![]).await?;
    Ok(record)
}

/// Claims runs for a worker at a time, for ten seconds.
pub(super) async fn claim(
    store: &dyn Store,
    worker: &str,
    now: i64,
    limit: usize,
) -> Made<Vec<RunId>> {
    let claim = Claim {
        holder: worker.to_owned(),
        now: at(now)?,
        until: at(now + 10)?,
        limit,
        except: Vec::new(),
    };
    claimed(store, &claim).await
}

async fn claimed(store: &dyn Store, claim: &Claim) -> Made<Vec<RunId>> {
    let runs = store.claim_runs(claim).await?;
    Ok(runs.into_iter().map(|claimed| claimed.run.run_id).collect())
}

/// Returns the run, its journal and the number of messages.
async fn whole(store: &dyn Store, n: u128) -> Made<(Option<RunRecord>, Vec<JournalEvent>, usize)> {
    Ok((
        store.run(&tenant("acme")?, &run(n)).await?,
        store.events(&tenant("acme")?, &run(n), 0, 100).await?,
        store.messages(0, 100).await?.len(),
    ))
}

/// Finishes the `n`th run two seconds after the start.
pub(super) async fn finish(store: &dyn Store, n: u128) -> Outcome {
    let append = second_append(n, NextPhase::Ends, &[r#"{"finished":true}"#])?;
    assert_eq!(store.append(append).await?, 2);
    Ok(())
}

/// The record, its first events and its messages are stored; another tenant does not see them.
///
/// # Errors
/// Any error of the store.
pub async fn every_field_of_a_run_is_stored(store: &dyn Store) -> Outcome {
    let (mut record, _) = new_run("acme", 1, 0)?;
    let first = events(GENESIS, 0, &[r#"{"n":1}"#, r#"{"n":2}"#])?;
    record.version = 2;
    let announced = vec![message("run.created", 0)?];
    store
        .create_run(&record, first.clone(), vec![], announced.clone())
        .await?;
    let read = store.run(&record.tenant_id, &record.run_id).await?;
    assert_eq!(read, Some(record));
    let journal = store.events(&tenant("acme")?, &run(1), 0, 10).await?;
    assert_eq!(journal, read_back(1, &first));
    assert_eq!(store.run(&tenant("other")?, &run(1)).await?, None);
    assert_eq!(store.run(&tenant("acme")?, &run(2)).await?, None);
    assert_eq!(
        store.events(&tenant("acme")?, &run(2), 0, 10).await?,
        Vec::new()
    );
    assert_eq!(
        store.events(&tenant("other")?, &run(1), 0, 10).await?,
        Vec::new()
    );
    let others = Append {
        tenant_id: tenant("other")?,
        ..second_append(1, NextPhase::Runs, &["{}"])?
    };
    assert_refused!(store.append(others).await, StoreError::NotFound { .. });
    let messages = store.messages(0, 10).await?;
    let messages: Vec<_> = messages.into_iter().map(|m| m.message).collect();
    assert_eq!(messages, announced);
    Ok(())
}

/// A run id is unique over all tenants.
///
/// # Errors
/// Any error of the store.
pub async fn a_duplicate_run_writes_nothing(store: &dyn Store) -> Outcome {
    create(store, 1, 0).await?;
    let before = whole(store, 1).await?;
    for tenant in ["acme", "other"] {
        let (record, first) = new_run(tenant, 1, 5)?;
        let messages = vec![message("run.created", 5)?];
        let refused = store.create_run(&record, first, vec![], messages).await;
        assert_refused!(refused, StoreError::AlreadyExists { .. });
    }
    assert_eq!(whole(store, 1).await?, before);
    Ok(())
}

/// The version must be the number of events, and the events must chain from the start.
///
/// # Errors
/// Any error of the store.
pub async fn create_checks_version_and_chain(store: &dyn Store) -> Outcome {
    let (mut record, first) = new_run("acme", 1, 0)?;
    record.version = 2;
    let refused = store.create_run(&record, first, vec![], vec![]).await;
    assert_refused!(refused, StoreError::Refused { .. });
    record.version = 1;
    let elsewhere = events(EventHash([1; 32]), 0, &["{}"])?;
    let refused = store.create_run(&record, elsewhere, vec![], vec![]).await;
    assert_refused!(refused, StoreError::Corrupt { .. });
    assert_eq!(whole(store, 1).await?, (None, Vec::new(), 0));
    Ok(())
}

/// A run that is created with a lease belongs to its worker at once: only its fencing token may write. If the creation
/// also releases the lease, the next worker may claim the run.
///
/// # Errors
/// Any error of the store.
pub async fn a_run_can_be_created_with_a_lease(store: &dyn Store) -> Outcome {
    let (record, first) = new_run("acme", 1, 0)?;
    let held = |n: u128, release| -> Made<NewLeasedRun> {
        let (run, events) = new_run("acme", n, 0)?;
        Ok(NewLeasedRun {
            run,
            events,
            approvals: vec![],
            artifacts: vec![],
            mission_state: None,
            holder: "a".to_owned(),
            expires_at: at(10)?,
            release,
            messages: vec![message("run.created", 0)?],
        })
    };
    let lease = store.create_held_run(held(1, false)?).await?;
    let expected = Lease {
        resource: record.run_id.to_string(),
        holder: "a".to_owned(),
        fence: Fence(1),
        expires_at: at(10)?,
    };
    assert_eq!(lease, expected);
    assert_eq!(
        whole(store, 1).await?,
        (Some(record.clone()), read_back(1, &first), 1)
    );
    assert_eq!(
        store
            .acquire(record.run_id.as_str(), "b", at(9)?, at(20)?)
            .await?,
        None
    );
    assert_eq!(claim(store, "w", 9, 10).await?, []);
    let mut append = second_append(1, NextPhase::Runs, &["{}"])?;
    assert_refused!(
        store.append(append.clone()).await,
        StoreError::FencedOff { .. }
    );
    append.fence = lease.fence;
    assert_eq!(store.append(append).await?, 2);
    assert_refused!(
        store.create_held_run(held(1, false)?).await,
        StoreError::AlreadyExists { .. }
    );
    store.create_held_run(held(2, true)?).await?;
    assert_eq!(claim(store, "w", 9, 10).await?, [run(2)]);
    Ok(())
}

/// Nothing of a run is created while another worker's lease on its id is live.
///
/// # Errors
/// Any error of the store.
pub async fn a_run_is_not_created_under_anothers_lease(store: &dyn Store) -> Outcome {
    let (run, events) = new_run("acme", 1, 0)?;
    store
        .acquire(run.run_id.as_str(), "b", at(0)?, at(10)?)
        .await?;
    let new = NewLeasedRun {
        run,
        events,
        approvals: vec![],
        artifacts: vec![],
        mission_state: None,
        holder: "a".to_owned(),
        expires_at: at(10)?,
        release: false,
        messages: vec![message("run.created", 0)?],
    };
    assert_refused!(store.create_held_run(new).await, StoreError::Refused { .. });
    assert_eq!(whole(store, 1).await?, (None, Vec::new(), 0));
    Ok(())
}

/// B002-14: positions start at 1 without gaps; the run record and the messages follow.
///
/// # Errors
/// Any error of the store.
pub async fn appended_events_are_gapless_and_published(store: &dyn Store) -> Outcome {
    let mut record = create(store, 1, 0).await?;
    let append = second_append(
        1,
        NextPhase::Waits(RunWait::default()),
        &[r#"{"n":2}"#, r#"{"n":3}"#],
    )?;
    assert_eq!(store.append(append.clone()).await?, 3);
    record.phase = RunPhase::Waiting;
    record.version = 3;
    record.updated_at = append.events[1].at;
    let (read, journal, messages) = whole(store, 1).await?;
    assert_eq!((read, messages), (Some(record), 1));
    let (_, first) = new_run("acme", 1, 0)?;
    let expected = [read_back(1, &first), read_back(2, &append.events)].concat();
    assert_eq!(journal, expected);
    Ok(())
}

/// An append based on an older version is refused.
///
/// # Errors
/// Any error of the store.
pub async fn append_on_a_stale_version_writes_nothing(store: &dyn Store) -> Outcome {
    create(store, 1, 0).await?;
    let append = second_append(1, NextPhase::Runs, &["{}"])?;
    store.append(append.clone()).await?;
    let before = whole(store, 1).await?;
    assert_refused!(
        store.append(append.clone()).await,
        StoreError::VersionConflict {
            expected: 1,
            found: 2,
            ..
        }
    );
    let ahead = Append {
        expected: 7,
        ..append
    };
    assert_refused!(
        store.append(ahead).await,
        StoreError::VersionConflict {
            expected: 7,
            found: 2,
            ..
        }
    );
    assert_eq!(whole(store, 1).await?, before);
    Ok(())
}

/// A run must be created before it is appended to.
///
/// # Errors
/// Any error of the store.
pub async fn append_to_an_unknown_run_is_refused(store: &dyn Store) -> Outcome {
    let append = second_append(1, NextPhase::Runs, &["{}"])?;
    let refused = store.append(append).await;
    assert_refused!(refused, StoreError::NotFound { .. });
    assert_eq!(whole(store, 1).await?, (None, Vec::new(), 0));
    Ok(())
}

/// A finished run is final, even for a caller that knows the version.
///
/// # Errors
/// Any error of the store.
pub async fn append_to_a_finished_run_is_refused(store: &dyn Store) -> Outcome {
    create(store, 1, 0).await?;
    finish(store, 1).await?;
    let before = whole(store, 1).await?;
    let last = before.1[1].hash;
    let append = Append {
        expected: 2,
        events: events(last, 2, &["{}"])?,
        ..second_append(1, NextPhase::Runs, &[])?
    };
    let refused = store.append(append).await;
    assert_refused!(refused, StoreError::Refused { .. });
    assert_eq!(whole(store, 1).await?, before);
    Ok(())
}

/// A phase changes only with an event.
///
/// # Errors
/// Any error of the store.
pub async fn append_without_events_is_refused(store: &dyn Store) -> Outcome {
    create(store, 1, 0).await?;
    let before = whole(store, 1).await?;
    let empty = second_append(1, NextPhase::Waits(RunWait::default()), &[])?;
    let refused = store.append(empty).await;
    assert_refused!(refused, StoreError::Refused { .. });
    assert_eq!(whole(store, 1).await?, before);
    Ok(())
}

/// The first event must chain to the stored ones, and every other to the previous one.
///
/// # Errors
/// Any error of the store.
pub async fn append_off_the_chain_writes_nothing(store: &dyn Store) -> Outcome {
    create(store, 1, 0).await?;
    let before = whole(store, 1).await?;
    let good = second_append(1, NextPhase::Runs, &[r#"{"n":2}"#, r#"{"n":3}"#])?;
    for broken in 0..2 {
        let mut append = good.clone();
        append.events[broken].hash.0[31] ^= 1;
        let refused = store.append(append).await;
        assert_refused!(refused, StoreError::Corrupt { .. });
    }
    assert_eq!(whole(store, 1).await?, before);
    store.append(good).await?;
    Ok(())
}

/// A worker whose lease was taken over cannot write, even with the right version.
///
/// # Errors
/// Any error of the store.
pub async fn append_after_a_takeover_is_fenced_off(store: &dyn Store) -> Outcome {
    let record = create(store, 1, 0).await?;
    let resource = record.run_id.as_str();
    let held = store.acquire(resource, "a", at(0)?, at(10)?).await?;
    let held = held.map(|lease| lease.fence);
    assert_eq!(held, Some(Fence(1)));
    store.acquire(resource, "b", at(10)?, at(20)?).await?;
    let before = whole(store, 1).await?;
    let good = second_append(1, NextPhase::Runs, &["{}"])?;
    for fence in [Fence(0), Fence(1), Fence(3)] {
        let append = Append {
            fence,
            ..good.clone()
        };
        assert_refused!(
            store.append(append).await,
            StoreError::FencedOff { held, current: 2, .. } if *held == fence.0
        );
    }
    assert_eq!(whole(store, 1).await?, before);
    let fence = Fence(2);
    assert_eq!(store.append(Append { fence, ..good }).await?, 2);
    Ok(())
}

/// Of many callers with the same expected version, one succeeds.
///
/// # Errors
/// Any error of the store.
pub async fn appends_at_the_same_time_have_one_winner(store: &dyn Store) -> Outcome {
    create(store, 1, 0).await?;
    let append = second_append(1, NextPhase::Runs, &["{}"])?;
    let calls = (0..8).map(|_| store.append(append.clone()));
    assert_one_winner(&join_all(calls).await);
    let (_, journal, messages) = whole(store, 1).await?;
    assert_eq!((journal.len(), messages), (2, 1));
    Ok(())
}

/// A failing append in a shared commit does not affect the others.
///
/// # Errors
/// Any error of the store.
pub async fn appends_to_many_runs_all_succeed(store: &dyn Store) -> Outcome {
    let mut calls = Vec::new();
    for n in 0..32 {
        if n % 4 != 3 {
            create(store, n, 0).await?;
        }
        let append = second_append(n, NextPhase::Runs, &["{}"])?;
        calls.push(store.append(append));
    }
    for (n, result) in (0..).zip(join_all(calls).await) {
        if n % 4 == 3 {
            assert_refused!(result, StoreError::NotFound { .. });
        } else {
            assert_eq!(result?, 2, "run {n}");
            assert_eq!(whole(store, n).await?.1.len(), 2, "run {n}");
        }
    }
    assert_eq!(store.messages(0, 100).await?.len(), 24);
    Ok(())
}

/// Events are read after a position, oldest first, up to a limit.
///
/// # Errors
/// Any error of the store.
pub async fn events_are_read_in_portions(store: &dyn Store) -> Outcome {
    create(store, 1, 0).await?;
    let payloads = ["{}", "[]", "1", "2"];
    store
        .append(second_append(1, NextPhase::Runs, &payloads)?)
        .await?;
    let all = store.events(&tenant("acme")?, &run(1), 0, 10).await?;
    assert_eq!(all.len(), 5);
    assert_eq!(
        store.events(&tenant("acme")?, &run(1), 1, 2).await?,
        all[1..3].to_vec()
    );
    assert_eq!(
        store.events(&tenant("acme")?, &run(1), 3, 10).await?,
        all[3..].to_vec()
    );
    assert_eq!(
        store.events(&tenant("acme")?, &run(1), 5, 10).await?,
        Vec::new()
    );
    Ok(())
}

/// Large events have pages of their own, for any page limit; and the size of a journal is read without its events.
///
/// # Errors
/// Any error of the store.
pub async fn large_events_are_read_page_by_page(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    create(store, 1, 0).await?;
    let before = store.journal_bytes(&acme, &run(1)).await?;
    let large = format!("\"{}\"", "é".repeat(PAGE_BYTES));
    let payloads = ["{}", large.as_str(), large.as_str(), "1", "2"];
    store
        .append(second_append(1, NextPhase::Runs, &payloads)?)
        .await?;
    let mut pages = Vec::new();
    let mut read: Vec<JournalEvent> = Vec::new();
    loop {
        let after = read.last().map_or(0, |event| event.sequence);
        let page = store.events(&acme, &run(1), after, 100).await?;
        if page.is_empty() {
            break;
        }
        pages.push(page.len());
        read.extend(page);
    }
    assert_eq!(pages, [2, 1, 3]);
    let payloads: usize = payloads.iter().map(|payload| payload.len()).sum();
    let bytes = store.journal_bytes(&acme, &run(1)).await?;
    assert_eq!(bytes, before + payloads as u64);
    assert_eq!(store.journal_bytes(&acme, &run(2)).await?, 0);
    assert_eq!(store.journal_bytes(&tenant("other")?, &run(1)).await?, 0);
    Ok(())
}

/// B002-14: a changed, removed or moved event is found at its position.
///
/// # Errors
/// Any error of the store.
pub async fn a_stored_chain_verifies_and_shows_tampering(store: &dyn Store) -> Outcome {
    create(store, 1, 0).await?;
    store
        .append(second_append(1, NextPhase::Runs, &["{}", "[]", "1"])?)
        .await?;
    let all = store.events(&tenant("acme")?, &run(1), 0, 10).await?;
    assert_eq!(verify_chain(GENESIS, 1, &all), Ok(all[3].hash));
    let last = verify_chain(all[1].hash, 3, &all[2..]);
    assert_eq!(last, Ok(all[3].hash));
    let mut changed = all.clone();
    "[1]".clone_into(&mut changed[2].payload);
    assert_eq!(verify_chain(GENESIS, 1, &changed), Err(3));
    let mut removed = all.clone();
    removed.remove(1);
    assert_eq!(verify_chain(GENESIS, 1, &removed), Err(2));
    let mut moved = all;
    moved.swap(2, 3);
    assert_eq!(verify_chain(GENESIS, 1, &moved), Err(3));
    Ok(())
}

/// Runs are listed page by page, each once, without those of other tenants.
///
/// # Errors
/// Any error of the store.
pub async fn runs_are_listed_newest_first(store: &dyn Store) -> Outcome {
    let mut expected = Vec::new();
    for (n, seconds) in [(1, 0), (2, 5), (3, 5), (4, 2), (5, 9)] {
        expected.push(create(store, n, seconds).await?);
    }
    let (other, first) = new_run("other", 6, 3)?;
    store.create_run(&other, first, vec![], vec![]).await?;
    expected.sort_by_key(|run| std::cmp::Reverse((run.created_at, run.run_id.clone())));
    let (mut seen, mut after, mut sizes) = (Vec::new(), None, Vec::new());
    loop {
        let page = PageRequest::new(after, 2);
        let page = store
            .runs(&tenant("acme")?, &RunFilter::default(), &page)
            .await?;
        sizes.push(page.entries.len());
        seen.extend(page.entries);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, expected);
    assert_eq!(sizes, vec![2, 2, 1]);
    Ok(())
}

/// A cursor must come from a page.
///
/// # Errors
/// Any error of the store.
pub async fn an_invalid_cursor_is_refused(store: &dyn Store) -> Outcome {
    let page = PageRequest::new(Some("yesterday".to_owned()), 2);
    let filter = RunFilter::default();
    let refused = store.runs(&tenant("acme")?, &filter, &page).await;
    assert_refused!(refused, StoreError::Refused { .. });
    Ok(())
}

/// After a crash, runs are claimable if they are runnable and have no live lease. Oldest first.
///
/// # Errors
/// Any error of the store.
pub async fn claimable_runs_are_runnable_and_free(store: &dyn Store) -> Outcome {
    for (n, seconds) in [(1, 4), (2, 3), (3, 2), (4, 1), (5, 0), (6, 5)] {
        create(store, n, seconds).await?;
    }
    let waiting = second_append(1, NextPhase::Waits(RunWait::default()), &["{}"])?;
    store.append(waiting).await?;
    finish(store, 2).await?;
    let live = store.acquire(run(3).as_str(), "a", at(0)?, at(11)?).await?;
    assert!(live.is_some());
    let expired = store.acquire(run(4).as_str(), "a", at(0)?, at(10)?).await?;
    assert!(expired.is_some());
    let released = store.acquire(run(6).as_str(), "a", at(0)?, at(99)?).await?;
    store.release(&released.ok_or("not acquired")?).await?;
    assert_eq!(claim(store, "b", 10, 1).await?, [run(5)]);
    let claims = Claim {
        holder: "b".to_owned(),
        now: at(10)?,
        until: at(20)?,
        limit: 10,
        except: Vec::new(),
    };
    let lease = |n, fence| -> Made<Lease> {
        Ok(Lease {
            resource: run(n).to_string(),
            holder: "b".to_owned(),
            fence: Fence(fence),
            expires_at: at(20)?,
        })
    };
    let rest = store.claim_runs(&claims).await?;
    let rest: Vec<Lease> = rest.into_iter().map(|claimed| claimed.lease).collect();
    assert_eq!(rest, [lease(4, 2)?, lease(6, 2)?]);
    assert_eq!(claim(store, "b", 10, 10).await?, []);
    // The claiming worker holds the lease, extends it under the same fencing token, and excludes others.
    let own = store
        .acquire(run(4).as_str(), "b", at(11)?, at(50)?)
        .await?;
    assert_eq!(own.map(|lease| lease.fence), Some(Fence(2)));
    let other = store
        .acquire(run(5).as_str(), "c", at(11)?, at(50)?)
        .await?;
    assert_eq!(other, None);
    assert_eq!(claim(store, "c", 20, 10).await?, [run(5), run(3), run(6)]);
    Ok(())
}

/// A claim leaves excepted runs to other workers.
///
/// # Errors
/// Any error of the store.
pub async fn a_claim_skips_excluded_runs(store: &dyn Store) -> Outcome {
    for n in 1..=3 {
        create(store, n, i64::try_from(n)?).await?;
    }
    let mut older = Claim {
        holder: "older".to_owned(),
        now: at(10)?,
        until: at(20)?,
        limit: 10,
        except: vec![run(1), run(3)],
    };
    assert_eq!(claimed(store, &older).await?, [run(2)]);
    older.except = vec![run(9)];
    assert_eq!(claimed(store, &older).await?, [run(1), run(3)]);
    Ok(())
}

/// A tenant with many runs does not delay another's.
///
/// # Errors
/// Any error of the store.
pub async fn claims_take_turns_among_tenants(store: &dyn Store) -> Outcome {
    for n in 1..=4 {
        create(store, n, i64::try_from(n)?).await?;
    }
    for n in 5..=6 {
        create_for(store, "other", n, 9).await?;
    }
    assert_eq!(claim(store, "a", 10, 3).await?, [run(1), run(5), run(2)]);
    assert_eq!(claim(store, "b", 10, 9).await?, [run(3), run(6), run(4)]);
    Ok(())
}

/// A tenant's running and waiting runs are counted, without finished runs and other tenants' runs, up to a limit.
///
/// # Errors
/// Any error of the store.
pub async fn unfinished_runs_are_counted_by_tenant(store: &dyn Store) -> Outcome {
    for n in 1..=4 {
        create(store, n, 0).await?;
    }
    create_for(store, "umbra", 5, 0).await?;
    finish(store, 1).await?;
    let waits = NextPhase::Waits(RunWait {
        until: None,
        approvals: vec![],
    });
    store.append(second_append(2, waits, &["{}"])?).await?;
    for (of, most, counted) in [
        ("acme", 9, 3),
        ("acme", 2, 2),
        ("umbra", 9, 1),
        ("else", 9, 0),
    ] {
        let found = store.count_unfinished_runs(&tenant(of)?, most).await?;
        assert_eq!(found, counted, "{of} up to {most}");
    }
    Ok(())
}

/// Retention: runs that finished before a time are deleted completely, oldest first, up to a limit.
///
/// # Errors
/// Any error of the store.
pub async fn sweep_deletes_only_finished_runs(store: &dyn Store) -> Outcome {
    for n in 1..=4 {
        create(store, n, 0).await?;
    }
    let held = store.acquire(run(1).as_str(), "a", at(0)?, at(99)?).await?;
    let fence = held.ok_or("not acquired")?.fence;
    finish(store, 2).await?;
    let finished = second_append(1, NextPhase::Ends, &["{}"])?;
    store.append(Append { fence, ..finished }).await?;
    let later = second_append(3, NextPhase::Ends, &["{}", "{}"])?;
    store.append(later).await?;
    assert_eq!(store.sweep_runs(at(2)?, 10).await?, 0);
    assert_eq!(store.sweep_runs(at(3)?, 1).await?, 1);
    // At equal times, the run with the lowest id is first.
    assert_eq!(
        (whole(store, 1).await?.0, whole(store, 2).await?.1.len()),
        (None, 2)
    );
    assert_eq!(store.sweep_runs(at(3)?, 10).await?, 1);
    for n in 1..=2 {
        let (record, journal, _) = whole(store, n).await?;
        assert_eq!((record, journal), (None, Vec::new()), "run {n}");
    }
    for (n, events) in [(3, 3), (4, 1)] {
        assert_eq!(whole(store, n).await?.1.len(), events, "run {n}");
    }
    let again = store.acquire(run(1).as_str(), "b", at(1)?, at(2)?).await?;
    assert_eq!(again.map(|lease| lease.fence), Some(Fence(1)));
    Ok(())
}
