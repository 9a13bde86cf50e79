//! Cases of approvals and of waiting runs.

use charter_contract::ids::{ApprovalId, UserId};
use charter_contract::run_status::RunStatus;
use charter_store::approval::{
    ApprovalChange, ApprovalFilter, ApprovalRecord, ApprovalState, ApprovalTransition,
    ListedApproval,
};
use charter_store::journal::{Append, NextPhase, RunPhase, RunWait};
use charter_store::lease::Fence;
use charter_store::page::PageRequest;
use charter_store::{Store, StoreError};
use uuid::Uuid;

use super::Outcome;
use super::sample::{self, Made};
use crate::assert_refused;

pub(super) fn id(n: u128) -> ApprovalId {
    ApprovalId::from_uuid(Uuid::from_u128(n))
}

fn pending(n: u128, run: u128) -> Made<ApprovalRecord> {
    Ok(ApprovalRecord {
        approval_id: id(n),
        tenant_id: sample::tenant("acme")?,
        run_id: sample::run(run),
        state: ApprovalState::Pending,
        requested_at: sample::at(i64::try_from(n)?)?,
        expires_at: sample::at(3_600)?,
        body: format!("{{\"n\":{n}}}"),
    })
}

pub(super) fn step(n: u128, from: ApprovalState, to: ApprovalState) -> ApprovalTransition {
    ApprovalTransition {
        approval_id: id(n),
        from,
        to,
        expected_body: None,
        body: format!("{{\"state\":\"{}\"}}", to.as_str()),
    }
}

fn waiting(run: u128, approvals: Vec<ApprovalChange>) -> Made<Append> {
    Ok(Append {
        approvals,
        status: RunStatus::AwaitingApproval,
        ..sample::second_append(
            run,
            NextPhase::Waits(RunWait::default()),
            &[r#"{"asked":true}"#],
        )?
    })
}

/// Creates a run that waits for approval `n`.
pub(super) async fn create_waiting_run(store: &dyn Store, run: u128, n: u128) -> Outcome {
    let (record, first) = sample::new_run("acme", run, 0)?;
    store.create_run(&record, first, vec![], vec![]).await?;
    let ask = ApprovalChange::Ask(pending(n, run)?);
    store.append(waiting(run, vec![ask])?).await?;
    Ok(())
}

async fn state(store: &dyn Store, n: u128) -> Made<ApprovalState> {
    let found = store.approval(&sample::tenant("acme")?, &id(n)).await?;
    Ok(found.ok_or("no approval")?.record.state)
}

/// An approval is stored together with the event that requests it.
pub async fn ruling_28_an_approval_is_made_with_its_event(store: &dyn Store) -> Outcome {
    create_waiting_run(store, 1, 1).await?;
    let acme = sample::tenant("acme")?;
    let asked = ListedApproval {
        record: pending(1, 1)?,
        run_title: sample::new_run("acme", 1, 0)?.0.title,
        user_id: Some(sample::user()?),
    };
    assert_eq!(store.approval(&acme, &id(1)).await?, Some(asked));
    assert_eq!(
        store.approval(&sample::tenant("umbra")?, &id(1)).await?,
        None
    );
    let (record, first) = sample::new_run("acme", 2, 0)?;
    store.create_run(&record, first, vec![], vec![]).await?;
    let stale = Append {
        expected: 7,
        ..waiting(2, vec![ApprovalChange::Ask(pending(2, 2)?)])?
    };
    assert_refused!(
        store.append(stale).await,
        StoreError::VersionConflict { .. }
    );
    assert_eq!(store.approval(&acme, &id(2)).await?, None);
    Ok(())
}

/// Of concurrent decisions exactly one is recorded; it wakes the run.
pub async fn ruling_28_one_decision_is_recorded(store: &dyn Store) -> Outcome {
    create_waiting_run(store, 1, 1).await?;
    let acme = sample::tenant("acme")?;
    assert_eq!(super::journal::claim(store, "w", 10, 9).await?, []);
    let say = |to| {
        let step = step(1, ApprovalState::Pending, to);
        store.decide_approval(&acme, step, vec![], vec![])
    };
    let both = (say(ApprovalState::Approved), say(ApprovalState::Rejected));
    let (yes, no) = futures_util::future::join(both.0, both.1).await;
    assert_eq!([&yes, &no].iter().filter(|said| said.is_ok()).count(), 1);
    let lost = if yes.is_ok() { no } else { yes };
    assert_refused!(lost, StoreError::Refused { .. });
    let woken = super::journal::claim(store, "w", 10, 9).await?;
    assert_eq!(woken.len(), 1);
    let other = sample::tenant("umbra")?;
    let foreign = step(1, ApprovalState::Pending, ApprovalState::Approved);
    let refused = store.decide_approval(&other, foreign, vec![], vec![]).await;
    assert_refused!(refused, StoreError::NotFound { .. });
    Ok(())
}

/// A pending approval may change its body; its run waits on, and a decision that came first stays.
pub async fn ruling_28_an_escalation_leaves_the_approval_pending(store: &dyn Store) -> Outcome {
    create_waiting_run(store, 1, 1).await?;
    let acme = sample::tenant("acme")?;
    let escalate = || step(1, ApprovalState::Pending, ApprovalState::Pending);
    store
        .decide_approval(&acme, escalate(), vec![], vec![])
        .await?;
    assert_eq!(state(store, 1).await?, ApprovalState::Pending);
    let found = store.approval(&acme, &id(1)).await?.ok_or("no approval")?;
    assert_eq!(found.record.body, escalate().body);
    assert_eq!(super::journal::claim(store, "w", 10, 9).await?, []);
    let agree = step(1, ApprovalState::Pending, ApprovalState::Approved);
    store.decide_approval(&acme, agree, vec![], vec![]).await?;
    let late = store.decide_approval(&acme, escalate(), vec![], vec![]);
    assert_refused!(late.await, StoreError::Refused { .. });
    Ok(())
}

/// Of two escalations that were made from one body, the second is refused, so that it does not undo the first.
pub async fn ruling_28_an_escalation_replaces_only_the_body_that_was_read(
    store: &dyn Store,
) -> Outcome {
    create_waiting_run(store, 1, 1).await?;
    let acme = sample::tenant("acme")?;
    let from_first = |body: &str| {
        let step = step(1, ApprovalState::Pending, ApprovalState::Pending);
        Made::Ok(ApprovalTransition {
            expected_body: Some(pending(1, 1)?.body),
            body: body.to_owned(),
            ..step
        })
    };
    let first = from_first("{\"turn\":2}")?;
    store.decide_approval(&acme, first, vec![], vec![]).await?;
    let second = from_first("{\"turn\":3}")?;
    let refused = store.decide_approval(&acme, second, vec![], vec![]);
    assert_refused!(refused.await, StoreError::Refused { .. });
    let found = store.approval(&acme, &id(1)).await?.ok_or("no approval")?;
    assert_eq!(found.record.body, "{\"turn\":2}");
    Ok(())
}

/// A decision is recorded with its evidence, or neither is.
pub async fn b000_19_a_decision_is_recorded_with_its_evidence(store: &dyn Store) -> Outcome {
    create_waiting_run(store, 1, 1).await?;
    let acme = sample::tenant("acme")?;
    let record = |n| sample::evidence("acme", n, sample::at(5)?);
    let agree = || step(1, ApprovalState::Pending, ApprovalState::Approved);
    store
        .decide_approval(&acme, agree(), vec![record(1)?], vec![])
        .await?;
    let first = record(1)?;
    assert_eq!(store.evidence(&acme, &first.id).await?, Some(first));
    let second = record(2)?;
    let refused = store.decide_approval(&acme, agree(), vec![second.clone()], vec![]);
    assert_refused!(refused.await, StoreError::Refused { .. });
    assert_eq!(store.evidence(&acme, &second.id).await?, None);
    assert_eq!(store.log_size(&acme).await?, 1);
    Ok(())
}

/// An approval is used in the append that resumes its run, once, and by no other run.
pub async fn ruling_28_an_approval_is_used_once(store: &dyn Store) -> Outcome {
    create_waiting_run(store, 1, 1).await?;
    create_waiting_run(store, 2, 2).await?;
    let acme = sample::tenant("acme")?;
    let use_it = || step(1, ApprovalState::Approved, ApprovalState::Consumed);
    let resume = |run: u128, expected: u64| -> Made<Append> {
        let base = waiting(run, vec![ApprovalChange::Move(use_it())])?;
        let last = base.events[0].hash;
        Ok(Append {
            expected,
            events: sample::events(last, expected, &[r#"{"resumed":true}"#])?,
            then: NextPhase::Runs,
            ..base
        })
    };
    assert_refused!(
        store.append(resume(1, 2)?).await,
        StoreError::Refused { .. }
    );
    let agree = step(1, ApprovalState::Pending, ApprovalState::Approved);
    store.decide_approval(&acme, agree, vec![], vec![]).await?;
    assert_refused!(
        store.append(resume(2, 2)?).await,
        StoreError::Refused { .. }
    );
    assert_eq!(state(store, 1).await?, ApprovalState::Approved);
    store.append(resume(1, 2)?).await?;
    assert_eq!(state(store, 1).await?, ApprovalState::Consumed);
    let back = step(1, ApprovalState::Consumed, ApprovalState::Pending);
    assert!(
        store
            .decide_approval(&acme, back, vec![], vec![])
            .await
            .is_err()
    );
    Ok(())
}

/// Approvals are listed newest first, by state and run, each once, with the title of the run.
pub async fn approvals_are_listed_newest_first(store: &dyn Store) -> Outcome {
    for n in 1..=3 {
        create_waiting_run(store, n, n).await?;
    }
    let acme = sample::tenant("acme")?;
    let agree = step(2, ApprovalState::Pending, ApprovalState::Approved);
    store.decide_approval(&acme, agree, vec![], vec![]).await?;
    let mut seen = Vec::new();
    let mut page = PageRequest::new(None, 2);
    loop {
        let found = store
            .approvals(&acme, ApprovalFilter::default(), &page)
            .await?;
        for approval in found.entries {
            assert_eq!(approval.run_title, "skill security.detect_public_ingress");
            seen.push(approval.record.approval_id);
        }
        match found.next {
            Some(next) => page = PageRequest::new(Some(next), 2),
            None => break,
        }
    }
    assert_eq!(seen, [id(3), id(2), id(1)]);
    let run = sample::run(3);
    for (filter, expected) in [
        (
            ApprovalFilter {
                state: Some(ApprovalState::Approved),
                ..ApprovalFilter::default()
            },
            id(2),
        ),
        (
            ApprovalFilter {
                run_id: Some(&run),
                ..ApprovalFilter::default()
            },
            id(3),
        ),
    ] {
        let found = store
            .approvals(&acme, filter, &PageRequest::new(None, 9))
            .await?;
        let ids = found.entries.into_iter().map(|a| a.record.approval_id);
        let ids: Vec<ApprovalId> = ids.collect();
        assert_eq!(ids, [expected]);
    }
    Ok(())
}

/// An approval has the user of its run, and can be listed by user.
pub async fn an_approval_belongs_to_the_user_of_its_run(store: &dyn Store) -> Outcome {
    let acme = sample::tenant("acme")?;
    let (ann, eve) = (UserId::parse("ann")?, UserId::parse("eve")?);
    for (n, user_id) in [(1, Some(&ann)), (2, None), (3, Some(&ann))] {
        let (mut record, first) = sample::new_run("acme", n, 0)?;
        record.user_id = user_id.cloned();
        store.create_run(&record, first, vec![], vec![]).await?;
        let ask = ApprovalChange::Ask(pending(n, n)?);
        store.append(waiting(n, vec![ask])?).await?;
    }
    let agree = step(3, ApprovalState::Pending, ApprovalState::Approved);
    store.decide_approval(&acme, agree, vec![], vec![]).await?;
    for (n, user_id) in [(1, Some(&ann)), (2, None), (3, Some(&ann))] {
        let found = store.approval(&acme, &id(n)).await?.ok_or("no approval")?;
        assert_eq!(found.user_id.as_ref(), user_id);
    }
    for (user_id, state, expected) in [
        (&ann, None, vec![id(3), id(1)]),
        (&ann, Some(ApprovalState::Pending), vec![id(1)]),
        (&eve, None, vec![]),
    ] {
        let filter = ApprovalFilter {
            state,
            user_id: Some(user_id),
            ..ApprovalFilter::default()
        };
        let page = PageRequest::new(None, 9);
        let found = store.approvals(&acme, filter, &page).await?.entries;
        let ids: Vec<_> = found.into_iter().map(|a| a.record.approval_id).collect();
        assert_eq!(ids, expected, "{filter:?}");
    }
    Ok(())
}

/// A waiting run is claimable from its wake-up time, and not before; parking it releases its lease, gives it a status,
/// and writes the messages about that.
pub async fn a_parked_run_is_resumed_at_its_time(store: &dyn Store) -> Outcome {
    let (record, first) = sample::new_run("acme", 1, 0)?;
    store.create_run(&record, first, vec![], vec![]).await?;
    let (now, until) = (sample::at(1)?, sample::at(100)?);
    let run = sample::run(1);
    let lease = store.acquire(run.as_ref(), "one", now, until).await?;
    let fence = lease.ok_or("not free")?.fence;
    let acme = record.tenant_id;
    let (waits, wait) = (RunStatus::AwaitingApproval, RunWait::default());
    let messages = vec![sample::message("run.status", 1)?];
    let (other, told) = (Fence(fence.0 + 1), messages.clone());
    let wrong = store.park(&acme, &run, other, waits, wait.clone(), told);
    assert_refused!(wrong.await, StoreError::FencedOff { .. });
    let (others, told) = (sample::tenant("other")?, messages.clone());
    let others = store.park(&others, &run, fence, waits, wait, told);
    assert_refused!(others.await, StoreError::NotFound { .. });
    assert_eq!(store.messages(0, 9).await?, []);
    let wait = RunWait {
        until: Some(sample::at(50)?),
        approvals: vec![],
    };
    let parked = store.park(&acme, &run, fence, waits, wait, messages);
    parked.await?;
    assert_eq!(store.messages(0, 9).await?.len(), 1);
    let parked = store.run(&acme, &run).await?.ok_or("no run")?;
    assert_eq!((parked.status, parked.version), (waits, 1));
    assert_eq!(super::journal::claim(store, "w", 49, 9).await?, []);
    assert_eq!(super::journal::claim(store, "w", 50, 9).await?.len(), 1);
    assert!(
        store
            .acquire(run.as_ref(), "w", now, until)
            .await?
            .is_some()
    );
    Ok(())
}

/// An append that releases the lease frees the run immediately.
pub async fn an_append_may_release_the_lease(store: &dyn Store) -> Outcome {
    let (record, first) = sample::new_run("acme", 1, 0)?;
    store.create_run(&record, first, vec![], vec![]).await?;
    let (now, until) = (sample::at(1)?, sample::at(100)?);
    let run = sample::run(1);
    let lease = store.acquire(run.as_ref(), "one", now, until).await?;
    let append = Append {
        fence: lease.ok_or("not free")?.fence,
        release: true,
        ..sample::second_append(1, NextPhase::Runs, &["{}"])?
    };
    store.append(append).await?;
    assert!(
        store
            .acquire(run.as_ref(), "two", now, until)
            .await?
            .is_some()
    );
    Ok(())
}

/// A decision that arrives while the wait begins is not lost: the run does not wait.
pub async fn ruling_28_a_decision_that_crosses_with_the_wait_is_not_lost(
    store: &dyn Store,
) -> Outcome {
    let acme = sample::tenant("acme")?;
    let awaiting = |n: u128| -> Made<RunWait> {
        Ok(RunWait {
            until: Some(sample::at(3_600)?),
            approvals: vec![id(n)],
        })
    };
    for (n, parks) in [(1, true), (2, false)] {
        let run = sample::run(n);
        let (record, first) = sample::new_run("acme", n, 0)?;
        store.create_run(&record, first, vec![], vec![]).await?;
        let ask = ApprovalChange::Ask(pending(n, n)?);
        let asking = Append {
            then: NextPhase::Runs,
            ..waiting(n, vec![ask])?
        };
        let last = asking.events[0].hash;
        store.append(asking).await?;
        let agree = step(n, ApprovalState::Pending, ApprovalState::Approved);
        store.decide_approval(&acme, agree, vec![], vec![]).await?;
        if parks {
            let (status, wait) = (record.status, awaiting(n)?);
            let parked = store.park(&acme, &run, Fence(0), status, wait, vec![]);
            parked.await?;
        } else {
            let later = Append {
                expected: 2,
                events: sample::events(last, 2, &[r#"{"other":true}"#])?,
                then: NextPhase::Waits(awaiting(n)?),
                ..waiting(n, vec![])?
            };
            store.append(later).await?;
        }
        let found = store.run(&acme, &run).await?.ok_or("no run")?;
        assert_eq!(found.phase, RunPhase::Runnable);
        assert_eq!(found.wake_at, None);
    }
    Ok(())
}
