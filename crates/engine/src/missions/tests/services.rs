//! The services of missions without conversations.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, MissionId};
use charter_contract::mission::MissionState;
use charter_domain::mission::ProposalState;
use charter_store::mission::ArtifactFilter;
use charter_store::page::PageRequest;
use serde_json::json;
use tempfile::TempDir;

use super::rig::{Crm, order, package};
use crate::engine::tests::{MissionRig, missions, open, ports};
use crate::identity::caller::tests::person;
use crate::{
    ApprovalAnswer, ApprovalDecision, MissionImported, MissionStarted, MissionView, Mode, Settings,
};

const TIMEOUT: Duration = Duration::from_secs(60);

async fn rig() -> (MissionRig, Arc<Crm>, TempDir) {
    let dir = TempDir::new().unwrap();
    let crm = Crm::new();
    let tools = Arc::<Crm>::clone(&crm);
    let ports = ports(open(dir.path()), tools);
    let settings = Settings {
        four_eyes: Some(true),
        ..Settings::default()
    };
    let rig = missions(&ports, &settings).await;
    let (ann, packages) = (person("ann"), &rig.execution.below.packages);
    let registered = packages.register(&ann, package(), Mode::Apply);
    registered.await.unwrap();
    (rig, crm, dir)
}

/// Starts the offline mission with this id.
async fn start(rig: &MissionRig, mission: &str) -> MissionStarted {
    let mut order = order();
    order["mission_id"] = json!(mission);
    let order = serde_json::from_value(order).unwrap();
    let started = rig.services.missions.start(&person("ann"), &order).await;
    started.unwrap()
}

/// Returns a mission once it has this state.
async fn reached(rig: &MissionRig, mission: &MissionId, state: MissionState) -> MissionView {
    let ann = person("ann");
    let reached = async {
        loop {
            let shown = rig
                .services
                .views
                .wait(&ann, mission, TIMEOUT)
                .await
                .unwrap();
            if shown.state == state {
                return shown;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, reached).await.unwrap()
}

async fn approve(rig: &MissionRig, approval: &ApprovalId) {
    let (bob, approvals) = (person("bob"), &rig.execution.services.approvals);
    let pending = approvals.get(&bob, approval).await.unwrap();
    let say = ApprovalDecision {
        answer: ApprovalAnswer::Approve,
        digest: pending.approval.digest.to_string(),
        reason: None,
    };
    approvals.decide(&bob, approval, say).await.unwrap();
}

/// The ids of missions.
const FIRST: &str = "first";
const SECOND: &str = "second";

/// A mission runs all its stages, a person approves its proposal, and a tool carries the proposal out. A repeat of the
/// order finds the mission.
#[tokio::test(flavor = "multi_thread")]
async fn a_mission_runs_to_its_end() {
    let (rig, crm, _dir) = rig().await;
    let started = start(&rig, FIRST).await;
    assert!(matches!(started, MissionStarted::New(_)), "{started:?}");
    let mission = started.mission().mission_id;
    let waiting = reached(&rig, &mission, MissionState::AwaitingApproval).await;
    let approval = waiting.proposals[0].approval_id.clone().unwrap();
    approve(&rig, &approval).await;
    let done = reached(&rig, &mission, MissionState::Completed).await;
    assert_eq!(done.proposals[0].state, ProposalState::Executed);
    assert_eq!(
        crm.leads.lock().unwrap()["lead_123"]["stage"],
        "Negotiation"
    );
    let repeated = start(&rig, FIRST).await;
    assert!(matches!(repeated, MissionStarted::Repeat(_)));
    assert_eq!(repeated.mission(), done);
}

/// A mission is listed, followed, replayed and compared, and its artifacts are read.
#[tokio::test(flavor = "multi_thread")]
async fn a_mission_is_shown_from_its_journal() {
    let (rig, _crm, _dir) = rig().await;
    let (ann, page) = (person("ann"), PageRequest::new(None, 10));
    let mission = start(&rig, FIRST).await.mission().mission_id;
    let waiting = reached(&rig, &mission, MissionState::AwaitingApproval).await;
    let views = &rig.services.views;
    let listed = views.list(&ann, None, &page).await.unwrap();
    assert_eq!(listed.entries.len(), 1);
    assert_eq!(listed.entries[0].mission_id, mission);
    let filter = ArtifactFilter::default();
    let artifacts = views.artifacts(&ann, &mission, filter, 0, 100);
    let artifacts = artifacts.await.unwrap().entries;
    assert_eq!(artifacts.len() as u64, waiting.artifacts);
    let first = &artifacts[0];
    let read = views.artifact(&ann, &mission, first.kind, &first.artifact_id);
    assert_eq!(read.await.unwrap(), *first);
    let events = views.events(&ann, &mission, 0, 1_000).await.unwrap();
    assert_eq!(events.entries.len() as u64, waiting.events);
    let last = events.entries.last().map(|event| event.mission_state);
    assert_eq!(last, Some(MissionState::AwaitingApproval));
    let replayed = views.replay(&ann, &mission).await.unwrap();
    assert!(replayed.identical, "{replayed:?}");
    assert_eq!(replayed.artifacts, waiting.artifacts);
    let compared = views.diff(&ann, &mission, &mission).await.unwrap();
    assert!(compared.is_same(), "{compared}");
}

/// A mission is cancelled once. Another installation imports its bundle, as a mission that is read-only.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_mission_is_exported_and_imported() {
    let (here, _crm, _dir) = rig().await;
    let ann = person("ann");
    let mission = start(&here, SECOND).await.mission().mission_id;
    reached(&here, &mission, MissionState::AwaitingApproval).await;
    let missions = &here.services.missions;
    let cancelled = missions.cancel(&ann, &mission, "not now".to_owned()).await;
    assert_eq!(cancelled.unwrap().state, MissionState::Cancelled);
    let again = missions.cancel(&ann, &mission, "again".to_owned()).await;
    assert_eq!(again.unwrap_err().code, ErrorCode::IllegalTransition);
    let bundle = here.services.views.export(&ann, &mission).await.unwrap();
    let (there, _other_crm, _other_dir) = rig().await;
    let missions = &there.services.missions;
    let imported = missions.import(&ann, bundle.to_text().into_bytes()).await;
    let MissionImported::New(imported) = imported.unwrap() else {
        panic!("the bundle was imported before");
    };
    assert_eq!(imported.state, MissionState::Cancelled);
    assert!(imported.imported_at.is_some());
    let refused = missions.cancel(&ann, &mission, "again".to_owned()).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::IllegalTransition);
}
