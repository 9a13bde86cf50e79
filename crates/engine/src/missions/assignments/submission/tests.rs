//! Results of agents, without a store.

use charter_contract::ids::{AssignmentId, Label, TaskId, TenantId};
use charter_contract::mission::AssignmentState;
use charter_contract::mission::task_graph::Role;
use charter_store::assignment::AssignmentOffer;
use uuid::Uuid;

use super::*;

const NOW: &str = "2026-04-14T12:00:00Z";

fn record(may_call: bool) -> AssignmentRecord {
    let brief = AssignmentBrief {
        mission_type: Label::parse("brief").unwrap(),
        objective: "Rank the leads.".to_owned(),
        system_prompt: "You rank.".to_owned(),
        task_prompt: "Rank.".to_owned(),
        prompt_package: None,
        librarian_pass: None,
        context: Map::new(),
        accepts: vec![ArtifactKind::WorkerResult],
        may_call,
        output_schema: None,
    };
    let now = Timestamp::parse(NOW).unwrap();
    AssignmentRecord {
        offer: AssignmentOffer {
            assignment_id: AssignmentId::from_uuid(Uuid::nil()),
            tenant_id: TenantId::parse("acme").unwrap(),
            mission_id: charter_contract::ids::MissionId::parse("m-1").unwrap(),
            role: Role::Worker,
            task_id: Some(TaskId::parse("rank").unwrap()),
            turn: 1,
            agents: "[]".to_owned(),
            brief: serde_json::to_string(&brief).unwrap(),
            offered_at: now,
            expires_at: moments::after(now, Duration::from_secs(60)),
        },
        state: AssignmentState::Claimed,
        lease: None,
        submission: None,
        refusal: None,
        submissions: 0,
    }
}

fn sent(body: &Value, may_call: bool) -> Result<StoredSubmission, EngineError> {
    let mut whole = json!({"lease_id": LeaseId::from_uuid(Uuid::nil())});
    for (field, value) in body.as_object().unwrap() {
        whole[field] = value.clone();
    }
    let submission: AssignmentSubmission = serde_json::from_value(whole).unwrap();
    let agent = UserId::parse("scout").unwrap();
    submission.checked(&record(may_call), &agent, Timestamp::parse(NOW).unwrap())
}

fn result(more: &Value) -> Value {
    let mut result = json!({
        "schema_name": "worker_result", "result_id": "wrk.1", "output_text": "Lead 1 is first.",
        "citations": [{"kind": "internal", "ref": "lead_1"}], "confidence": 0.5,
    });
    for (field, value) in more.as_object().unwrap() {
        result[field] = value.clone();
    }
    result
}

fn pointers(refused: &EngineError) -> Vec<String> {
    let found = refused.violations_found().into_iter();
    found.map(|violation| violation.pointer).collect()
}

#[test]
fn the_root_metadata_of_an_artifact_is_filled_in() {
    let stored = sent(&json!({"artifacts": [result(&json!({}))]}), false).unwrap();
    let artifact = &stored.artifacts[0];
    for (field, expected) in [
        ("mission_id", "m-1"),
        ("task_id", "rank"),
        ("producer", "scout"),
        ("schema_version", "v1"),
    ] {
        assert_eq!(artifact[field], expected, "{field}");
    }
}

#[test]
fn an_artifact_of_another_producer_task_or_kind_is_refused() {
    let of = |more: Value| {
        let refused = sent(&json!({"artifacts": [result(&more)]}), false);
        pointers(&refused.unwrap_err())
    };
    assert_eq!(
        of(json!({"producer": "someone"})),
        ["/artifacts/0/producer"]
    );
    assert_eq!(of(json!({"task_id": "other"})), ["/artifacts/0/task_id"]);
    let future = json!({"created_at": "2026-04-14T13:00:00Z"});
    assert_eq!(of(future), ["/artifacts/0/created_at"]);
    assert_eq!(of(json!({"confidence": 2})), ["/artifacts/0/confidence"]);
    let review = json!({
        "schema_name": "review_packet", "packet_id": "rev", "review_status": "rejected",
    });
    let refused = sent(&json!({"artifacts": [review]}), false).unwrap_err();
    assert_eq!(pointers(&refused), ["/artifacts/0/schema_name"]);
}

#[test]
fn a_result_has_artifacts_or_permitted_calls() {
    let calls = json!([{"tool": "crm.list_leads"}]);
    let artifacts = json!([result(&json!({}))]);
    let of = |body: Value, may_call: bool| pointers(&sent(&body, may_call).unwrap_err());
    assert_eq!(of(json!({}), true), [""]);
    let both = json!({"calls": calls, "artifacts": artifacts});
    assert_eq!(of(both, true), [""]);
    assert_eq!(of(json!({"calls": calls}), false), ["/calls"]);
    let many = json!({"calls": vec![json!({"tool": "crm.list_leads"}); MAX_CALLS + 1]});
    assert_eq!(of(many, true), ["/calls"]);
    let stored = sent(&json!({"calls": calls}), true).unwrap();
    assert_eq!(stored.calls.len(), 1);
}
