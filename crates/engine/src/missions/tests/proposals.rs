//! The outcomes of proposals (B002-13).

use std::collections::BTreeSet;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::UserId;
use charter_contract::mission::MissionState;
use charter_contract::mission::task_graph::Role;
use charter_domain::mission::ProposalState;
use serde_json::json;

use super::rig::{Rig, asked};
use super::scripts::{Script, approved};
use crate::identity::caller::tests::person;
use crate::{
    ApprovalAnswer, ApprovalDecision, Caller, EngineError, MissionOrder, MissionView, Settings,
};

fn made_by(maker: &str) -> BTreeSet<UserId> {
    BTreeSet::from([UserId::parse(maker).unwrap()])
}

async fn proposing(leads: &'static [&'static str], settings: Settings) -> (Rig, MissionView) {
    proposing_for(&person("ann"), leads, settings).await
}

/// A mission that this caller started.
async fn proposing_for(
    by: &Caller,
    leads: &'static [&'static str],
    settings: Settings,
) -> (Rig, MissionView) {
    let models = Script::new().saying(Role::Reviewer, move |_, _| Ok(approved(leads)));
    let rig = Rig::with(models.models(), settings).await;
    let order: MissionOrder = serde_json::from_value(asked()).unwrap();
    let begun = rig.engine.missions().start(by, &order).await.unwrap();
    let begun = begun.mission();
    let waiting = rig.settled(&begun.mission_id).await;
    assert_eq!(
        waiting.state,
        MissionState::AwaitingApproval,
        "{waiting:#?}"
    );
    (rig, waiting)
}

async fn decide(
    rig: &Rig,
    mission: &MissionView,
    at: usize,
    answer: ApprovalAnswer,
) -> Result<(), EngineError> {
    say(rig, mission, at, answer, &person("bob")).await
}

async fn say(
    rig: &Rig,
    mission: &MissionView,
    at: usize,
    answer: ApprovalAnswer,
    by: &Caller,
) -> Result<(), EngineError> {
    let approval = mission.proposals[at].approval_id.clone().unwrap();
    let asked = rig.engine.approvals().get(by, &approval).await?;
    let say = ApprovalDecision {
        answer,
        digest: asked.approval.digest.to_string(),
        reason: None,
    };
    rig.engine
        .approvals()
        .decide(by, &approval, say)
        .await
        .map(|_| ())
}

async fn over(rig: &Rig, mission: &MissionView) -> MissionView {
    loop {
        let shown = rig
            .engine
            .mission_views()
            .show(&person("ann"), &mission.mission_id)
            .await
            .unwrap();
        if shown.state.is_final() {
            return shown;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn states(mission: &MissionView) -> Vec<ProposalState> {
    mission
        .proposals
        .iter()
        .map(|proposal| proposal.state)
        .collect()
}

/// One is carried out, the other refused; a second decision on either is refused, and each happens at most once.
#[tokio::test(flavor = "multi_thread")]
async fn b002_13_proposals_are_decided_on_one_by_one_and_once() {
    let (rig, waiting) = proposing(&["lead_123", "lead_124"], Settings::default()).await;
    decide(&rig, &waiting, 1, ApprovalAnswer::Reject)
        .await
        .unwrap();
    decide(&rig, &waiting, 0, ApprovalAnswer::Approve)
        .await
        .unwrap();
    let second = decide(&rig, &waiting, 0, ApprovalAnswer::Reject)
        .await
        .unwrap_err();
    assert_eq!(second.code, ErrorCode::IllegalTransition);
    let done = over(&rig, &waiting).await;
    assert_eq!(
        states(&done),
        [ProposalState::Executed, ProposalState::Rejected]
    );
    assert_eq!(done.state, MissionState::Completed);
    let leads = rig.crm.leads.lock().unwrap();
    assert_eq!(
        (&leads["lead_123"]["stage"], &leads["lead_124"]["stage"]),
        (&json!("Negotiation"), &json!("Qualified"))
    );
    let calls = rig.crm.calls.lock().unwrap();
    assert_eq!(
        calls.iter().filter(|call| *call == "crm.move_lead").count(),
        1
    );
}

/// The user of the mission cannot approve its proposals, nor with a key that the user made.
#[tokio::test(flavor = "multi_thread")]
async fn b002_13_the_proposer_does_not_approve() {
    let (rig, waiting) = proposing(&["lead_123"], Settings::default()).await;
    let of_ann = person("zoe").with_makers(made_by("ann"));
    for by in [person("ann"), of_ann] {
        let refused = say(&rig, &waiting, 0, ApprovalAnswer::Approve, &by).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::PermissionDenied);
    }
    let of_root = person("zoe").with_makers(made_by("root"));
    say(&rig, &waiting, 0, ApprovalAnswer::Approve, &of_root)
        .await
        .unwrap();
    let done = over(&rig, &waiting).await;
    assert_eq!(states(&done), [ProposalState::Executed]);
}

/// Ruling 33: the maker of a key knows its secret, so a mission that the key began is the maker's request too.
#[tokio::test(flavor = "multi_thread")]
async fn ruling_33_the_maker_of_the_key_that_began_a_mission_does_not_approve() {
    let zoe = person("zoe").with_makers(made_by("ann"));
    let (rig, waiting) = proposing_for(&zoe, &["lead_123"], Settings::default()).await;
    let max = person("max").with_makers(made_by("ann"));
    for by in [person("ann"), max, zoe] {
        let refused = say(&rig, &waiting, 0, ApprovalAnswer::Approve, &by).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::PermissionDenied);
    }
    decide(&rig, &waiting, 0, ApprovalAnswer::Approve)
        .await
        .unwrap();
    let done = over(&rig, &waiting).await;
    assert_eq!(states(&done), [ProposalState::Executed]);
}

/// A target that differs from the one of the proposal is not changed.
#[tokio::test(flavor = "multi_thread")]
async fn b002_13_a_target_that_changed_since_is_a_conflict() {
    let (rig, waiting) = proposing(&["lead_123"], Settings::default()).await;
    rig.crm.leads.lock().unwrap().get_mut("lead_123").unwrap()["stage"] = json!("Lost");
    decide(&rig, &waiting, 0, ApprovalAnswer::Approve)
        .await
        .unwrap();
    let done = over(&rig, &waiting).await;
    assert_eq!(
        (states(&done), done.state),
        (vec![ProposalState::Conflict], MissionState::Completed)
    );
    assert_eq!(rig.crm.leads.lock().unwrap()["lead_123"]["stage"], "Lost");
}

/// A target that changes between the read and the write is reported by the system of record.
#[tokio::test(flavor = "multi_thread")]
async fn b002_13_a_change_that_comes_too_late_is_a_conflict() {
    let (rig, waiting) = proposing(&["lead_123"], Settings::default()).await;
    rig.crm
        .moved
        .store(true, std::sync::atomic::Ordering::SeqCst);
    decide(&rig, &waiting, 0, ApprovalAnswer::Approve)
        .await
        .unwrap();
    let done = over(&rig, &waiting).await;
    assert_eq!(
        (states(&done), done.proposals[0].reason.as_deref()),
        (
            vec![ProposalState::Conflict],
            Some(
                "conflict: `crm.move_lead` reports that the target changed since it was read: the lead has changed"
            )
        )
    );
}

/// A proposal without a decision lapses in time.
#[tokio::test(flavor = "multi_thread")]
async fn b002_13_a_proposal_expires() {
    let settings = Settings {
        approval_ttl: Duration::from_millis(50),
        ..Settings::default()
    };
    let models = Script::new().saying(Role::Reviewer, |_, _| Ok(approved(&["lead_123"])));
    let rig = Rig::with(models.models(), settings).await;
    let begun = rig.start(asked()).await;
    let done = over(&rig, &begun).await;
    assert_eq!(
        (states(&done), done.state),
        (vec![ProposalState::Expired], MissionState::Completed)
    );
    assert_eq!(
        rig.crm.leads.lock().unwrap()["lead_123"]["stage"],
        "Qualified"
    );
}

/// A write-back that fails is reported, and the mission is over.
#[tokio::test(flavor = "multi_thread")]
async fn b002_13_a_failed_write_back_is_reported() {
    let (rig, waiting) = proposing(&["lead_123"], Settings::default()).await;
    rig.crm
        .broken
        .store(true, std::sync::atomic::Ordering::SeqCst);
    decide(&rig, &waiting, 0, ApprovalAnswer::Approve)
        .await
        .unwrap();
    let done = over(&rig, &waiting).await;
    assert_eq!(states(&done), [ProposalState::ExecutionFailed], "{done:#?}");
}
