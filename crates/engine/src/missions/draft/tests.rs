use charter_contract::catalogue::mission_type::WriteBack;
use charter_contract::catalogue::tool::Tool;
use charter_contract::foreign_schema::ForeignSchema;
use charter_contract::mission::worker_result::CitationKind;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::schema::{self, DraftSchema, Sources};
use super::*;

fn foreign(schema: &Value) -> ForeignSchema {
    ForeignSchema::from(schema.as_object().unwrap().clone())
}

/// Whether a draft matches a schema; a draft that matches must parse.
fn keeps<D: DeserializeOwned>(wanted: &DraftSchema, draft: &Value) -> bool {
    let by_schema = foreign(&wanted.schema).violations(draft).is_empty();
    let by_type = serde_json::from_value::<D>(draft.clone()).is_ok();
    assert!(
        !by_schema || by_type,
        "the schema lets through what cannot be read: {draft}"
    );
    by_schema
}

fn names<'a>(names: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    names.iter().copied()
}

/// `s1` is a lead, `s2` a result, `s3` a page.
fn sources() -> Sources {
    let named = [
        ("lead_1", CitationKind::Internal),
        ("wrk.look", CitationKind::Internal),
        ("https://example.com/a", CitationKind::External),
    ];
    Sources::from_names(
        named
            .map(|(name, kind)| (name.to_owned(), vec![kind]))
            .into(),
    )
}

fn tool() -> Tool {
    serde_json::from_value(json!({
        "tool_id": "crm.get_lead", "name": "get_lead", "provider": "crm", "tool_class": "readonly",
        "domain": "sales", "description": "Shows a lead.", "language": "http",
        "parameters": [{"name": "lead", "type": "string", "required": true, "pattern": "lead_"}],
        "implementation": {"type": "http", "method": "GET", "url": "https://crm.example.com/"},
    }))
    .unwrap()
}

fn answered(citations: &Value) -> Value {
    json!({"output_text": "It is so.", "citations": citations, "confidence": 0.5})
}

/// A plan uses only the offered names of tools, scopes and skills.
#[test]
fn a_plan_names_what_is_offered() {
    let wanted = schema::plan(names(&["crm.get_lead"]), names(&["crm.leads"]), names(&[]));
    let task = |more: Value| {
        let mut task = json!({"task_id": "look", "role_type": "worker", "objective": "Look."});
        let fields = task.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        json!({"tasks": [task]})
    };
    let keeps = |draft: &Value| keeps::<PlanDraft>(&wanted, draft);
    assert!(keeps(&task(json!({"depends_on": ["search"]}))));
    assert!(keeps(&task(json!({
        "allowed_tools": ["crm.get_lead"], "required_data_scopes": ["crm.leads"],
    }))));
    assert!(!keeps(&json!({"tasks": []})));
    assert!(!keeps(&task(json!({"role_type": "reviewer"}))));
    assert!(!keeps(&task(json!({"allowed_tools": ["crm.drop"]}))));
    assert!(!keeps(&task(json!({"required_data_scopes": ["hr.pay"]}))));
    assert!(
        !keeps(&task(json!({"required_capabilities": ["sales.close"]}))),
        "where nothing is offered, nothing can be named"
    );
}

/// A citation names a source from the context, with the right kind (B002-6); a task that must cite does.
#[test]
fn an_answer_cites_what_was_shown() {
    let wanted = schema::answer(&sources(), schema::Citations::Required, None);
    let keeps = |citations: &Value| keeps::<AnswerDraft>(&wanted, &answered(citations));
    assert!(keeps(&json!([{"kind": "internal", "ref": "s1"}])));
    assert!(keeps(&json!([{"kind": "external", "ref": "s3"}])));
    assert!(!keeps(&json!([{"kind": "external", "ref": "s1"}])));
    assert!(!keeps(&json!([{"kind": "internal", "ref": "s4"}])));
    assert!(!keeps(&json!([])));
}

/// A schema reaches the model like instructions do: it names sources by aliases, and the data has their names.
#[test]
fn no_name_of_a_source_is_in_a_schema() {
    let schemas = [
        schema::answer(&sources(), schema::Citations::Required, None),
        schema::turn(
            [&tool()].into_iter(),
            &sources(),
            schema::Citations::Required,
            None,
        ),
        schema::packet(&sources()),
    ];
    for wanted in schemas {
        let text = wanted.schema.to_string();
        for name in ["example.com", "wrk.look"] {
            assert!(!text.contains(name), "{}: {text}", wanted.name);
        }
    }
    let shown = sources().shown_in(json!({"goal": "G"}));
    let names = json!({"s1": "lead_1", "s2": "wrk.look", "s3": "https://example.com/a"});
    assert_eq!(shown, json!({"goal": "G", "sources": names}));
}

/// An alias never equals the name of another source, and a name resolves to itself.
#[test]
fn an_alias_and_a_name_are_not_confused() {
    let internal = |name: &str| (name.to_owned(), vec![CitationKind::Internal]);
    let sources = Sources::from_names(vec![internal("s1"), internal("lead_1")]);
    let meant = |text: &str| sources.meant(Text::parse(text).unwrap()).to_string();
    let shown = sources.shown_in(json!({}));
    assert_eq!(shown, json!({"sources": {"s2": "s1", "s3": "lead_1"}}));
    assert_eq!(
        ["s1", "s2", "s3", "lead_1", "s4"].map(meant),
        ["s1", "s1", "lead_1", "lead_1", "s4"]
    );
}

/// A task that need not cite may omit sources, and a task without sources cannot invent them.
#[test]
fn an_answer_without_sources_invents_none() {
    let free = schema::answer(&sources(), schema::Citations::Optional, None);
    assert!(keeps::<AnswerDraft>(&free, &answered(&json!([]))));
    let none = schema::answer(&Sources::default(), schema::Citations::Required, None);
    let bare = json!({"output_text": "It is so.", "confidence": 0.5});
    assert!(keeps::<AnswerDraft>(&none, &bare));
    let made_up = answered(&json!([{"kind": "internal", "ref": "s1"}]));
    assert!(!keeps::<AnswerDraft>(&none, &made_up));
    let sure = json!({"output_text": "x", "confidence": 1.5});
    assert!(!keeps::<AnswerDraft>(&none, &sure));
}

/// If there are more names than a schema may list, any text matches, and is checked afterwards.
#[test]
fn very_many_sources_are_not_spelt_out() {
    let many = (0..201).map(|at| (format!("lead_{at}"), vec![CitationKind::Internal]));
    let many = Sources::from_names(many.collect());
    let wanted = schema::answer(&many, schema::Citations::Required, None);
    assert!(!wanted.schema.to_string().contains("\"s7\""));
    let draft = answered(&json!([{"kind": "internal", "ref": "lead_7"}]));
    assert!(keeps::<AnswerDraft>(&wanted, &draft));
}

/// The prompt's own schema applies to the structured output, unless it refers to parts of itself: inside another schema
/// those would be other parts.
#[test]
fn an_answer_keeps_to_the_prompts_schema() {
    let ranked = foreign(&json!({
        "type": "object", "required": ["priority"],
        "properties": {"priority": {"enum": ["high", "low"]}},
    }));
    let wanted = schema::answer(
        &Sources::default(),
        schema::Citations::Optional,
        Some(&ranked),
    );
    let with = |structured: Value| json!({"output_text": "x", "confidence": 0.5, "structured_output": structured});
    let keeps = |wanted: &DraftSchema, draft: &Value| keeps::<AnswerDraft>(wanted, draft);
    assert!(keeps(&wanted, &with(json!({"priority": "low"}))));
    assert!(!keeps(&wanted, &with(json!({"priority": "dire"}))));
    assert!(!keeps(
        &wanted,
        &json!({"output_text": "x", "confidence": 0.5})
    ));
    let within = foreign(&json!({
        "type": "object", "properties": {"next": {"$ref": "#/$defs/step"}},
        "$defs": {"step": {"type": "string"}},
    }));
    let wanted = schema::answer(
        &Sources::default(),
        schema::Citations::Optional,
        Some(&within),
    );
    assert!(keeps(&wanted, &with(json!({"next": 7}))));
    let many: Vec<u32> = (0..500).collect();
    for large in [
        json!({"enum": many}),
        json!({"unevaluatedProperties": false}),
    ] {
        let wanted = schema::answer(
            &Sources::default(),
            schema::Citations::Optional,
            Some(&foreign(&large)),
        );
        assert!(keeps(&wanted, &with(json!({"next": 7}))), "{large}");
    }
}

/// A turn is calls or the final answer; a call is of a tool in scope, with its parameters (B003-4).
#[test]
fn a_turn_is_either_calls_or_the_last_word() {
    let tool = tool();
    let wanted = schema::turn(
        [&tool].into_iter(),
        &sources(),
        schema::Citations::Optional,
        None,
    );
    let keeps = |draft: &Value| keeps::<TurnDraft>(&wanted, draft);
    let call = |tool: &str, parameters: Value| json!({"calls": [{"tool": tool, "parameters": parameters}]});
    assert!(keeps(&json!({"answer": answered(&json!([]))})));
    assert!(keeps(&call("crm.get_lead", json!({"lead": "lead_1"}))));
    assert!(!keeps(&call("crm.get_lead", json!({}))));
    assert!(!keeps(&call("crm.drop", json!({"lead": "lead_1"}))));
    assert!(!keeps(&json!({})));
    assert!(!keeps(&json!({"calls": []})));
    let mut both = call("crm.get_lead", json!({"lead": "lead_1"}));
    both["answer"] = answered(&json!([]));
    assert!(!keeps(&both));
}

/// Every claim has support from the sources in the context (B002-10).
#[test]
fn a_packet_supports_its_claims() {
    let wanted = schema::packet(&sources());
    let draft = |support: Value| {
        json!({
            "summary": "S", "evidence_matrix": [{"claim": "C", "support_refs": support}],
            "coverage_gaps": ["nothing on x"],
        })
    };
    let keeps = |draft: &Value| keeps::<PacketDraft>(&wanted, draft);
    assert!(keeps(&draft(json!(["s2", "s3"]))));
    assert!(!keeps(&draft(json!([]))));
    assert!(!keeps(&draft(json!(["s4"]))));
    assert!(!keeps(&json!({"summary": "S"})));
}

fn write_back() -> WriteBack {
    serde_json::from_value(json!({
        "action_type": "move", "target_entity_type": "lead", "description": "Moves a lead.",
        "payload_schema": {"type": "object", "required": ["stage"]}, "by": {"tool": "crm.move_lead"},
    }))
    .unwrap()
}

/// An approved review has its output, an edited one lists its edits (B002-11), and a rejected one proposes nothing; the
/// mission's type offers every proposal (B002-12).
#[test]
fn a_review_says_what_its_verdict_needs() {
    let wanted = schema::review(&[write_back()]);
    let keeps = |draft: &Value| keeps::<ReviewDraft>(&wanted, draft);
    let proposal = |action: &str, payload: Value| {
        json!([{
            "action_type": action, "target_entity_type": "lead", "target_entity_id": "lead_1",
            "payload": payload,
        }])
    };
    let approved = |proposals: Value| {
        json!({
            "review_status": "approved", "approved_output": {"summary": "S"}, "proposals": proposals,
        })
    };
    assert!(keeps(&approved(proposal("move", json!({"stage": "Won"})))));
    assert!(!keeps(&approved(proposal("move", json!({})))));
    assert!(!keeps(&approved(proposal("drop", json!({"stage": "Won"})))));
    assert!(!keeps(&json!({"review_status": "approved"})));
    let mut edited = json!({
        "review_status": "approved_with_edits", "approved_output": {"summary": "S"},
    });
    assert!(!keeps(&edited));
    edited["required_edits"] = json!(["Say when."]);
    assert!(keeps(&edited));
    assert!(keeps(&json!({"review_status": "rejected"})));
    assert!(!keeps(&json!({
        "review_status": "rejected", "proposals": proposal("move", json!({"stage": "Won"})),
    })));
    assert!(!keeps(&json!({"review_status": "fine"})));
    let nothing_offered = schema::review(&[]);
    let made_up = approved(proposal("move", json!({"stage": "Won"})));
    let violations = foreign(&nothing_offered.schema).violations(&made_up);
    assert!(!violations.is_empty());
}
