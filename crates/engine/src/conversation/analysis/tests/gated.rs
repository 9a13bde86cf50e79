//! The gate is asked before a model, and the rules that apply to the skill reach the model.

use charter_contract::error_code::ErrorCode;
use serde_json::json;

use super::rig::{Rig, drafting, gates};
use crate::Settings;

/// Hints and the texts of guardrails are instructions; the question is data.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_given_hints_and_rules() {
    let drafted = drafting(&[("Gate gate-7 is open.", &["f1"])]);
    let rig = Rig::new(&drafted).await;
    let answered = rig.ask("gates").await;
    let asked = drafted.asked();
    let task = &asked[0].task;
    assert!(task.contains("\n- Begin with the street side."), "{task}");
    assert!(task.contains("\n- Never speak of the owner."), "{task}");
    assert!(!task.contains("What is open?"), "{task}");
    assert_eq!(asked[0].context["question"], "What is open?");
    // A guardrail that warns appears in the answer.
    let warnings = answered.warnings();
    assert!(
        warnings.contains(&"reliability.models: Results stay here."),
        "{warnings:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guardrail_keeps_results_from_a_model() {
    let drafted = drafting(&[("Gate gate-7 is open.", &["f1"])]);
    let rig = Rig::with(&drafted, gates(), "hard_block", Settings::default()).await;
    let answered = rig.ask("gates").await;
    assert_eq!(drafted.calls(), 0);
    assert_eq!(answered.found(), ["gate-7", "gate-9"]);
    let notices = answered.notices();
    assert!(notices[0].contains("Results stay here."), "{notices:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guardrail_may_ask_for_a_person_before_a_model_is_asked() {
    let drafted = drafting(&[("Gate gate-7 is open.", &["f1"])]);
    let rig = Rig::with(&drafted, gates(), "require_approval", Settings::default()).await;
    let metadata = json!({"skill_id": "reliability.gates"});
    let refused = rig.request(1, "What is open?", metadata).await;
    assert_eq!(
        refused.err().map(|error| error.code),
        Some(ErrorCode::ApprovalRequired)
    );
    assert_eq!(drafted.calls(), 0);
}
