//! Events in the course of a mission: unusable drafts, tools that policy denies, passes that expire, tasks that fail,
//! budgets, cancelling.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::mission::MissionState;
use charter_contract::mission::task_graph::Role;
use charter_domain::run::RunEvent;
use charter_effects::{ModelFailure, ModelFault};
use charter_testkit::clock::SimulatedClock;
use charter_testkit::scripted_models::ScriptedModels;
use charter_testkit::store_suite::sample;
use serde_json::{Value, json};

use super::payloads;
use super::rig::{RISKY, Rig, asked, order};
use super::scripts::{Script, approved, cited, plan, works};
use crate::engine::tests::in_a_place;
use crate::identity::caller::tests::person;
use crate::{MissionOrder, MissionView, Settings};

async fn ended(models: Arc<ScriptedModels>) -> (Rig, MissionView) {
    let rig = Rig::with_models(models).await;
    let begun = rig.start(asked()).await;
    let shown = rig.settled(&begun.mission_id).await;
    (rig, shown)
}

fn state_of<'m>(mission: &'m MissionView, task: &str) -> (&'m str, &'m str) {
    let found = mission
        .tasks
        .iter()
        .find(|known| known.task_id.as_str() == task);
    let found = found.unwrap();
    (
        found.state.as_str(),
        found.reason.as_deref().unwrap_or_default(),
    )
}

/// A model's mission: it plans, calls a tool, cites sources of its context. Tokens are counted, and every prompt came
/// from a template, with data apart.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_carries_a_mission_through() {
    let models = Script::new().models();
    let (rig, done) = ended(Arc::clone(&models)).await;
    assert_eq!(done.state, MissionState::Completed, "{done:#?}");
    // Planner, list twice, weigh, aggregator, reviewer: 110 tokens each.
    assert_eq!((models.calls(), done.tokens.total()), (6, 660));
    assert_eq!(*rig.crm.calls.lock().unwrap(), ["crm.list_leads"]);
    let planner = &models.asked()[0].system;
    assert!(
        planner.contains("Which leads are new?") && planner.contains("List them first."),
        "the prompt's examples are shown: {planner}"
    );
    for request in models.asked() {
        assert!(
            !request.system.contains("Marina"),
            "data is not in the instructions"
        );
        assert!(!request.task.contains("Marina"));
    }
}

/// Policies on the tools of a plan are evaluated apart from the threads that serve requests.
#[tokio::test(flavor = "multi_thread")]
async fn policies_of_a_plan_are_asked_in_a_place() {
    let rig = Rig::new().await;
    let mission = async {
        let begun = rig.start(order()).await;
        rig.settled(&begun.mission_id).await
    };
    let waiting = in_a_place(&rig.engine, mission).await;
    assert_eq!(waiting.state, MissionState::AwaitingApproval);
}

/// Answers of tools and models appear only in the data of later requests. None of the marks is in instructions or in a
/// schema, which some providers pass with the instructions. The sources' names show that the answers were there.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_tool_or_a_model_stands_outside_the_data() {
    const MARKS: [&str; 5] = [
        "MARKOBJECTIVE",
        "MARKCRITERION",
        "MARKANSWER",
        "mark_task",
        "Marina",
    ];
    let models = Script::new()
        .saying(Role::Planner, |_, _| {
            let task = |id: &str, depends_on: Value| {
                json!({
                    "task_id": id, "role_type": "worker", "objective": "MARKOBJECTIVE",
                    "success_criteria": ["MARKCRITERION"], "depends_on": depends_on,
                    "allowed_tools": ["crm.list_leads"],
                })
            };
            Ok(json!({"tasks": [task("mark_task", json!([])), task("last", json!(["mark_task"]))]}))
        })
        .saying(Role::Worker, |request, _| {
            let mut said = works(request);
            if let Some(answer) = said.get_mut("answer") {
                answer["output_text"] = json!("MARKANSWER");
            }
            Ok(said)
        })
        .saying(Role::Aggregator, |request, number| {
            // The first draft is returned with a quotation of it.
            let support = match number {
                0 => "MARKANSWER".to_owned(),
                _ => cited(request, "wrk.mark_task"),
            };
            Ok(json!({
                "summary": "MARKANSWER",
                "evidence_matrix": [{"claim": "MARKANSWER", "support_refs": [support]}],
            }))
        })
        .unheld()
        .models();
    let (_, done) = ended(Arc::clone(&models)).await;
    assert_eq!(done.state, MissionState::Completed, "{done:#?}");
    let mut shown = std::collections::BTreeSet::new();
    for request in models.asked() {
        let schema = Value::Object(request.schema.schema.json().clone()).to_string();
        let context = request.context.to_string();
        for mark in MARKS {
            for told in [&request.system, &request.task, &schema] {
                assert!(!told.contains(mark), "{}: {told}", request.stage.as_str());
            }
            shown.extend(context.contains(mark).then_some(mark));
        }
    }
    assert_eq!(shown.len(), MARKS.len(), "{shown:?}");
}

/// An unusable draft is returned with its defects, and the repaired one counts; the tokens of both are counted.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_sent_back_with_what_is_wrong() {
    let models = Script::new()
        .saying(Role::Planner, |request, number| match number {
            0 => Ok(json!({"tasks": [
                {"task_id": "a", "role_type": "worker", "objective": "A.", "depends_on": ["b"]},
            ]})),
            _ => {
                let wrong = &request.earlier[0].wrong;
                assert!(wrong[0].contains("`a` depends on `b`"), "{wrong:?}");
                Ok(plan())
            }
        })
        .models();
    let (_, done) = ended(Arc::clone(&models)).await;
    assert_eq!((done.state, models.calls()), (MissionState::Completed, 7));
}

/// B002-6: an answer without a source, or with one outside its context, is refused, and a model that insists fails its
/// task.
#[tokio::test(flavor = "multi_thread")]
async fn b002_6_an_answer_without_a_source_is_refused() {
    let models = Script::new()
        .saying(Role::Worker, |request, _| {
            let mut said = works(request);
            if said.get("calls").is_none() {
                let citations = json!([{"kind": "internal", "ref": "made.up"}]);
                let answer = if said.get("answer").is_some() {
                    &mut said["answer"]
                } else {
                    &mut said
                };
                answer["citations"] = citations;
            }
            Ok(said)
        })
        .unheld()
        .models();
    let (_, done) = ended(models).await;
    assert_eq!(done.state, MissionState::Failed);
    let (state, reason) = state_of(&done, "list");
    assert!(
        state == "failed" && reason.contains("made.up"),
        "{state}: {reason}"
    );
    assert!(done.reason.unwrap().contains("no task has a result"));
}

/// B002-9: a task that fails blocks its dependants; the others continue, and the aggregation names the gaps.
#[tokio::test(flavor = "multi_thread")]
async fn b002_9_a_failed_task_blocks_its_dependants() {
    let models = Script::new()
        .saying(Role::Planner, |_, _| {
            let mut plan = plan();
            let other = json!({"task_id": "other", "role_type": "worker", "objective": "Other."});
            plan["tasks"].as_array_mut().unwrap().push(other);
            Ok(plan)
        })
        .saying(Role::Worker, |request, _| {
            if request.context["objective"] == json!("List the leads.") {
                return Err(ModelFailure::new(ModelFault::Refused, "the model declined"));
            }
            let mut said = works(request);
            said["citations"] = json!([{"kind": "internal", "ref": cited(request, "lead_123")}]);
            Ok(said)
        })
        .saying(Role::Aggregator, |request, _| {
            let missing = request.context["missing"].as_array().unwrap();
            assert_eq!(missing.len(), 2, "{missing:?}");
            Ok(json!({
                "summary": "Only the other.",
                "evidence_matrix": [{"claim": "C.", "support_refs": [cited(request, "wrk.other")]}],
            }))
        })
        .saying(Role::Reviewer, |request, _| {
            // B002-10: gaps reach the reviewer, even if the aggregator omits them.
            assert_eq!(
                request.context["coverage_gaps"].as_array().unwrap().len(),
                2
            );
            Ok(approved(&[]))
        })
        .models();
    let rig = Rig::with_models(models).await;
    let mut order = asked();
    order["context_refs"] = json!({"lead_ids": ["lead_123"]});
    let begun = rig.start(order).await;
    let done = rig.settled(&begun.mission_id).await;
    assert_eq!(done.state, MissionState::Completed, "{done:#?}");
    assert_eq!(state_of(&done, "list"), ("failed", "the model declined"));
    assert_eq!(
        (state_of(&done, "weigh").0, state_of(&done, "other").0),
        ("blocked", "succeeded")
    );
}

/// B002-5: a tool that no policy permits is in no package's scope, and a worker that requests it gets nothing.
#[tokio::test(flavor = "multi_thread")]
async fn b002_5_a_tool_that_no_policy_permits_is_not_called() {
    let models = Script::new()
        .saying(Role::Worker, |request, _| match request.earlier.len() {
            0 if request.context["objective"] == json!("List the leads.") => {
                Ok(json!({"calls": [{"tool": "crm.get_lead", "parameters": {"lead": "lead_123"}}]}))
            }
            _ => Ok(works(request)),
        })
        .unheld()
        .models();
    let (rig, done) = ended(models).await;
    assert_eq!(done.state, MissionState::Completed, "{done:#?}");
    assert_eq!(
        *rig.crm.calls.lock().unwrap(),
        ["crm.list_leads"],
        "the call was not made"
    );
}

/// B002-5: a policy may use the mission's own facts, both when tools are scoped and when one is called.
#[tokio::test(flavor = "multi_thread")]
async fn b002_5_a_policy_forbids_what_a_mission_is_too_risky_for() {
    let rig = Rig::new().await;
    let mut risky = order();
    risky["mission_type"] = json!(RISKY);
    let begun = rig.start(risky).await;
    let done = rig.settled(&begun.mission_id).await;
    assert!(done.state.is_final(), "{done:#?}");
    assert!(rig.crm.calls.lock().unwrap().is_empty());
    let begun = rig.start(order()).await;
    rig.settled(&begun.mission_id).await;
    assert!(!rig.crm.calls.lock().unwrap().is_empty());
}

/// B002-8: at or after its end a pass grants nothing.
#[tokio::test(flavor = "multi_thread")]
async fn b002_8_an_expired_pass_opens_nothing() {
    let settings = Settings::default();
    let ttl = settings.pass_ttl;
    let clock = SimulatedClock::at(sample::at(0).unwrap());
    let passing = clock.clone();
    let models = Script::new()
        .saying(Role::Worker, move |request, _| {
            // The pass was made before the worker was asked, and its tool is called after that.
            passing.advance(ttl).unwrap();
            Ok(works(request))
        })
        .models();
    let rig = Rig::with_clock(models, settings, Arc::new(clock)).await;
    let begun = rig.start(asked()).await;
    let done = rig.settled(&begun.mission_id).await;
    let (state, reason) = state_of(&done, "list");
    assert!(
        state == "failed" && reason.contains("expired"),
        "{state}: {reason}"
    );
    assert!(rig.crm.calls.lock().unwrap().is_empty());
}

/// B002-11: a rejected mission has no output and proposes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn b002_11_a_rejected_mission_has_no_output() {
    let models = Script::new()
        .saying(Role::Reviewer, |_, _| {
            Ok(json!({
                "review_status": "rejected",
                "issues": [{"severity": "high", "message": "Nothing supports it."}],
            }))
        })
        .models();
    let (_, done) = ended(models).await;
    assert_eq!(
        (done.state, done.output, done.proposals),
        (MissionState::Rejected, None, vec![])
    );
}

/// B002-17: when the tokens are used up, no further stage begins, and the artifacts so far remain.
#[tokio::test(flavor = "multi_thread")]
async fn b002_17_a_token_budget_stops_the_mission_and_keeps_what_it_produced() {
    let rig = Rig::with_models(Script::new().models()).await;
    let mut order = asked();
    order["token_budget"] = json!(300);
    let begun = rig.start(order).await;
    let done = rig.settled(&begun.mission_id).await;
    assert_eq!(done.state, MissionState::BudgetExceeded, "{done:#?}");
    assert_eq!(done.tokens.total(), 330);
    let filter = charter_store::mission::ArtifactFilter::default();
    let ann = person("ann");
    let kept = rig
        .engine
        .mission_views()
        .artifacts(&ann, &begun.mission_id, filter, 0, 100)
        .await;
    let kept = payloads(kept.unwrap());
    let is_result = |artifact: &&Value| artifact["schema_name"] == json!("worker_result");
    assert_eq!(kept.iter().filter(is_result).count(), 1);
    // Models are asked for no more than the rest.
    let replayed = rig
        .engine
        .mission_views()
        .replay(&ann, &begun.mission_id)
        .await
        .unwrap();
    assert!(replayed.identical, "{replayed:?}");
}

/// B002-17: the same for time.
#[tokio::test(flavor = "multi_thread")]
async fn b002_17_a_time_budget_stops_the_mission() {
    let clock = SimulatedClock::at(sample::at(0).unwrap());
    let passing = clock.clone();
    let models = Script::new()
        .saying(Role::Worker, move |request, _| {
            passing.advance(Duration::from_millis(300)).unwrap();
            Ok(works(request))
        })
        .models();
    let rig = Rig::with_clock(models, Settings::default(), Arc::new(clock)).await;
    let mut order = asked();
    order["time_budget_ms"] = json!(200);
    let begun = rig.start(order).await;
    let done = rig.settled(&begun.mission_id).await;
    assert_eq!(done.state, MissionState::BudgetExceeded, "{done:#?}");
}

/// B002-12: a running mission can be cancelled; one that is over cannot, and nothing changes.
#[tokio::test(flavor = "multi_thread")]
async fn b002_12_cancelling_ends_a_mission_once() {
    let models = Script::new()
        .saying(Role::Reviewer, |_, _| Ok(approved(&["lead_123"])))
        .models();
    let (rig, waiting) = ended(models).await;
    assert_eq!(waiting.state, MissionState::AwaitingApproval);
    let ann = person("ann");
    let cancelled = rig
        .engine
        .missions()
        .cancel(&ann, &waiting.mission_id, "not now".to_owned())
        .await
        .unwrap();
    assert_eq!(cancelled.state, MissionState::Cancelled);
    let again = rig
        .engine
        .missions()
        .cancel(&ann, &waiting.mission_id, "again".to_owned())
        .await;
    assert_eq!(again.unwrap_err().code, ErrorCode::IllegalTransition);
    let after = rig
        .engine
        .mission_views()
        .show(&ann, &waiting.mission_id)
        .await
        .unwrap();
    assert_eq!(after, cancelled);
    assert_eq!(
        rig.crm.leads.lock().unwrap()["lead_123"]["stage"],
        "Qualified"
    );
}

/// A cancellation is applied even while the run's driver is still starting. The decision uses the driver's slot, so
/// neither writes on top of the other's state. Stages that run then add nothing to the mission.
#[tokio::test(flavor = "multi_thread")]
async fn a_mission_is_cancelled_right_after_its_order() {
    let rig = Rig::new().await;
    let ann = person("ann");
    for number in 0..24 {
        let begun = rig.start(order()).await;
        let reason = format!("order {number} was a mistake");
        let cancelled = rig
            .engine
            .missions()
            .cancel(&ann, &begun.mission_id, reason);
        cancelled.await.unwrap();
        let done = rig.settled(&begun.mission_id).await;
        assert_eq!(done.state, MissionState::Cancelled, "{done:#?}");
        let replayed = rig
            .engine
            .mission_views()
            .replay(&ann, &begun.mission_id)
            .await;
        assert_eq!(replayed.unwrap().divergence, None);
    }
}

/// B002-15: the same request with the same id is the same mission; a different one is refused.
#[tokio::test(flavor = "multi_thread")]
async fn b002_15_an_order_that_is_repeated_finds_its_mission() {
    let models = Script::new().models();
    let rig = Rig::with_models(Arc::<ScriptedModels>::clone(&models)).await;
    let mut order = asked();
    order["mission_id"] = json!("brief-1");
    let begun = rig.start(order.clone()).await;
    rig.settled(&begun.mission_id).await;
    let again = rig.start(order.clone()).await;
    assert_eq!((again.run_id, models.calls()), (begun.run_id, 6));
    order["goal"] = json!("Another goal.");
    let order: MissionOrder = serde_json::from_value(order).unwrap();
    let refused = rig
        .engine
        .missions()
        .start(&person("ann"), &order)
        .await
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::AlreadyExists);
}

/// B002-12: every state in the journal follows from the one before.
#[tokio::test(flavor = "multi_thread")]
async fn b002_12_states_follow_each_other() {
    let models = Script::new()
        .saying(Role::Reviewer, |_, _| Ok(approved(&["lead_123"])))
        .models();
    let (rig, waiting) = ended(models).await;
    let history = rig
        .engine
        .journals()
        .history(&person("ann").tenant, &waiting.run_id)
        .await
        .unwrap();
    let mut run: Option<charter_domain::run::Run> = None;
    let mut passed: Vec<MissionState> = Vec::new();
    for entry in history.into_parts().0 {
        match (&mut run, entry.event) {
            (Some(run), event) => run.apply(event, entry.at).unwrap(),
            (None, event @ RunEvent::Started(_)) => {
                run = Some(charter_domain::run::Run::start(event, entry.at).unwrap());
            }
            (None, event) => panic!("{event:?}"),
        }
        let state = charter_domain::mission::state(run.as_ref().unwrap());
        if passed.last() != Some(&state) {
            passed.push(state);
        }
    }
    use MissionState as S;
    assert_eq!(
        passed,
        [
            S::Created,
            S::Planned,
            S::Prompted,
            S::Running,
            S::Aggregating,
            S::Reviewing,
            S::AwaitingApproval
        ]
    );
    for pair in passed.windows(2) {
        assert!(
            charter_domain::mission::may_follow(pair[0], pair[1]),
            "{pair:?}"
        );
    }
}
