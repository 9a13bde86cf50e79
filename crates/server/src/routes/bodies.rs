//! The schemas of bodies that are sent and that are this interface's own, for the OpenAPI document. Those of the
//! contracts are in `charter_contract::registry`.

use charter_contract::catalogue::evidence::Attachment;
use charter_contract::catalogue::evidence_submission::EvidenceSubmission;
use charter_contract::registry::replace_contracts;
use charter_contract::schema::{Draft, SchemaEntry, SchemaName, of_type};
use charter_engine::{
    AssignmentSubmission, ConnectionCode, ConnectionOrder, GraphQuery, KeyOrder, KeyRotation,
    LeaseRequest, MemoryQuery, MissionOrder, Remember, ScheduleOrder, SignInOrder, SkillSearch,
    SkillsSent, Supersede,
};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::{
    COMPONENTS, agent_skills, approvals, assignments, candidates, gate, lenses, missions, plans,
    playbooks, requests, runs,
};
use crate::a2a::{JsonRpcCall, SentMessage};

/// Each body by the name that operations refer to, which is also its title: two types may have one name.
pub(crate) fn schemas() -> impl Iterator<Item = (&'static str, Value)> {
    let bodies = [
        ("a2a_call", schema_of::<JsonRpcCall>()),
        ("a2a_message", schema_of::<SentMessage>()),
        ("approval_report", schema_of::<approvals::ResultReport>()),
        ("approval_choice", schema_of::<approvals::ApproveBody>()),
        ("approval_decision", schema_of::<approvals::DecisionBody>()),
        (
            "assignment_release",
            schema_of::<assignments::ReleaseBody>(),
        ),
        ("assignment_submission", schema_of::<AssignmentSubmission>()),
        (
            "candidate_promotion",
            schema_of::<candidates::PromotionBody>(),
        ),
        ("connection_code", schema_of::<ConnectionCode>()),
        ("connection_request", schema_of::<ConnectionOrder>()),
        ("evidence_attachment", schema_of::<Attachment>()),
        ("evidence_submission", schema_of::<EvidenceSubmission>()),
        ("gate_explain_request", schema_of::<gate::ExplainBody>()),
        ("graph_query", schema_of::<GraphQuery>()),
        ("key_request", schema_of::<KeyOrder>()),
        ("key_rotation", schema_of::<KeyRotation>()),
        ("lease_request", schema_of::<LeaseRequest>()),
        ("lens_search", schema_of::<lenses::Question>()),
        ("single_lens_search", schema_of::<lenses::QuestionToOne>()),
        ("new_memory", schema_of::<Remember>()),
        ("memory_search", schema_of::<MemoryQuery>()),
        ("memory_version", schema_of::<Supersede>()),
        ("mission_request", schema_of::<MissionOrder>()),
        ("mission_start", mission_start()),
        ("mission_cancellation", schema_of::<missions::CancelBody>()),
        ("plan_run_request", schema_of::<plans::StartPlanBody>()),
        (
            "playbook_run_request",
            schema_of::<playbooks::StartPlaybookBody>(),
        ),
        (
            "request_confirmation",
            schema_of::<requests::ConfirmedDocument>(),
        ),
        ("run_abort", schema_of::<runs::AbortBody>()),
        ("sign_in_request", schema_of::<SignInOrder>()),
        ("run_confirmation", schema_of::<runs::ConfirmationBody>()),
        ("run_parameters", schema_of::<runs::ParametersBody>()),
        ("schedule_request", schema_of::<ScheduleOrder>()),
        ("skill_bulk", schema_of::<agent_skills::Bulk>()),
        ("skill_files", schema_of::<SkillsSent>()),
        ("skill_search", schema_of::<SkillSearch>()),
    ];
    bodies.into_iter().map(|(name, mut schema)| {
        schema["title"] = json!(title(name));
        (name, schema)
    })
}

/// The two forms in which a mission is started.
fn mission_start() -> Value {
    let envelope = SchemaName::MissionEnvelope.as_str();
    let forms = ["mission_request", envelope];
    let forms = forms.map(|form| json!({"$ref": format!("{COMPONENTS}{form}")}));
    json!({"description": "A request for a mission, or the envelope of one.", "anyOf": forms})
}

/// `plan_run_request` as `PlanRunRequest`.
fn title(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = of_type::<T>(Draft::Draft202012);
    replace_contracts(
        &mut schema,
        &|contract: &'static SchemaEntry| json!({"$ref": format!("{COMPONENTS}{}", contract.name)}),
    );
    schema
}
