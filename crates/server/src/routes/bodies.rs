//! The schemas of bodies that are sent and that are this interface's own, for the OpenAPI document. Those of the
//! contracts are in `charter_contract::schema`.

use charter_contract::catalogue::evidence::Attachment;
use charter_contract::schema::{Draft, SchemaEntry, of_type, replace_contracts};
use charter_engine::{
    GraphQuery, KeyOrder, KeyRotation, LeaseRequest, MemoryQuery, MissionOrder, Remember,
    SkillSearch, SkillsSent, Supersede,
};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::{agent_skills, approvals, candidates, gate, lenses, missions, plans, playbooks, runs};
use crate::a2a::{JsonRpcCall, SentMessage};
use crate::openapi::COMPONENTS;

/// Each by the name that operations refer to it with, which is its title as well: names of types may be taken twice.
pub(crate) fn schemas() -> impl Iterator<Item = (&'static str, Value)> {
    let bodies = [
        ("a2a_call", of::<JsonRpcCall>()),
        ("a2a_message", of::<SentMessage>()),
        ("approval_report", of::<approvals::ResultReport>()),
        ("approval_word", of::<approvals::DecisionBody>()),
        ("candidate_proof", of::<candidates::PromotionBody>()),
        ("evidence_attachment", of::<Attachment>()),
        ("gate_question", of::<gate::ExplainBody>()),
        ("graph_query", of::<GraphQuery>()),
        ("key_order", of::<KeyOrder>()),
        ("key_rotation", of::<KeyRotation>()),
        ("lease_request", of::<LeaseRequest>()),
        ("lens_question", of::<lenses::Question>()),
        ("lens_question_to_one", of::<lenses::QuestionToOne>()),
        ("memory_new", of::<Remember>()),
        ("memory_search", of::<MemoryQuery>()),
        ("memory_version", of::<Supersede>()),
        ("mission_order", of::<MissionOrder>()),
        ("mission_stop", of::<missions::CancelBody>()),
        ("plan_order", of::<plans::StartPlanBody>()),
        ("playbook_order", of::<playbooks::StartPlaybookBody>()),
        ("run_abort", of::<runs::AbortBody>()),
        ("run_confirmation", of::<runs::ConfirmationBody>()),
        ("run_parameters", of::<runs::ParametersBody>()),
        ("skill_bulk", of::<agent_skills::Bulk>()),
        ("skill_files", of::<SkillsSent>()),
        ("skill_search", of::<SkillSearch>()),
    ];
    bodies.into_iter().map(|(name, mut schema)| {
        schema["title"] = json!(title(name));
        (name, schema)
    })
}

/// `plan_order` as `PlanOrder`.
fn title(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

fn of<T: JsonSchema>() -> Value {
    let mut schema = of_type::<T>(Draft::Draft202012);
    replace_contracts(
        &mut schema,
        &|contract: &'static SchemaEntry| json!({"$ref": format!("{COMPONENTS}{}", contract.name)}),
    );
    schema
}
