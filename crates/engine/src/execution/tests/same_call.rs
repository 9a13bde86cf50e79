//! Two runs of the same write: the later one waits for the first, and then requests approval again.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::ids::{ApprovalId, RunId};
use charter_contract::run_status::RunStatus;
use charter_domain::approval::{Approval, Digest};
use charter_domain::gate::RuleKind;
use charter_domain::run::RunEvent;
use charter_store::SharedStore;
use charter_store::approval::CallRegistration;
use charter_store::journal::NextPhase;
use charter_store::page::PageRequest;
use charter_testkit::store_suite::sample;
use serde_json::{Map, json};
use uuid::Uuid;

use super::{rested, rig, rig_with};
use crate::engine::tests::{ExecutionRig, eventually, execution, ports};
use crate::identity::caller::tests::person;
use crate::{ApprovalAnswer, ApprovalDecision, DryRun, RunView, Settings, SubmittedPlan};

/// Starts the `n`th plan: a read, and a write after it.
async fn start(rig: &ExecutionRig, n: u8) -> RunId {
    let plan = json!({
        "id": format!("plan-01930000-0000-7000-8000-0000000000{n:02}"),
        "request_id": format!("req-01930000-0000-7000-8000-0000000000{n:02}"),
        "steps": [
            {"id": "step-001", "tool": "doors.look", "parameters": {}},
            {"id": "step-002", "tool": "doors.shut", "parameters": {}, "dependencies": ["step-001"]},
        ],
        "error_handling": {"on_step_failure": "abort_plan"},
    });
    let sent = SubmittedPlan::ExecutionPlan {
        plan: Box::new(serde_json::from_value(plan).unwrap()),
        fallbacks: Vec::new(),
    };
    let (ann, starts) = (person("ann"), &rig.services.starts);
    let started = starts.start_plan(&ann, &sent, Map::new(), DryRun::No, None);
    started.await.unwrap().run().summary.run_id
}

/// Returns the run once it has this status.
async fn settled(rig: &ExecutionRig, run: &RunId, status: RunStatus) -> RunView {
    eventually(async || {
        let shown = rested(rig, run).await;
        (shown.summary.status == status).then_some(shown)
    })
    .await
}

/// Returns the pending approval of a run.
async fn pending(rig: &ExecutionRig, run: &RunId) -> Approval {
    let (ann, page) = (person("ann"), PageRequest::new(None, 10));
    let approvals = &rig.services.approvals;
    let listed = approvals.list(&ann, Some("pending"), Some(run), &page);
    listed.await.unwrap().entries.remove(0).approval
}

async fn decide(rig: &ExecutionRig, run: &RunId, answer: ApprovalAnswer) {
    let pending = pending(rig, run).await;
    let decision = ApprovalDecision {
        answer,
        digest: pending.digest.to_string(),
        reason: None,
    };
    let bob = person("bob");
    let decided = rig
        .services
        .approvals
        .decide(&bob, &pending.approval_id, decision);
    decided.await.unwrap();
}

/// Starts a run whose call a second one repeats, which then waits for the first.
async fn two(rig: &ExecutionRig) -> (RunId, RunId) {
    let first = start(rig, 1).await;
    settled(rig, &first, RunStatus::AwaitingApproval).await;
    let second = start(rig, 2).await;
    let waiting = settled(rig, &second, RunStatus::Paused).await;
    assert_eq!(waiting.state.awaited_run.unwrap().run_id, first);
    (first, second)
}

/// Checks that a run requests approval after its wait, and names the other run and its end.
async fn asks_again(rig: &ExecutionRig, run: &RunId, other: &RunId, end: &str) {
    settled(rig, run, RunStatus::AwaitingApproval).await;
    let approval = pending(rig, run).await;
    let mut rules = approval.rules.iter();
    let same = rules
        .find(|rule| rule.kind == RuleKind::SameCall)
        .unwrap_or_else(|| panic!("{:?}", approval.rules));
    assert_eq!(same.id, other.to_string());
    assert!(same.message.contains(end), "{}", same.message);
}

/// The number of times that the read of a run succeeded.
async fn reads(rig: &ExecutionRig, run: &RunId) -> usize {
    let shown = rested(rig, run).await;
    let is_read = |event: &RunEvent| match event {
        RunEvent::StepSucceeded { step, .. } => step.as_str() == "step-001",
        _ => false,
    };
    let events = shown.events.iter();
    events.filter(|entry| is_read(&entry.event)).count()
}

#[tokio::test]
async fn a_later_run_waits_for_the_first_and_reads_again() {
    let (rig, _store, _dir) = rig().await;
    let (first, second) = two(&rig).await;
    assert_eq!(reads(&rig, &second).await, 1);
    decide(&rig, &first, ApprovalAnswer::Approve).await;
    settled(&rig, &first, RunStatus::Completed).await;
    asks_again(&rig, &second, &first, "ended as completed").await;
    assert_eq!(reads(&rig, &second).await, 2);
    decide(&rig, &second, ApprovalAnswer::Approve).await;
    settled(&rig, &second, RunStatus::Completed).await;
    let replayed = rig.services.views.replay(&person("ann"), &second).await;
    assert_eq!(replayed.unwrap().divergence, None);
}

#[tokio::test]
async fn a_rejection_ends_the_wait() {
    let (rig, _store, _dir) = rig().await;
    let (first, second) = two(&rig).await;
    decide(&rig, &first, ApprovalAnswer::Reject).await;
    asks_again(&rig, &second, &first, "ended as rejected").await;
}

#[tokio::test]
async fn an_expired_approval_ends_the_wait() {
    let (rig, _store, _dir) = rig_with(|_, settings| {
        settings.approval_ttl = Duration::from_secs(3);
    })
    .await;
    let (_first, second) = two(&rig).await;
    eventually(async || {
        let shown = rested(&rig, &second).await;
        let ended = |event: &RunEvent| matches!(event, RunEvent::RunWaitEnded { .. });
        let mut events = shown.events.iter();
        events.any(|entry| ended(&entry.event)).then_some(())
    })
    .await;
}

/// Registers the call of the plans for a run of another replica.
async fn registered_elsewhere(store: &SharedStore, n: u128) -> RunId {
    let (run, events) = sample::new_run("acme", n, 0).unwrap();
    let created = store.create_run(&run, events, vec![], vec![]);
    created.await.unwrap();
    let call = json!({"tool": "doors.shut", "script": null, "pins": null, "parameters": {}});
    let registration = CallRegistration {
        run_id: run.run_id.clone(),
        approval_id: ApprovalId::from_uuid(Uuid::from_u128(n)),
        calls: vec![Digest::from_json(&call).to_string()],
        may_wait: true,
    };
    let registered = store.register_calls(&run.tenant_id, registration).await;
    assert_eq!(registered.unwrap(), None);
    run.run_id
}

/// If the other replica dies before it wakes the waiting run, that run continues when another process claims it.
#[tokio::test]
async fn a_wait_ends_although_nothing_woke_the_run() {
    let (rig, store, _dir) = rig().await;
    let ann = person("ann");
    let first = registered_elsewhere(&store, 1).await;
    let second = start(&rig, 2).await;
    let waiting = settled(&rig, &second, RunStatus::Paused).await;
    assert_eq!(waiting.state.awaited_run.unwrap().run_id, first);
    let end = sample::second_append(1, NextPhase::Ends, &[r#"{"completed":true}"#]).unwrap();
    store.append(end).await.unwrap();
    let settings = Settings {
        four_eyes: Some(false),
        ..Settings::default()
    };
    let other = ports(Arc::clone(&store), Arc::new(super::Answering));
    let other = execution(&other, &settings).await;
    other
        .services
        .runs
        .resume(ann.tenant.clone(), second.clone());
    settled(&other, &second, RunStatus::AwaitingApproval).await;
    let approval = pending(&other, &second).await;
    let mut kinds = approval.rules.iter().map(|rule| rule.kind);
    assert!(kinds.any(|kind| kind == RuleKind::SameCall));
}
