//! Requests, runs, approvals and keys.

use std::sync::Arc;

use charter_contract::ids::{ApprovalId, KeyId, RequestId, TagRequestId};
use charter_contract::run_status::RunStatus;
use charter_store::StoreError;
use charter_store::approval::{ApprovalFilter, ApprovalState, ApprovalTransition, Approvals};
use charter_store::journal::{
    Append, EventHash, Journal, NextPhase, RunFilter, RunStatusFilter, RunWait,
};
use charter_store::key::{KeyHash, Keys};
use charter_store::lease::Leases;
use charter_store::page::PageRequest;
use charter_store::request::{RequestLease, Requests};
use charter_store::session::{Sessions, Turn};
use charter_store::tag::Tags;
use charter_store::tool_content::ToolContents;
use charter_testkit::store_suite::{Outcome, sample, tool_content};
use uuid::Uuid;

use super::watched::RowOwner::{Everyones, Tenants, TenantsAndSorted};
use super::watched::Watched;
use super::{N, PAGE, acme, page, user};

pub(super) async fn look_at_requests(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let (acme, one) = (acme(), sample::request(N));
    let hold = RequestLease {
        holder: "another".to_owned(),
        until: sample::at(90_000)?,
    };
    let open = sample::request(watched.open);
    watched
        .look("request", Tenants, store.request(&acme, &one))
        .await;
    let asker = user("u3");
    watched
        .look(
            "requests_of",
            Tenants,
            store.requests_of(&acme, Some(&asker), &page()),
        )
        .await;
    watched
        .look(
            "requests_of, of all users",
            Tenants,
            store.requests_of(&acme, None, &page()),
        )
        .await;
    let now = sample::at(80_000)?;
    watched
        .look(
            "hold_request",
            Tenants,
            store.hold_request(&acme, &open, now, &hold),
        )
        .await;
    let verdict = store.record_verdict(&acme, &open, "{}", now);
    watched.look("record_verdict", Tenants, verdict).await;
    let run = sample::run(7);
    let closed = store.close_request(&acme, &open, "{}", Some(&run), now);
    watched.look("close_request", Tenants, closed).await;
    let found = store.request_of_run(&acme, &run);
    watched.look("request_of_run", Tenants, found).await;
    let result = store.record_result(&acme, &open, "{}", Vec::new(), now);
    watched.look("record_result", Tenants, result).await;
    look_at_sessions(watched, open).await
}

async fn look_at_sessions(watched: &mut Watched, open: RequestId) -> Outcome {
    let store = Arc::clone(&watched.store);
    let (acme, session) = (acme(), sample::session(N));
    let tagged = TagRequestId::parse(&format!("req_{N}"))?;
    watched
        .look(
            "session",
            Tenants,
            store.session(&acme, &session, sample::at(0)?),
        )
        .await;
    watched
        .look("turns", Tenants, store.turns(&acme, &session, 20))
        .await;
    let turn = Turn {
        request_id: open,
        input: "?".to_owned(),
        output: None,
        at: sample::at(1)?,
    };
    let appended = store.append_turn(&acme, &session, &turn, sample::at(9)?, 20);
    watched.look("append_turn", Tenants, appended).await;
    watched
        .look("tags", Tenants, store.tags(&acme, &tagged, sample::at(0)?))
        .await;
    let digest = tool_content::content('a', "x")?.digest;
    watched
        .look("tool_content", Tenants, store.tool_content(&acme, &digest))
        .await;
    Ok(())
}

async fn look_at_lists_of_runs(watched: &mut Watched) -> Outcome {
    let (store, acme) = (Arc::clone(&watched.store), acme());
    let all = RunFilter::default();
    let first = store.runs(&acme, &all, &page()).await?;
    let (working, completed) = (RunStatus::Working, RunStatus::Completed);
    for (name, whose, standing) in [
        ("runs", Tenants, None),
        (
            "runs that have not ended",
            Tenants,
            Some(RunStatusFilter::Open),
        ),
        // Of the unfinished runs, which are few.
        (
            "runs that stand somewhere",
            TenantsAndSorted,
            Some(RunStatusFilter::At(working)),
        ),
        (
            "runs that have ended",
            Tenants,
            Some(RunStatusFilter::Ended),
        ),
        (
            "runs that ended so",
            Tenants,
            Some(RunStatusFilter::At(completed)),
        ),
    ] {
        let filter = RunFilter {
            standing,
            ..all.clone()
        };
        watched
            .look(name, whose, store.runs(&acme, &filter, &page()))
            .await;
    }
    let of_a_time = RunFilter {
        created_from: Some(sample::at(0)?),
        created_until: Some(sample::at(1)?),
        title: Some("ingress".to_owned()),
        ..all.clone()
    };
    watched
        .look(
            "runs of a time with a text in their title",
            Tenants,
            store.runs(&acme, &of_a_time, &page()),
        )
        .await;
    let of_a_user = RunFilter {
        user_id: Some(user("u7")),
        ..all.clone()
    };
    watched
        .look(
            "runs of a user",
            Tenants,
            store.runs(&acme, &of_a_user, &page()),
        )
        .await;
    let second = PageRequest::new(first.next, PAGE);
    watched
        .look(
            "runs, second page",
            Tenants,
            store.runs(&acme, &all, &second),
        )
        .await;
    Ok(())
}

pub(super) async fn look_at_runs(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let (acme, run) = (acme(), sample::run(N));
    watched.look("run", Tenants, store.run(&acme, &run)).await;
    look_at_lists_of_runs(watched).await?;
    watched
        .look(
            "count_unfinished_runs",
            Tenants,
            store.count_unfinished_runs(&acme, 50),
        )
        .await;
    watched
        .look("events", Tenants, store.events(&acme, &run, 0, PAGE))
        .await;
    watched
        .look("journal_bytes", Tenants, store.journal_bytes(&acme, &run))
        .await;
    let open = sample::run(watched.open);
    let last = store.events(&acme, &open, 0, PAGE).await?;
    let last = last.last().ok_or("no event")?;
    let append = appended(watched.open, last.sequence, last.hash)?;
    watched.look("append", Tenants, store.append(append)).await;
    let (now, until) = (sample::at(80_000)?, sample::at(90_000)?);
    let key = open.to_string();
    watched
        .look("acquire", Everyones, store.acquire(&key, "me", now, until))
        .await;
    let held = [key];
    watched
        .look("renew", Everyones, store.renew("me", &held, until))
        .await;
    Ok(())
}

/// Returns an append to the open run, with its approval.
fn appended(run: u128, version: u64, head: EventHash) -> sample::Made<Append> {
    Ok(Append {
        run_id: sample::run(run),
        expected: version,
        events: sample::events(head, version, &["{}"])?,
        then: NextPhase::Waits(RunWait {
            until: None,
            approvals: vec![approval(run)],
        }),
        messages: vec![sample::message("appended", 3)?],
        ..sample::second_append(run, NextPhase::Runs, &["{}"])?
    })
}

fn approval(n: u128) -> ApprovalId {
    ApprovalId::from_uuid(Uuid::from_u128(n))
}

pub(super) async fn look_at_approvals_and_keys(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let acme = acme();
    watched
        .look("approval", Tenants, store.approval(&acme, &approval(N)))
        .await;
    let (run, user) = (sample::run(N), user("u7"));
    for (name, filter) in [
        ("approvals", ApprovalFilter::default()),
        (
            "approvals that are pending",
            ApprovalFilter {
                state: Some(ApprovalState::Pending),
                ..ApprovalFilter::default()
            },
        ),
        (
            "approvals of a run",
            ApprovalFilter {
                run_id: Some(&run),
                ..ApprovalFilter::default()
            },
        ),
        (
            "approvals of a run in a state",
            ApprovalFilter {
                state: Some(ApprovalState::Consumed),
                run_id: Some(&run),
                ..ApprovalFilter::default()
            },
        ),
        (
            "approvals of a user",
            ApprovalFilter {
                user_id: Some(&user),
                ..ApprovalFilter::default()
            },
        ),
    ] {
        watched
            .look(name, Tenants, store.approvals(&acme, filter, &page()))
            .await;
    }
    let decision = ApprovalTransition {
        approval_id: approval(watched.open),
        from: ApprovalState::Pending,
        to: ApprovalState::Approved,
        expected_body: None,
        body: "{}".to_owned(),
    };
    // It is refused, because the stored body is another one.
    let stale = ApprovalTransition {
        expected_body: Some("another".to_owned()),
        ..decision.clone()
    };
    // The second call of each is refused, after an identical look-up.
    for (name, decision) in [
        ("decide_approval as it was read", stale),
        ("decide_approval", decision),
    ] {
        let decided = async {
            let decided = store.decide_approval(&acme, decision, vec![], vec![]);
            Ok::<_, StoreError>(decided.await.ok())
        };
        watched.look(name, Tenants, decided).await;
    }
    look_at_keys(watched).await
}

async fn look_at_keys(watched: &mut Watched) -> Outcome {
    let store = Arc::clone(&watched.store);
    let acme = acme();
    let key = KeyId::from_uuid(Uuid::from_u128(N));
    watched.look("key", Tenants, store.key(&acme, &key)).await;
    watched
        .look("keys", Tenants, store.keys(&acme, &page()))
        .await;
    let (at, before) = (sample::at(5)?, sample::at(4)?);
    watched
        .look(
            "note_key_use",
            Tenants,
            store.note_key_use(&acme, &key, at, before),
        )
        .await;
    let mut hash = [0; 32];
    hash[16..].copy_from_slice(&N.to_be_bytes());
    watched
        .look("key_of_hash", Everyones, store.key_of_hash(&KeyHash(hash)))
        .await;
    watched
        .look("keys_kept", Everyones, store.keys_kept(sample::at(90_000)?))
        .await;
    Ok(())
}
