//! The effects of time and executors on a call, step by step.

use std::collections::BTreeMap;

use charter_contract::ids::ToolId;
use charter_effects::{
    DryRun, Language, Limits, PackageFiles, ScriptTool, Target, ToolImplementation, UnlimitedOutput,
};
use serde_json::{Map, json};
use uuid::Uuid;

use super::*;
use crate::execution::executors::goes_to_executors;
use crate::ground::settings::ClientTools;

const LEASE: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(60);

fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}

fn executor(name: &str) -> Label {
    Label::parse(name).unwrap()
}

fn lease(number: u128) -> LeaseId {
    LeaseId::from_uuid(Uuid::from_u128(number))
}

fn put(
    calls: &ClientCalls,
    repeat: Repeat,
    now: Instant,
) -> (QueueEntryGuard<'_>, oneshot::Receiver<ToolOutcome>) {
    put_to_begin_within(calls, repeat, None, now)
}

fn put_to_begin_within(
    calls: &ClientCalls,
    repeat: Repeat,
    begin_within: Option<Duration>,
    now: Instant,
) -> (QueueEntryGuard<'_>, oneshot::Receiver<ToolOutcome>) {
    let asked = ClientGrants::Asked {
        environment: Vec::new(),
        egress: Vec::new(),
    };
    let client = ClientCall {
        tenant: tenant("acme"),
        grants: asked,
        repeat,
        begin_within,
    };
    calls.offer_call(script_call(), client, now).unwrap()
}

fn script_call() -> ToolCall {
    let files = BTreeMap::from([("scripts/a.py".to_owned(), String::new())]);
    ToolCall {
        tool_id: ToolId::parse("acme.read").unwrap(),
        implementation: ToolImplementation::Script(ScriptTool {
            language: Language::Python,
            entry: "scripts/a.py".to_owned(),
            files: Arc::new(PackageFiles::new(files).unwrap()),
        }),
        target: Target::Here,
        parameters: Map::new(),
        dry_run: DryRun::No,
        limits: Limits {
            timeout: TIMEOUT,
            ..Limits::default()
        },
        environment: Vec::new(),
        egress: Vec::new(),
        readable: Vec::new(),
        idempotency_key: "run/step".to_owned(),
        room: Arc::new(UnlimitedOutput),
    }
}

/// An executor of scripts, with handlers for these tools.
fn programs(handlers: &[&str]) -> ExecutorCapabilities {
    let handlers = handlers.iter().map(|tool| ToolId::parse(tool).unwrap());
    ExecutorCapabilities {
        handlers: handlers.collect(),
        programs: true,
    }
}

/// The call leased to a script executor of a tenant.
fn take(calls: &ClientCalls, of: &str, by: &str, number: u128, now: Instant) -> Option<LeasedCall> {
    let carries = programs(&[]);
    calls.take(&tenant(of), &executor(by), &carries, lease(number), now)
}

fn done() -> ToolOutcome {
    ToolOutcome::Succeeded {
        output: json!(1),
        log: String::new(),
        duration_ms: 1,
    }
}

#[test]
fn a_call_is_for_one_executor_of_its_tenant() {
    let (calls, now) = (ClientCalls::new(LEASE), Instant::now());
    let (_place, _answered) = put(&calls, Repeat::Safe, now);
    let take = |name: &str, number: u128| take(&calls, name, "e", number, now);
    assert!(take("umbra", 1).is_none());
    assert_eq!(take("acme", 2).unwrap().left, TIMEOUT);
    assert!(take("acme", 3).is_none());
    assert_eq!(
        calls.renew(&tenant("umbra"), &lease(2), now),
        Err(LeaseNotHeld)
    );
    assert!(calls.held(&tenant("umbra"), &lease(2), now).is_err());
    let foreign = calls.report(&tenant("umbra"), &lease(2), done(), now);
    assert_eq!(foreign, Err(LeaseNotHeld));
    assert_eq!(calls.renew(&tenant("acme"), &lease(2), now), Ok(()));
}

/// Seed 000 §2.4: a tool without an implementation is for executors with a handler for it, and a playbook's script in
/// its place for those of them that run scripts.
#[test]
fn a_call_is_for_an_executor_that_can_carry_it_out() {
    let (calls, now) = (ClientCalls::new(LEASE), Instant::now());
    let own = ClientCall {
        tenant: tenant("acme"),
        grants: ClientGrants::Own,
        repeat: Repeat::Safe,
        begin_within: None,
    };
    let handler = ToolCall {
        implementation: ToolImplementation::Handler,
        ..script_call()
    };
    let only = |handlers: &[&str]| ExecutorCapabilities {
        programs: false,
        ..programs(handlers)
    };
    let handlers: [&[&str]; 2] = [&["acme.read"], &["acme.other"]];
    let [right, wrong] = handlers;
    let takes = |carries: &ExecutorCapabilities| {
        let taken = calls.take(&tenant("acme"), &executor("e"), carries, lease(1), now);
        taken.is_some()
    };
    for (call, client, takers, others) in [
        (
            handler,
            own.clone(),
            vec![programs(right), only(right)],
            vec![programs(&[]), programs(wrong), only(wrong)],
        ),
        (
            script_call(),
            own,
            vec![programs(right)],
            vec![programs(&[]), programs(wrong), only(right)],
        ),
    ] {
        assert!(goes_to_executors(
            &ToolCall {
                target: Target::Client(client.clone()),
                ..call.clone()
            },
            ClientTools::Here
        ));
        for carries in &takers {
            let (place, _answered) = calls.offer_call(call.clone(), client.clone(), now).unwrap();
            assert!(others.iter().all(|carries| !takes(carries)), "{others:?}");
            assert!(takes(carries), "{carries:?}");
            drop(place);
        }
    }
    let (_place, _answered) = put(&calls, Repeat::Safe, now);
    assert!(!takes(&only(right)));
    assert!(takes(&programs(right)));
}

/// An answer that an executor never read leaves the call unchanged, even if it must not run twice: it begins with the
/// first renewal.
#[test]
fn a_call_that_was_only_offered_is_offered_again() {
    let (calls, now) = (ClientCalls::new(LEASE), Instant::now());
    let (place, _answered) = put(&calls, Repeat::Unsafe, now);
    take(&calls, "acme", "e", 1, now);
    assert_eq!(
        calls.look(place.number, now),
        Some(TimerEvent::At(now + LEASE))
    );
    let later = now + LEASE;
    assert_eq!(
        calls.renew(&tenant("acme"), &lease(1), later),
        Err(LeaseNotHeld)
    );
    let again = calls.look(place.number, later);
    assert_eq!(again, Some(TimerEvent::Again(now + TIMEOUT)));
    let taken = take(&calls, "acme", "f", 2, later);
    assert_eq!(taken.unwrap().left, TIMEOUT - LEASE);
}

#[test]
fn a_lost_executor_means_again_for_reads_and_unknown_for_writes() {
    let now = Instant::now();
    for (repeat, due) in [
        (Repeat::Safe, TimerEvent::Again(now + TIMEOUT)),
        (Repeat::Unsafe, TimerEvent::Lost(executor("e"))),
    ] {
        let calls = ClientCalls::new(LEASE);
        let (place, _answered) = put(&calls, repeat, now);
        take(&calls, "acme", "e", 1, now);
        let begun = now + Duration::from_secs(1);
        assert_eq!(calls.renew(&tenant("acme"), &lease(1), begun), Ok(()));
        let lapsed = begun + LEASE;
        let just_before = lapsed - Duration::from_millis(1);
        assert_eq!(
            calls.look(place.number, just_before),
            Some(TimerEvent::At(lapsed))
        );
        assert_eq!(calls.look(place.number, lapsed), Some(due));
        let late = calls.report(&tenant("acme"), &lease(1), done(), lapsed);
        assert_eq!(late, Err(LeaseNotHeld));
    }
}

#[test]
fn an_outcome_is_accepted_once_and_only_while_a_call_waits() {
    let (calls, now) = (ClientCalls::new(LEASE), Instant::now());
    let (_place, mut answered) = put(&calls, Repeat::Safe, now);
    take(&calls, "acme", "e", 1, now);
    let report = || calls.report(&tenant("acme"), &lease(1), done(), now);
    assert_eq!(report(), Ok(()));
    assert_eq!(report(), Err(LeaseNotHeld));
    assert_eq!(answered.try_recv(), Ok(done()));

    let (place, _answered) = put(&calls, Repeat::Safe, now);
    take(&calls, "acme", "e", 2, now);
    drop(place);
    assert_eq!(
        calls.renew(&tenant("acme"), &lease(2), now),
        Err(LeaseNotHeld)
    );
}

#[test]
fn unclaimed_and_unreported_calls_time_out() {
    let (calls, now) = (ClientCalls::new(TIMEOUT * 2), Instant::now());
    let (place, _answered) = put(&calls, Repeat::Safe, now);
    let end = now + TIMEOUT;
    assert_eq!(
        calls.look(place.number, end),
        Some(TimerEvent::Unclaimed { lost: None })
    );
    let taken = take(&calls, "acme", "e", 1, end);
    assert!(taken.is_none(), "its time is over");

    let (running, _answered) = put(&calls, Repeat::Safe, end);
    take(&calls, "acme", "e", 2, end);
    assert_eq!(calls.renew(&tenant("acme"), &lease(2), end), Ok(()));
    let due = end + TIMEOUT + REPORT_GRACE;
    assert_eq!(calls.look(running.number, end), Some(TimerEvent::At(due)));
    assert_eq!(
        calls.look(running.number, due),
        Some(TimerEvent::Overdue(executor("e")))
    );
}

/// A call does not begin after its approval lapses; one that began before continues.
#[test]
fn a_call_is_not_begun_after_its_approval_lapsed() {
    let (calls, now) = (ClientCalls::new(LEASE), Instant::now());
    let within = Duration::from_secs(5);
    let end = now + within;
    let put = || put_to_begin_within(&calls, Repeat::Safe, Some(within), now);
    let take = |number: u128, at| take(&calls, "acme", "e", number, at);
    let (late, _answered) = put();
    assert_eq!(calls.look(late.number, now), Some(TimerEvent::At(end)));
    assert!(take(1, now).is_some());
    assert_eq!(
        calls.renew(&tenant("acme"), &lease(1), end),
        Err(LeaseNotHeld)
    );
    let unclaimed = TimerEvent::Unclaimed { lost: None };
    assert_eq!(calls.look(late.number, end), Some(unclaimed));
    drop(late);
    let (begun, _answered) = put();
    assert!(take(2, now).is_some());
    assert_eq!(calls.renew(&tenant("acme"), &lease(2), now), Ok(()));
    let held = Some(TimerEvent::At(now + LEASE));
    assert_eq!(calls.look(begun.number, end), held);
    let (_waiting, _answered) = put();
    assert!(take(3, end).is_none());
    let reported = calls.report(&tenant("acme"), &lease(2), done(), end);
    assert_eq!(reported, Ok(()));
}
