//! Roles that a mission type assigns: to models beyond the default, and to outside agents.

use std::time::Duration;

use charter_contract::mission::task_graph::Role;
use charter_contract::mission::{ArtifactKind, AssignmentState, MissionState};
use charter_contract::package::PackageBundle;
use charter_store::mission::ArtifactFilter;
use charter_store::page::PageRequest;
use serde_json::{Value, json};

use super::payloads;
use super::rig::{Rig, order, package};
use super::scripts::Script;
use crate::engine::tests::eventually;
use crate::identity::caller::tests::person;
use crate::{
    ApprovalAnswer, ApprovalDecision, AssignmentSubmission, AssignmentView, Caller, EngineError,
    MissionView, Mode,
};

const TIMEOUT: Duration = Duration::from_secs(30);

/// The mission type of the package with these roles, in a package of its own.
async fn with_roles(rig: &Rig, roles: &str) {
    let kind =
        package().files["missions/lead_brief.yaml"].replace("crm.lead_brief", "crm.assigned");
    let files = json!({"files": {
        "package.yaml": "name: assigned\nversion: 1.0.0\ntitle: Assigned\nscope: tenant\n",
        "missions/assigned.yaml": format!("{kind}roles: {roles}\n"),
    }});
    let bundle: PackageBundle = serde_json::from_value(files).unwrap();
    let ann = person("ann");
    let registered = rig.engine.packages().register(&ann, bundle, Mode::Apply);
    registered.await.unwrap();
}

async fn artifacts(rig: &Rig, mission: &MissionView, kind: ArtifactKind) -> Vec<Value> {
    let filter = ArtifactFilter {
        kind: Some(kind),
        ..ArtifactFilter::default()
    };
    let views = rig.engine.mission_views();
    let found = views
        .artifacts(&person("ann"), &mission.mission_id, filter, 0, 100)
        .await;
    payloads(found.unwrap())
}

async fn is_replayed(rig: &Rig, mission: &MissionView) -> bool {
    let replayed = rig
        .engine
        .mission_views()
        .replay(&person("ann"), &mission.mission_id)
        .await;
    replayed.unwrap().identical
}

/// A model writes the prompts and chooses what a pass grants; the scopes stay those of the task.
#[tokio::test(flavor = "multi_thread")]
async fn every_role_may_be_a_models() {
    let models = Script::new()
        .saying(Role::PromptMaster, |request, _| {
            assert!(request.context["template"]["task_prompt"].is_string());
            Ok(json!({"task_prompt": "Do it well."}))
        })
        .saying(Role::Librarian, |request, number| {
            let families = request.context["resource_families"].as_array().unwrap();
            Ok(match (families.first(), number) {
                // The first draft asks for more than the task may have.
                (Some(_), 0) => json!({"allowed_resource_families": ["crm.secrets"]}),
                (Some(family), _) => json!({"allowed_resource_families": [family["name"]]}),
                (None, _) => json!({}),
            })
        })
        .unheld()
        .models();
    let rig = Rig::with_models(models).await;
    with_roles(&rig, "{prompt_master: {by: model}, librarian: {by: model}}").await;
    let asked = json!({"goal": "Which leads deserve a call?", "mission_type": "crm.assigned"});
    let begun = rig.start(asked).await;
    let done = rig.settled(&begun.mission_id).await;
    assert_eq!(done.state, MissionState::Completed, "{done:#?}");
    for package in artifacts(&rig, &done, ArtifactKind::PromptPackage).await {
        assert_eq!(package["task_prompt"], "Do it well.");
    }
    let passes = artifacts(&rig, &done, ArtifactKind::LibrarianPass).await;
    let mut granted = passes.iter().map(|pass| &pass["allowed_resource_families"]);
    assert!(
        granted.any(|families| *families == json!(["crm.leads"])),
        "{passes:#?}"
    );
    assert!(is_replayed(&rig, &done).await);
}

/// The artifacts of an outside agent for each role.
fn made(assignment: &AssignmentView) -> Vec<Value> {
    let brief = assignment.brief.as_ref().unwrap();
    let context = json!(brief.context);
    match assignment.role_type {
        Role::Planner => vec![json!({"schema_name": "mission_task_graph", "tasks": [
            {"task_id": "prepare", "role_type": "prompt_master", "objective": "Prepare."},
            {"task_id": "list", "role_type": "worker", "objective": "List the leads", "depends_on": ["prepare"],
             "allowed_tools": ["crm.list_leads"], "required_data_scopes": ["crm.leads"]},
            {"task_id": "weigh", "role_type": "worker", "objective": "Weigh the leads by score",
             "depends_on": ["list"], "required_data_scopes": ["crm.leads"]},
        ]})],
        Role::PromptMaster => vec![json!({
            "schema_name": "prompt_package", "package_id": format!("own.{}", assignment.task_id.as_ref().unwrap()),
            "role_type": context["role_type"], "template_id": context["template"]["template_id"],
            "template_version": "v1", "system_prompt": "You are careful.", "task_prompt": "Do it.",
            "tool_scope": context["tools"], "model_route": context["model_route"],
        })],
        Role::Librarian => {
            let families = context["resource_families"].as_array().unwrap().iter();
            let families: Vec<&Value> = families.map(|family| &family["name"]).collect();
            vec![json!({
                "schema_name": "librarian_pass", "pass_id": format!("own.{}", assignment.task_id.as_ref().unwrap()),
                "allowed_resource_families": families, "expires_at": assignment.expires_at,
            })]
        }
        Role::Aggregator => {
            let reference = &context["results"][0]["ref"];
            vec![json!({
                "schema_name": "aggregation_packet", "packet_id": "own", "summary": "Lead 123 comes first.",
                "evidence_matrix": [{"claim": "Lead 123 has the highest score.", "support_refs": [reference]}],
            })]
        }
        Role::Reviewer => vec![
            json!({
                "schema_name": "review_packet", "packet_id": "own", "review_status": "approved",
                "approved_output": {"summary": "Lead 123 comes first."},
            }),
            json!({
                "schema_name": "writeback_proposal", "proposal_id": "own.1", "target_entity_type": "lead",
                "target_entity_id": "lead_123", "action_type": "lead_stage_update",
                "payload": {"stage": "Negotiation"},
            }),
        ],
        Role::Worker | Role::Researcher => {
            panic!("{:?} is not left to agents", assignment.role_type)
        }
    }
}

/// Claims and submits every open assignment once; returns the roles.
async fn carried_out(rig: &Rig, agent: &Caller) -> Vec<Role> {
    let assignments = rig.engine.assignments();
    let page = PageRequest::new(None, 50);
    let open = assignments.list(agent, None, &page).await.unwrap().entries;
    let mut roles = Vec::new();
    for open in open {
        let id = &open.assignment_id;
        let claimed = assignments.claim(agent, id).await.unwrap();
        let submission: AssignmentSubmission = serde_json::from_value(json!({
            "lease_id": claimed.lease_id, "artifacts": made(&claimed),
        }))
        .unwrap();
        let submitted = assignments.submit(agent, id, &submission, TIMEOUT).await;
        let submitted = submitted.unwrap_or_else(|error| panic!("{:?}: {error}", open.role_type));
        assert_eq!(submitted.state, AssignmentState::Accepted);
        roles.push(open.role_type);
    }
    roles
}

async fn decide(rig: &Rig, by: &Caller, mission: &MissionView) -> Result<(), EngineError> {
    let approval = mission.proposals[0].approval_id.clone().unwrap();
    let asked = rig.engine.approvals().get(by, &approval).await?;
    let say = ApprovalDecision {
        answer: ApprovalAnswer::Approve,
        digest: asked.approval.digest.to_string(),
        reason: None,
    };
    let decided = rig.engine.approvals().decide(by, &approval, say);
    decided.await.map(drop)
}

/// The plan, the prompts, the passes, the aggregation and the review of an agent; the agent may not approve the
/// proposal that it made.
#[tokio::test(flavor = "multi_thread")]
async fn every_role_may_be_an_outside_agents() {
    let rig = Rig::new().await;
    let roles = "{planner: {by: external}, prompt_master: {by: external}, librarian: {by: external}, \
                 aggregator: {by: external, agents: [cal]}, reviewer: {by: external}}";
    with_roles(&rig, roles).await;
    let mut asked = order();
    asked["mission_type"] = json!("crm.assigned");
    let begun = rig.start(asked).await;
    let cal = person("cal");
    let mut roles = Vec::new();
    eventually(async || {
        roles.extend(carried_out(&rig, &cal).await);
        roles.contains(&Role::Reviewer).then_some(())
    })
    .await;
    let waiting = rig.settled(&begun.mission_id).await;
    assert_eq!(
        waiting.state,
        MissionState::AwaitingApproval,
        "{waiting:#?}"
    );
    let count = |role: Role| roles.iter().filter(|carried| **carried == role).count();
    let counts = [Role::Planner, Role::PromptMaster, Role::Librarian].map(count);
    assert_eq!(counts, [1, 4, 2]);
    for kind in [
        ArtifactKind::MissionTaskGraph,
        ArtifactKind::PromptPackage,
        ArtifactKind::LibrarianPass,
        ArtifactKind::AggregationPacket,
        ArtifactKind::ReviewPacket,
        ArtifactKind::WritebackProposal,
    ] {
        for artifact in artifacts(&rig, &waiting, kind).await {
            assert_eq!(artifact["producer"], "cal", "{artifact:#}");
        }
    }
    assert!(decide(&rig, &cal, &waiting).await.is_err());
    decide(&rig, &person("bob"), &waiting).await.unwrap();
    let done = async {
        loop {
            let shown = rig.settled(&begun.mission_id).await;
            if shown.state.is_final() {
                return shown;
            }
            tokio::task::yield_now().await;
        }
    };
    let done = tokio::time::timeout(TIMEOUT, done).await.unwrap();
    assert_eq!(done.state, MissionState::Completed, "{done:#?}");
    assert!(is_replayed(&rig, &done).await);
}

/// A pass that grants more than its task may have, and a package with weaker constraints, are refused.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_widens_no_scope() {
    let rig = Rig::new().await;
    with_roles(&rig, "{prompt_master: {by: external}}").await;
    let mut asked = order();
    asked["mission_type"] = json!("crm.assigned");
    rig.start(asked).await;
    let cal = person("cal");
    let assignments = rig.engine.assignments();
    let page = PageRequest::new(None, 50);
    let open = eventually(async || {
        let found = assignments.list(&cal, None, &page).await.unwrap().entries;
        let mut found = found.into_iter();
        found.find(|found| found.objective.starts_with("List"))
    })
    .await;
    let claimed = assignments.claim(&cal, &open.assignment_id).await.unwrap();
    let submitted = async |change: Value| {
        let mut artifact = made(&claimed).remove(0);
        for (field, value) in change.as_object().unwrap() {
            artifact[field] = value.clone();
        }
        let submission = json!({"lease_id": claimed.lease_id, "artifacts": [artifact]});
        let submission: AssignmentSubmission = serde_json::from_value(submission).unwrap();
        let done = assignments.submit(&cal, &open.assignment_id, &submission, TIMEOUT);
        done.await.map(|shown| shown.state)
    };
    for (change, said) in [
        (json!({"tool_scope": ["crm.move_lead"]}), "crm.move_lead"),
        (json!({"model_route": "tier_other"}), "model_route"),
        (
            json!({"constraints": {"must_cite_sources": false}}),
            "must_cite_sources",
        ),
    ] {
        let refused = submitted(change).await.unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    assert_eq!(
        submitted(json!({})).await.unwrap(),
        AssignmentState::Accepted
    );
}
