//! A stage's input: the rights of the mission's user, the tokens that are left, and the results of earlier stages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, MissionId, UserId};
use charter_contract::mission::task_graph::Role;
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_contract::package::PackageBundle;
use charter_domain::approval::Approval;
use charter_domain::mission::{MAX_TURNS, ProposalState};
use charter_domain::run::{ErrorKind, TokenUsage};
use charter_store::mission::ArtifactFilter;
use charter_store::page::PageRequest;
use charter_testkit::scripted_models::ScriptedModels;
use serde_json::{Value, json};

use super::payloads;
use super::rig::{Rig, asked, order, package};
use super::scripts::{Script, approved, plan, works};
use crate::execution::runs::StageFailure;
use crate::identity::caller::tests::{caller, person};
use crate::{
    ApprovalAnswer, ApprovalDecision, Caller, EngineError, MissionView, Mode, Role as CallerRole,
};

const PATIENCE: Duration = Duration::from_secs(30);

impl Rig {
    /// Registers one more package.
    async fn register(&self, files: &Value) {
        let bundle: PackageBundle = serde_json::from_value(json!({ "files": files })).unwrap();
        let ann = person("ann");
        let registered = self.engine.packages().register(&ann, bundle, Mode::Apply);
        registered.await.unwrap();
    }

    /// Starts a mission of this caller, and waits until it is over or waits for a person.
    async fn begun_by(&self, by: &Caller, order: Value) -> MissionView {
        let order = serde_json::from_value(order).unwrap();
        let begun = self.engine.missions().start(by, &order).await.unwrap();
        self.settled(&begun.mission().mission_id).await
    }

    async fn over(&self, mission: &MissionId) -> MissionView {
        loop {
            let shown = self.settled(mission).await;
            if shown.state.is_final() {
                return shown;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn approve(&self, by: &Caller, approval: &ApprovalId) -> Result<(), EngineError> {
        let asked = self.engine.approvals().get(by, approval).await?;
        let say = ApprovalDecision {
            answer: ApprovalAnswer::Approve,
            digest: asked.approval.digest.to_string(),
            reason: None,
        };
        let decided = self.engine.approvals().decide(by, approval, say);
        decided.await.map(drop)
    }

    /// Returns the approval that a call of this tool waits for.
    async fn asked_about(&self, tool: &str) -> Approval {
        let bob = person("bob");
        let asking = async {
            loop {
                let page = PageRequest::new(None, 10);
                let open = self
                    .engine
                    .approvals()
                    .list(&bob, Some("pending"), None, &page);
                let open = open.await.unwrap().entries.into_iter();
                let mut open = open.map(|entry| entry.approval);
                if let Some(found) = open.find(|asked| asked.call.tool.as_str() == tool) {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, asking).await.unwrap()
    }
}

fn users(names: &[&str]) -> BTreeSet<UserId> {
    let users = names.iter().map(|name| UserId::parse(name).unwrap());
    users.collect()
}

/// B002-5: policies see the role of the mission's user.
#[tokio::test(flavor = "multi_thread")]
async fn b002_5_a_mission_may_call_what_its_user_may() {
    let rig = Rig::new().await;
    let policy = "policy_id: crm.rights\ntitle: Operators read the CRM\ngoverns: [crm.list_leads]\ncedar: |\n  \
                  @id(\"operators\")\n  forbid (principal, action, resource)\n  \
                  unless { principal in Role::\"operator\" };\n";
    let files = json!({
        "package.yaml": "name: rights\nversion: 1.0.0\ntitle: Rights\nscope: tenant\n",
        "policies/rights.yaml": policy,
    });
    rig.register(&files).await;
    for (by, decision) in [
        (caller("uma", CallerRole::User), "deny"),
        (person("ann"), "allow"),
    ] {
        let mission = rig.begun_by(&by, order()).await;
        let filter = ArtifactFilter {
            kind: Some(ArtifactKind::PolicyDecision),
            task_id: None,
        };
        let ann = person("ann");
        let found = rig
            .engine
            .mission_views()
            .artifacts(&ann, &mission.mission_id, filter, 0, 10);
        let decided = payloads(found.await.unwrap());
        let decided: Vec<&Value> = decided.iter().map(|made| &made["decision"]).collect();
        assert_eq!(decided, [&json!(decision)], "{}", by.user);
        let called = rig.crm.calls.lock().unwrap();
        let is_called = called.iter().any(|call| call == "crm.list_leads");
        assert_eq!(is_called, decision == "allow", "{}", by.user);
    }
}

/// The package's mission type, with a playbook that carries its proposals out.
fn by_playbook() -> Value {
    let kind = package().files["missions/lead_brief.yaml"]
        .replace("crm.lead_brief", "crm.by_playbook")
        .replace("by: {tool: crm.move_lead}", "by: {playbook: crm.move}");
    let playbook = "playbook_id: crm.move\nname: Move a lead\ndomain: reliability\n\
                    trigger_conditions: [a lead has to be moved]\ntarget_language: python\n\
                    mandatory_parameters: [{name: lead, type: string}, {name: stage, type: string}]\n\
                    steps:\n\x20 - {step_id: s1, type: write, tool_id: crm.move_lead, on_failure: stop, \
                    parameters: {lead: \"${user.lead}\", stage: \"${user.stage}\"}}\n\
                    safety: {safety_class: supervised}\n";
    json!({
        "package.yaml": "name: moves\nversion: 1.0.0\ntitle: Moves\nscope: tenant\n",
        "missions/by_playbook.yaml": kind,
        "playbooks/move.yaml": playbook,
    })
}

/// Ruling 33: the requesters of a mission and the makers of their keys also requested the playbook that carries its
/// proposal out. None of them can approve its calls.
#[tokio::test(flavor = "multi_thread")]
async fn ruling_33_who_asked_for_a_mission_does_not_approve_what_its_playbook_calls() {
    let models = Script::new().saying(Role::Reviewer, |_, _| Ok(approved(&["lead_123"])));
    let rig = Rig::with_models(models.models()).await;
    rig.register(&by_playbook()).await;
    let zoe = person("zoe").with_makers(users(&["ann"]));
    let mut order = asked();
    order["mission_type"] = json!("crm.by_playbook");
    let waiting = rig.begun_by(&zoe, order).await;
    let proposal = waiting.proposals[0].approval_id.clone().unwrap();
    let bob = person("bob");
    rig.approve(&bob, &proposal).await.unwrap();

    let call = rig.asked_about("crm.move_lead").await;
    assert_ne!(call.call.run_id, waiting.run_id);
    assert_eq!(
        (&call.requested_by, &call.requesters),
        (&zoe.user, &users(&["ann", "zoe"]))
    );
    let max = person("max").with_makers(users(&["ann"]));
    for by in [zoe, person("ann"), max] {
        let refused = rig.approve(&by, &call.approval_id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::PermissionDenied, "{}", by.user);
    }
    rig.approve(&bob, &call.approval_id).await.unwrap();
    let done = rig.over(&waiting.mission_id).await;
    assert_eq!(
        (done.state, done.proposals[0].state),
        (MissionState::Completed, ProposalState::Executed)
    );
    let leads = rig.crm.leads.lock().unwrap();
    assert_eq!(leads["lead_123"]["stage"], "Negotiation");
}

/// B002-17: a model request asks for no more tokens than the mission has left.
#[tokio::test(flavor = "multi_thread")]
async fn b002_17_a_stage_asks_for_no_more_tokens_than_are_left() {
    let models = Script::new().models();
    let rig = Rig::with_models(Arc::<ScriptedModels>::clone(&models)).await;
    let mut order = asked();
    order["token_budget"] = json!(300);
    rig.begun_by(&person("ann"), order).await;
    // Each answer uses 110.
    let most: Vec<u32> = models
        .asked()
        .iter()
        .map(|request| request.max_output_tokens)
        .collect();
    assert_eq!(most, [300, 190, 80]);
}

/// A worker sees the calls of all turns, and the last turn has no tools, so that it must answer.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_turn_of_a_task_answers_from_all_that_was_called() {
    let models = Script::new()
        .saying(Role::Worker, |request, _| {
            let tools = request.context["tools"].as_array().unwrap();
            Ok(match tools.first() {
                Some(tool) => json!({"calls": [{"tool": tool["tool"], "parameters": {}}]}),
                None => works(request),
            })
        })
        .models();
    let rig = Rig::with_models(Arc::<ScriptedModels>::clone(&models)).await;
    let done = rig.begun_by(&person("ann"), asked()).await;
    assert_eq!(done.state, MissionState::Completed, "{done:#?}");
    let calls = usize::try_from(MAX_TURNS - 1).unwrap();
    assert_eq!(
        *rig.crm.calls.lock().unwrap(),
        vec!["crm.list_leads"; calls]
    );
    let asked = models.asked();
    let shown = asked
        .iter()
        .filter_map(|request| Some(request.context.get("calls")?.as_array()?.len()));
    assert_eq!(shown.max(), Some(calls));
}

/// A failed call is shown with the reason beside the answered calls, and the task continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_shown_why_a_call_failed() {
    let models = Script::new()
        .saying(Role::Planner, |_, _| {
            let mut plan = plan();
            plan["tasks"][0]["allowed_tools"] = json!(["crm.get_lead"]);
            Ok(plan)
        })
        .saying(Role::Worker, |request, _| {
            let is_first = request.context["calls"] == json!([]);
            if is_first && request.context["tools"] != json!([]) {
                let get =
                    |lead: &str| json!({"tool": "crm.get_lead", "parameters": {"lead": lead}});
                return Ok(json!({"calls": [get("lead_123"), get("lead_999")]}));
            }
            Ok(works(request))
        })
        .models();
    let rig = Rig::with_models(Arc::<ScriptedModels>::clone(&models)).await;
    let done = rig.begun_by(&person("ann"), asked()).await;
    assert_eq!(done.state, MissionState::Completed, "{done:#?}");
    let asked = models.asked();
    let mut shown = asked
        .iter()
        .filter_map(|request| request.context.get("calls")?.as_array())
        .filter(|calls| !calls.is_empty());
    let calls = shown.next().unwrap();
    assert_eq!(calls[0]["output"]["name"], "Marina Holdings", "{calls:#?}");
    let reason = calls[1]["failed"].as_str().unwrap();
    assert!(reason.contains("no such lead"), "{reason}");
}

/// A stage fails permanently unless its error code is retryable.
#[test]
fn an_error_of_a_stage_says_whether_a_repeat_helps() {
    for (code, retryable) in [
        (ErrorCode::Unavailable, true),
        (ErrorCode::InvalidRequest, false),
    ] {
        let failed = StageFailure::from(EngineError::new(code, "no"));
        let failure = &failed.failure;
        assert_eq!(
            (failure.kind, failure.code.as_str(), failure.retryable),
            (ErrorKind::SystemError, code.as_str(), retryable)
        );
        assert_eq!(
            (failure.message.as_str(), failed.tokens),
            ("no", TokenUsage::default())
        );
    }
}
