//! Missions from start to end, over a real store.

mod proposals;
mod rig;
mod roles;
mod scripts;
mod services;
mod stages;
mod under_way;

use charter_contract::mission::{ArtifactKind, MissionState, MissionTaskState};
use charter_domain::mission::ProposalState;
use charter_store::mission::ArtifactFilter;
use serde_json::{Value, json};

use self::rig::{Rig, order};
use crate::identity::caller::tests::person;
use crate::{ApprovalAnswer, ApprovalDecision, MissionArtifactPage};

/// The artifacts of a page, as stored.
fn payloads(page: MissionArtifactPage) -> Vec<Value> {
    page.entries
        .into_iter()
        .map(|shown| shown.artifact)
        .collect()
}

fn names(artifacts: &[Value]) -> Vec<String> {
    let name = |artifact: &Value| artifact["schema_name"].as_str().unwrap().to_owned();
    artifacts.iter().map(name).collect()
}

/// An offline mission, end to end: every stage leaves its artifact, the review proposes a change, a person approves it,
/// it is carried out, and a replay yields the same.
#[tokio::test(flavor = "multi_thread")]
async fn an_offline_mission_from_goal_to_change() {
    let rig = Rig::new().await;
    let begun = rig.start(order()).await;
    let waiting = rig.settled(&begun.mission_id).await;
    assert_eq!(
        waiting.state,
        MissionState::AwaitingApproval,
        "{waiting:#?}"
    );
    assert_eq!(waiting.proposals.len(), 1);
    let proposal = &waiting.proposals[0];
    assert_eq!(proposal.state, ProposalState::Proposed);
    let approval = proposal.approval_id.clone().unwrap();
    let (bob, ann) = (person("bob"), person("ann"));
    let asked = rig.engine.approvals().get(&bob, &approval).await.unwrap();
    let say = ApprovalDecision {
        answer: ApprovalAnswer::Approve,
        digest: asked.approval.digest.to_string(),
        reason: None,
    };
    rig.engine
        .approvals()
        .decide(&bob, &approval, say)
        .await
        .unwrap();
    let done = loop {
        let shown = rig.settled(&begun.mission_id).await;
        if shown.state.is_final() {
            break shown;
        }
    };
    assert_eq!(done.state, MissionState::Completed, "{done:#?}");
    assert_eq!(done.proposals[0].state, ProposalState::Executed);
    assert_eq!(
        rig.crm.leads.lock().unwrap()["lead_123"]["stage"],
        "Negotiation"
    );
    let filter = ArtifactFilter::default();
    let artifacts = rig
        .engine
        .mission_views()
        .artifacts(&ann, &begun.mission_id, filter, 0, 100)
        .await;
    let artifacts = payloads(artifacts.unwrap());
    for kind in ArtifactKind::ALL {
        let expected = *kind != ArtifactKind::ResearchArtifact;
        assert_eq!(
            names(&artifacts).contains(&kind.to_string()),
            expected,
            "{kind}"
        );
    }
    let replayed = rig
        .engine
        .mission_views()
        .replay(&ann, &begun.mission_id)
        .await
        .unwrap();
    assert_eq!((replayed.identical, replayed.divergence), (true, None));
    assert_eq!(replayed.artifacts, artifacts.len() as u64);
    let states: Vec<_> = done.tasks.iter().map(|task| task.state).collect();
    assert_eq!(
        states,
        [MissionTaskState::Succeeded; 6],
        "{:#?}",
        json!(done.tasks)
    );
}
