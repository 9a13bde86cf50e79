//! Cases of the registration of calls: which of several runs with the same call requests approval first.

use charter_contract::ids::RunId;
use charter_store::approval::{ApprovalState, CallRegistration, PendingCalls};
use charter_store::journal::{NextPhase, RunWait};
use charter_store::{Store, StoreError};

use super::Outcome;
use super::approval::{create_waiting_run, id, step};
use super::sample::{self, Made};
use crate::assert_refused;

/// A registration of calls by run `n`, for the approval with the same number.
fn registration(n: u128, calls: &[&str]) -> CallRegistration {
    CallRegistration {
        run_id: sample::run(n),
        approval_id: id(n),
        calls: calls.iter().map(|call| (*call).to_owned()).collect(),
        may_wait: true,
    }
}

async fn create_run(store: &dyn Store, n: u128) -> Outcome {
    let (record, first) = sample::new_run("acme", n, i64::try_from(n)?)?;
    store.create_run(&record, first, vec![], vec![]).await?;
    Ok(())
}

/// Registers calls of run `n`, and returns the run to wait for.
async fn register(store: &dyn Store, n: u128, calls: &[&str]) -> Made<Option<RunId>> {
    let acme = sample::tenant("acme")?;
    let pending = store.register_calls(&acme, registration(n, calls)).await?;
    Ok(pending.map(|pending| pending.run_id))
}

/// Ends run `n` after the event that created it.
async fn end_run(store: &dyn Store, n: u128) -> Outcome {
    let end = sample::second_append(n, NextPhase::Ends, &[r#"{"completed":true}"#])?;
    store.append(end).await?;
    Ok(())
}

/// The second run waits until the first has ended; its registration keeps its place.
pub async fn a_later_run_waits_for_the_first_one(store: &dyn Store) -> Outcome {
    let acme = sample::tenant("acme")?;
    for n in 1..=2 {
        create_run(store, n).await?;
    }
    assert_eq!(register(store, 1, &["a", "b"]).await?, None);
    assert_eq!(register(store, 1, &["a", "b"]).await?, None);
    let second = registration(2, &["b", "c"]);
    let pending = store.register_calls(&acme, second).await?;
    let expected = PendingCalls {
        run_id: sample::run(1),
        calls: vec!["b".to_owned()],
    };
    assert_eq!(pending, Some(expected));
    let (first, second) = (sample::run(1), sample::run(2));
    assert!(store.is_call_pending(&acme, &second, &first).await?);
    assert!(!store.is_call_pending(&acme, &first, &second).await?);
    end_run(store, 1).await?;
    assert!(!store.is_call_pending(&acme, &second, &first).await?);
    assert_eq!(register(store, 2, &["b", "c"]).await?, None);
    let unknown = store.register_calls(&acme, registration(9, &["a"]));
    assert_refused!(unknown.await, StoreError::NotFound { .. });
    Ok(())
}

/// Concurrent registrations follow one another.
pub async fn of_two_registrations_at_once_one_waits(store: &dyn Store) -> Outcome {
    let acme = sample::tenant("acme")?;
    for n in 1..=2 {
        create_run(store, n).await?;
    }
    let register = |n| store.register_calls(&acme, registration(n, &["a"]));
    let (one, other) = futures_util::future::join(register(1), register(2)).await;
    assert_ne!(one?.is_some(), other?.is_some());
    Ok(())
}

/// After a rejection, another run is not kept from its request, although the first run is unfinished.
pub async fn a_refused_approval_is_not_waited_for(store: &dyn Store) -> Outcome {
    let acme = sample::tenant("acme")?;
    create_waiting_run(store, 1, 1).await?;
    create_run(store, 2).await?;
    assert_eq!(register(store, 1, &["a"]).await?, None);
    assert_eq!(register(store, 2, &["a"]).await?, Some(sample::run(1)));
    let reject = step(1, ApprovalState::Pending, ApprovalState::Rejected);
    store.decide_approval(&acme, reject, vec![], vec![]).await?;
    let (first, second) = (sample::run(1), sample::run(2));
    assert!(!store.is_call_pending(&acme, &second, &first).await?);
    assert_eq!(register(store, 2, &["a"]).await?, None);
    // If the first run requests the call again, it waits in turn.
    let again = CallRegistration {
        approval_id: id(7),
        ..registration(1, &["a"])
    };
    let pending = store.register_calls(&acme, again).await?;
    assert_eq!(pending.map(|pending| pending.run_id), Some(second));
    Ok(())
}

/// A run whose approval was refused waits for the run that still has to notice that, so that one of them requests
/// approval of the call.
pub async fn a_refused_run_waits_for_a_run_that_waited_for_it(store: &dyn Store) -> Outcome {
    let acme = sample::tenant("acme")?;
    create_waiting_run(store, 1, 1).await?;
    create_run(store, 2).await?;
    assert_eq!(register(store, 1, &["a"]).await?, None);
    assert_eq!(register(store, 2, &["a"]).await?, Some(sample::run(1)));
    let reject = step(1, ApprovalState::Pending, ApprovalState::Rejected);
    store.decide_approval(&acme, reject, vec![], vec![]).await?;
    let again = CallRegistration {
        approval_id: id(7),
        ..registration(1, &["a"])
    };
    let pending = store.register_calls(&acme, again).await?;
    let awaited = pending.map(|pending| pending.run_id);
    assert_eq!(awaited, Some(sample::run(2)));
    let (first, second) = (sample::run(1), sample::run(2));
    assert!(!store.is_call_pending(&acme, &second, &first).await?);
    assert!(store.is_call_pending(&acme, &first, &second).await?);
    assert_eq!(register(store, 2, &["a"]).await?, None);
    Ok(())
}

/// Calls of another tenant, and of the run itself, are no reason to wait.
pub async fn a_run_waits_for_no_other_tenant_and_not_for_itself(store: &dyn Store) -> Outcome {
    let umbra = sample::tenant("umbra")?;
    create_run(store, 1).await?;
    let (record, first) = sample::new_run("umbra", 2, 0)?;
    store.create_run(&record, first, vec![], vec![]).await?;
    assert_eq!(register(store, 1, &["a"]).await?, None);
    let foreign = store.register_calls(&umbra, registration(2, &["a"]));
    assert_eq!(foreign.await?, None);
    let again = CallRegistration {
        approval_id: id(7),
        ..registration(1, &["a"])
    };
    let acme = sample::tenant("acme")?;
    assert_eq!(store.register_calls(&acme, again).await?, None);
    let foreign = store.register_calls(&umbra, registration(1, &["a"]));
    assert_refused!(foreign.await, StoreError::NotFound { .. });
    Ok(())
}

/// Of two runs that hold an approval and request the other's call, the older one does not wait.
pub async fn no_runs_wait_in_a_circle(store: &dyn Store) -> Outcome {
    for n in 1..=2 {
        create_waiting_run(store, n, n).await?;
    }
    assert_eq!(register(store, 1, &["a"]).await?, None);
    assert_eq!(register(store, 2, &["b"]).await?, None);
    assert_eq!(register(store, 1, &["b"]).await?, None);
    assert_eq!(register(store, 2, &["a"]).await?, Some(sample::run(1)));
    // A run without an approval waits for any other one, unless that one waits for it.
    create_run(store, 3).await?;
    create_run(store, 4).await?;
    assert_eq!(register(store, 4, &["c"]).await?, None);
    assert_eq!(register(store, 3, &["d", "c"]).await?, Some(sample::run(4)));
    assert_eq!(register(store, 4, &["c", "d"]).await?, None);
    Ok(())
}

/// A call that a run requested although another run did so first is no reason to wait with its next call.
pub async fn a_requested_call_is_no_reason_to_wait_later(store: &dyn Store) -> Outcome {
    let acme = sample::tenant("acme")?;
    for n in 1..=2 {
        create_waiting_run(store, n, n).await?;
    }
    assert_eq!(register(store, 1, &["a"]).await?, None);
    let at_once = CallRegistration {
        may_wait: false,
        ..registration(2, &["a"])
    };
    assert_eq!(store.register_calls(&acme, at_once).await?, None);
    let next = CallRegistration {
        approval_id: id(7),
        ..registration(2, &["b"])
    };
    assert_eq!(store.register_calls(&acme, next).await?, None);
    Ok(())
}

/// The first run that registered a call is waited for, then the second.
pub async fn runs_wait_in_the_order_of_their_registration(store: &dyn Store) -> Outcome {
    for n in 1..=3 {
        create_run(store, n).await?;
    }
    assert_eq!(register(store, 3, &["a"]).await?, None);
    assert_eq!(register(store, 1, &["a"]).await?, Some(sample::run(3)));
    assert_eq!(register(store, 2, &["a"]).await?, Some(sample::run(3)));
    end_run(store, 3).await?;
    assert_eq!(register(store, 2, &["a"]).await?, Some(sample::run(1)));
    assert_eq!(register(store, 1, &["a"]).await?, None);
    // A call that is no longer requested is removed.
    assert_eq!(register(store, 1, &["b"]).await?, None);
    assert_eq!(register(store, 2, &["a"]).await?, None);
    Ok(())
}

/// A parked run that waits for a run is claimable as soon as that run has ended and releases its calls.
pub async fn the_end_of_a_run_wakes_those_that_wait_for_it(store: &dyn Store) -> Outcome {
    let acme = sample::tenant("acme")?;
    for n in 1..=2 {
        create_run(store, n).await?;
    }
    let (first, second) = (sample::run(1), sample::run(2));
    assert_eq!(register(store, 1, &["a"]).await?, None);
    assert_eq!(register(store, 2, &["a"]).await?, Some(first.clone()));
    let waits = NextPhase::Waits(RunWait::default());
    let parked = sample::second_append(2, waits, &[r#"{"waiting":true}"#])?;
    store.append(parked).await?;
    assert_eq!(store.release_calls(&acme, &first).await?, []);
    end_run(store, 1).await?;
    assert_eq!(super::journal::claim(store, "w", 10, 9).await?, []);
    assert_eq!(store.release_calls(&acme, &first).await?, [second]);
    assert_eq!(super::journal::claim(store, "w", 10, 9).await?.len(), 1);
    assert_eq!(store.release_calls(&acme, &first).await?, []);
    Ok(())
}
