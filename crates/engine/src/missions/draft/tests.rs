use charter_contract::validate::against_schema;

use super::*;

fn keeps<D: Draft>(draft: &Value) -> bool {
    let schema = D::schema();
    let schema = schema.as_object().unwrap();
    let by_schema = against_schema(schema, draft).is_empty();
    let by_type = serde_json::from_value::<D>(draft.clone()).is_ok();
    assert!(
        !by_schema || by_type,
        "the schema lets through what cannot be read: {draft}"
    );
    by_schema
}

/// What a provider is held to can be read: every schema compiles, lets good drafts through, and refuses
/// what is missing or unknown.
#[test]
fn schemas_and_types_of_drafts_agree() {
    assert!(keeps::<PlanDraft>(&json!({"tasks": [
        {"task_id": "look", "role_type": "worker", "objective": "Look."},
        {"task_id": "search", "role_type": "researcher", "objective": "Search.", "depends_on": ["look"]},
    ]})));
    assert!(!keeps::<PlanDraft>(&json!({"tasks": []})));
    assert!(!keeps::<PlanDraft>(&json!({"tasks": [
        {"task_id": "x", "role_type": "reviewer", "objective": "Review."},
    ]})));
    let answer = json!({
        "output_text": "It is so.", "citations": [{"kind": "internal", "ref": "lead_1"}], "confidence": 0.5,
    });
    assert!(keeps::<AnswerDraft>(&answer));
    assert!(keeps::<TurnDraft>(&json!({"answer": answer})));
    assert!(keeps::<TurnDraft>(
        &json!({"calls": [{"tool": "crm.search", "parameters": {}}]})
    ));
    assert!(!keeps::<AnswerDraft>(
        &json!({"output_text": "x", "citations": [], "confidence": 1.5})
    ));
    assert!(keeps::<PacketDraft>(&json!({
        "summary": "S", "evidence_matrix": [{"claim": "C", "support_refs": ["wrk.look"]}],
        "coverage_gaps": ["nothing on x"],
    })));
    assert!(!keeps::<PacketDraft>(&json!({"summary": "S"})));
    assert!(keeps::<ReviewDraft>(&json!({
        "review_status": "approved", "approved_output": {"summary": "S"},
        "proposals": [{
            "action_type": "a", "target_entity_type": "lead", "target_entity_id": "lead_1", "payload": {},
        }],
    })));
    assert!(!keeps::<ReviewDraft>(&json!({"review_status": "fine"})));
}
