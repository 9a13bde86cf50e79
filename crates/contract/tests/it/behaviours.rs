//! Tests of behaviours beyond single documents, by behaviour.

use std::collections::BTreeMap;

use charter_contract::agentic::error::{AgentError, RecommendedActionType};
use charter_contract::agentic::request::AgentRequest;
use charter_contract::agentic::response::{ActionType, AgentResponse};
use charter_contract::agentic::tool_definition::{
    ParameterDefinition, ParameterSchemaError, ToolDefinition, definitions, parameters_from_schema,
    parameters_to_schema,
};
use charter_contract::bounds;
use charter_contract::catalogue::domain::Domain;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ErrorId, RequestId, ResponseId, TenantId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::worker_result::WorkerResult;
use charter_contract::mission::{Artifact, MissionArtifact, Stored};
use charter_contract::parameter::{Parameter, ParameterType};
use charter_contract::registry::validate;
use charter_contract::schema::SchemaName;
use charter_contract::time::Timestamp;
use charter_contract::validate::parse;
use charter_contract::violation::{MAX_VIOLATIONS, Violation};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use uuid::Uuid;

const ENVELOPE: &str = include_str!("../seeds/mission_envelope.json");
const RESULT: &str = include_str!("../seeds/worker_result.json");
const SKILL: &str = include_str!("../seeds/skill.json");

/// Returns the pointer, keyword and message of each violation.
fn violation_fields(found: Vec<Violation>) -> Vec<(String, String, String)> {
    found
        .into_iter()
        .map(|v| (v.pointer, v.keyword, v.message))
        .collect()
}

fn expected_violation(pointer: &str, keyword: &str, message: &str) -> (String, String, String) {
    (pointer.to_owned(), keyword.to_owned(), message.to_owned())
}

#[test]
fn b002_1_an_artifact_is_read_by_its_schema_name_and_version() {
    let artifact = Artifact::parse(RESULT.as_bytes()).unwrap();
    assert_eq!(artifact.name(), SchemaName::WorkerResult);
    assert_eq!(
        violation_fields(
            Artifact::parse(RESULT.replace("\"v1\"", "\"v7\"").as_bytes()).unwrap_err()
        ),
        [expected_violation(
            "/schema_version",
            "unsupported_version",
            "the version `v7` is not supported; known: `v1`"
        )]
    );
    let skill = RESULT.replace("worker_result\"", "skill\"");
    let [(pointer, keyword, message)] = <[_; 1]>::try_from(violation_fields(
        Artifact::parse(skill.as_bytes()).unwrap_err(),
    ))
    .unwrap();
    assert_eq!(
        (pointer.as_str(), keyword.as_str()),
        ("/schema_name", "enum")
    );
    assert!(
        message.starts_with("`skill` is not one of mission_envelope, "),
        "{message}"
    );
}

#[test]
fn b002_3_a_stored_artifact_has_the_root_metadata_of_its_mission() {
    let envelope: MissionEnvelope = parse(ENVELOPE.as_bytes()).unwrap();
    let mission = envelope.mission_root();
    let result: WorkerResult = parse(RESULT.as_bytes()).unwrap();
    assert_eq!(
        (result.root().tenant_id, result.root().actor_id),
        (None, None)
    );
    let stored = Stored::stamp(result.clone(), &mission).unwrap();
    assert_eq!(stored.as_ref().tenant_id, Some(mission.tenant_id.clone()));
    assert_eq!(stored.as_ref().actor_id, Some(mission.actor_id.clone()));

    let mut foreign = result;
    foreign.tenant_id = Some(TenantId::parse("other").unwrap());
    foreign.created_at = Timestamp::parse("2026-04-14T11:59:59Z").unwrap();
    assert_eq!(
        violation_fields(Stored::stamp(foreign, &mission).unwrap_err()),
        [
            expected_violation(
                "/tenant_id",
                "root_metadata",
                "`other` differs from the mission's tenant_id, `tenant_velocity`"
            ),
            expected_violation(
                "/created_at",
                "root_metadata",
                "2026-04-14T11:59:59Z is before the mission's start, 2026-04-14T12:00:00Z"
            ),
        ]
    );
}

#[test]
fn structure_faults_come_first_with_line_and_column() {
    let message = |bytes: &[u8]| {
        let [found] = <[Violation; 1]>::try_from(parse::<Skill>(bytes).unwrap_err()).unwrap();
        (found.stage.as_str(), found.message)
    };
    assert_eq!(
        message(b"{\n  \"skill_id\": \"a\"\n  \"name\": \"b\"\n}"),
        (
            "structure",
            "expected `,` or `}` at line 3 column 3".to_owned()
        )
    );
    assert_eq!(
        message(b"{\"skill_id\": \"\xff\"}"),
        ("structure", "byte 14 is not UTF-8".to_owned())
    );
    let large = vec![b' '; bounds::JSON_BYTES + 1];
    assert_eq!(
        message(&large).1,
        "the document has 16777217 bytes; the limit is 16777216"
    );
    let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
    assert_eq!(
        message(deep.as_bytes()).1,
        "the document nests more than 80 levels deep; flatten it"
    );
    let stored: Skill = parse(SKILL.as_bytes()).unwrap();
    let stored = serde_json::to_string(&stored).unwrap();
    let twice = stored.replacen('{', "{\"purpose\":\"other\",", 1);
    assert!(
        message(twice.as_bytes())
            .1
            .starts_with("duplicate field `purpose`")
    );
}

/// A report is for people: for a document with very many faults, it contains the first.
#[test]
fn the_first_violation_of_a_very_large_document_is_reported() {
    let found = |examples: usize| {
        let skill = json!({"examples": vec![0; examples]});
        validate(SchemaName::Skill, &skill).len()
    };
    assert_eq!(found(2_000), MAX_VIOLATIONS);
    // The first violation, and a note that others follow.
    assert_eq!(found(bounds::SCHEMA_FAULT_STEPS / 3), 2);
}

/// Ruling 11, 15: spellings accepted on input are stored in the second form.
#[test]
fn ruling_11_and_15_inputs_are_stored_in_the_second_form() {
    let skill: Skill = parse(SKILL.as_bytes()).unwrap();
    let stored = serde_json::to_value(&skill).unwrap();
    assert_eq!(stored["execution_plan"]["steps"][0]["type"], "readonly");
    assert_eq!(stored["version"], "0.1.0");
    assert_eq!(stored["created_at"], "2024-01-15T10:00:00Z");

    let mut value: Value = serde_json::from_str(SKILL).unwrap();
    let fields = value.as_object_mut().unwrap();
    fields.remove("domain");
    fields.insert("classification".into(), json!({ "domain": "security" }));
    let again: Skill = parse(value.to_string().as_bytes()).unwrap();
    assert_eq!(again, skill);
}

#[test]
fn ruling_1_withdrawn_collections_name_their_successor() {
    let error = |text: &str| DocumentKind::parse(text).unwrap_err().to_string();
    assert_eq!(
        error("cloud_knowledge"),
        "the collection `cloud_knowledge` is deprecated: use `domain_lens` \
         (it is a domain lens with content_type cloud_service)"
    );
    assert!(error("intent").contains("use `skill`"));
    assert!(error("context_builder").contains("use `skill`"));
    assert_eq!(error("skills"), "`skills` is not a document kind");
    assert_eq!(DocumentKind::parse("skill"), Ok(DocumentKind::Skill));
}

#[test]
fn documents_of_every_kind_have_the_same_interface() {
    let edge = json!({ "from": "a", "type": "requires", "to": "b", "domain": "security" });
    let (edge, warnings) = Document::from_value(DocumentKind::GraphEdge, &edge).unwrap();
    assert_eq!(
        (edge.id().as_ref(), edge.kind(), warnings),
        ("a:requires:b", DocumentKind::GraphEdge, vec![])
    );
    assert_eq!(edge.domain().unwrap().as_str(), "security");
    assert_eq!(edge.tenant_id(), None);
    for (kind, text, id) in [
        (
            DocumentKind::MissionType,
            include_str!("../examples/mission_type.json"),
            "lead_intelligence_brief",
        ),
        (
            DocumentKind::PromptTemplate,
            include_str!("../examples/prompt_template.json"),
            "crm_lead_intelligence_worker",
        ),
    ] {
        let stored = Document::from_stored(kind, text).unwrap();
        let read = Document::from_value(kind, &serde_json::from_str(text).unwrap());
        assert_eq!(read, Ok((stored.clone(), vec![])));
        assert_eq!((stored.kind(), stored.id().as_ref()), (kind, id));
        assert_eq!(stored.domain().unwrap().as_str(), "sales");
        assert_eq!(stored.version().unwrap().as_str(), "1.0.0");
        assert!(!stored.is_candidate());
    }
    assert_eq!(
        violation_fields(Document::from_value(DocumentKind::Evidence, &json!({})).unwrap_err()),
        [expected_violation(
            "",
            "registrable",
            "`evidence` is written by the server and cannot be registered"
        )]
    );
    for domain in Domain::seeded() {
        let value = serde_json::to_value(&domain).unwrap();
        assert_eq!(validate(SchemaName::Domain, &value), vec![]);
    }
}

/// Data for the context of models is limited on registration.
#[test]
fn lists_of_mission_types_and_prompt_templates_are_bounded() {
    let cases = [
        (
            DocumentKind::PromptTemplate,
            include_str!("../examples/prompt_template.json"),
            "/examples",
            "example_id",
            100,
        ),
        (
            DocumentKind::MissionType,
            include_str!("../examples/mission_type.json"),
            "/outline",
            "task_id",
            // A graph holds 1,000 tasks; every mission uses four of them.
            996,
        ),
    ];
    for (kind, text, list, id, most) in cases {
        let mut document: Value = serde_json::from_str(text).unwrap();
        let item = document.pointer(list).unwrap()[0].clone();
        let many = |count: usize| {
            let item = |at: usize| {
                let mut item = item.clone();
                item[id] = format!("n{at}").into();
                item
            };
            Value::Array((0..count).map(item).collect())
        };
        *document.pointer_mut(list).unwrap() = many(most);
        assert!(Document::from_value(kind, &document).is_ok());
        *document.pointer_mut(list).unwrap() = many(most + 1);
        let message = format!("allows at most {most} items");
        assert_eq!(
            violation_fields(Document::from_value(kind, &document).unwrap_err()),
            [expected_violation(list, "maxItems", &message)]
        );
        assert!(Document::from_stored(kind, &document.to_string()).is_err());
    }
}

#[test]
fn unknown_metadata_of_a_request_survives() {
    let value: Value =
        serde_json::from_str(include_str!("../examples/agent_request.json")).unwrap();
    let request: AgentRequest = parse(value.to_string().as_bytes()).unwrap();
    assert_eq!(request.parameters().unwrap()["region"], "us-east-1");
    assert_eq!(serde_json::to_value(&request).unwrap(), value);
}

#[test]
fn b003_3_built_responses_and_errors_keep_the_seeds_schemas() {
    let now = Timestamp::parse("2026-04-14T12:00:00Z").unwrap();
    let request = RequestId::from_uuid(Uuid::from_u128(1));
    let response = AgentResponse::builder(
        ResponseId::from_uuid(Uuid::from_u128(2)),
        request.clone(),
        now,
        "Two.",
    )
    .action(ActionType::CommandExecution, now, Map::new())
    .tool_used("aws.describe_security_groups")
    .tool_used("aws.describe_security_groups")
    .execution_time_ms(12)
    .metadata("findings", json!([]))
    .build();
    let written = serde_json::to_value(&response).unwrap();
    assert_eq!(validate(SchemaName::AgentResponse, &written), vec![]);
    assert_eq!(
        written["metadata"],
        json!({
            "execution_time_ms": 12,
            "tools_used": ["aws.describe_security_groups"],
            "findings": [],
        })
    );
    for code in ErrorCode::ALL {
        let error = AgentError::builder(
            ErrorId::from_uuid(Uuid::from_u128(3)),
            request.clone(),
            now,
            *code,
        )
        .detail("limit", 5)
        .recommend(RecommendedActionType::AlternativeApproach, "Ask for less.")
        .build();
        let written = serde_json::to_value(&error).unwrap();
        assert_eq!(validate(SchemaName::AgentError, &written), vec![], "{code}");
        assert_eq!(
            parse::<AgentError>(written.to_string().as_bytes()),
            Ok(error)
        );
    }
}

/// Ruling 25 and 26: converts a tool of the catalogue to the form for agents.
#[test]
fn ruling_25_a_catalogue_tool_becomes_a_valid_definition() {
    let tool: Tool = parse(include_bytes!("../seeds/tool.json")).unwrap();
    let definition = serde_json::to_value(ToolDefinition::from_tool(&tool)).unwrap();
    assert_eq!(validate(SchemaName::ToolDefinition, &definition), vec![]);
    assert_eq!(definition["id"], "tool-aws-describe-security-groups");
    assert_eq!(definition["parameters"]["region"]["required"], true);
    assert_eq!(definition["parameters"]["filters"].get("required"), None);
}

#[test]
fn ruling_26_unsupported_schema_keywords_are_refused_by_name() {
    let refused = |schema: Value| parameters_from_schema(&schema).unwrap_err();
    assert_eq!(refused(json!([])), ParameterSchemaError::NotAnObject);
    assert_eq!(
        refused(json!({ "type": "array" })),
        ParameterSchemaError::NotAnObject
    );
    assert_eq!(
        refused(json!({ "type": "object", "minProperties": 1 })),
        ParameterSchemaError::Keyword("minProperties".to_owned())
    );
    assert_eq!(
        refused(json!({ "type": "object", "properties": { "a": { "type": ["string", "null"] } } })),
        ParameterSchemaError::NoType("a".to_owned())
    );
    assert_eq!(
        refused(
            json!({ "type": "object", "properties": { "a": { "type": "object", "required": ["b"] } } })
        ),
        ParameterSchemaError::NestedRequired("a".to_owned())
    );
    assert_eq!(
        refused(json!({ "type": "object", "required": ["a"] })),
        ParameterSchemaError::Undescribed("a".to_owned())
    );
}

/// A parameter with several types accepts values of each, lists all of them, and is accepted under either name.
#[test]
fn a_parameter_may_have_several_types_and_a_name_of_its_servers() {
    let parameter: Parameter = serde_json::from_value(json!({
        "name": "filter", "wire_name": "$filter", "type": "string", "other_types": ["array"],
        "enum": ["open", ["open", "closed"]], "default": ["open", "closed"],
    }))
    .unwrap();
    let fits = [json!("x"), json!([]), json!(1), json!({})].map(|value| parameter.fits(&value));
    assert_eq!(fits, [true, true, false, false]);
    assert_eq!(parameter.types_in_words(), "string or array");
    for name in ["filter", "$filter"] {
        let given = Map::from_iter([(name.to_owned(), json!("open"))]);
        assert_eq!(parameter.given_in(&given), Some(&json!("open")), "{name}");
    }
    let schema = parameters_to_schema(&definitions(std::slice::from_ref(&parameter)));
    let shown = json!({
        "type": ["string", "array"], "description": "", "enum": ["open", ["open", "closed"]],
        "default": ["open", "closed"],
    });
    assert_eq!(schema["properties"], json!({ "$filter": shown }));
}

fn parameter() -> impl Strategy<Value = ParameterDefinition> {
    let value = prop_oneof![
        Just(json!(null)),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,5}".prop_map(Value::from)
    ];
    let extra = prop_oneof![
        Just(Map::new()),
        Just(Map::from_iter([("minimum".to_owned(), json!(1))])),
        Just(Map::from_iter([(
            "items".to_owned(),
            json!({ "type": "string" })
        )])),
    ];
    (
        prop::sample::select(ParameterType::ALL),
        ".{0,20}",
        any::<bool>(),
        prop::option::of(value.clone()),
        prop::option::of(prop::collection::vec(value, 0..3)),
        prop::collection::vec(prop::sample::select(ParameterType::ALL), 0..3),
        extra,
    )
        .prop_map(
            |(kind, description, required, default, allowed, other_types, extra)| {
                ParameterDefinition {
                    kind,
                    description,
                    required,
                    default,
                    other_types,
                    allowed,
                    extra,
                }
            },
        )
}

proptest! {
    /// Ruling 26: conversion to JSON Schema's list of required names and back loses nothing.
    #[test]
    fn ruling_26_parameters_survive_a_round_trip_through_json_schema(
        parameters in prop::collection::btree_map("[a-zA-Z~/ ]{1,8}", parameter(), 0..5),
    ) {
        let schema = parameters_to_schema(&parameters);
        let back: BTreeMap<String, ParameterDefinition> = parameters_from_schema(&schema).unwrap();
        prop_assert_eq!(&back, &parameters);
        prop_assert_eq!(parameters_to_schema(&back), schema);
    }
}
