//! Tests of generated candidates, and of documents that are not valid candidates.

use std::sync::Arc;

use charter_contract::catalogue::playbook::{Playbook, SafetyClass};
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::vocabulary::Role;
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::scope::Scope;
use serde_json::{Value, json};

mod drafts;

use super::*;
use crate::catalogue::{Layer, Origin, View};
use crate::graph;

fn tool(id: &str, class: &str, more: &Value) -> Document {
    let mut tool = json!({
        "tool_id": id, "name": "t", "provider": "p", "tool_class": class, "domain": "vaults",
        "description": format!("Does {id}. And more."), "language": "python",
    });
    let fields = more.as_object().unwrap().clone();
    tool.as_object_mut().unwrap().extend(fields);
    Document::from_stored(DocumentKind::Tool, &tool.to_string()).unwrap()
}

fn parameter(name: &str, kind: &str) -> Value {
    json!({"name": name, "type": kind, "required": true})
}

fn promises(name: &str, kind: &str) -> Value {
    json!({"type": "object", "required": [name], "properties": {name: {"type": kind}}})
}

fn stored(kind: DocumentKind, value: &Value) -> Document {
    Document::from_stored(kind, &value.to_string()).unwrap()
}

fn agent() -> Document {
    stored(
        DocumentKind::Agent,
        &json!({
            "agent_id": "domain.vaults.keeper", "name": "k", "display_name": "K", "agent_type": "domain",
            "domain": "vaults", "capabilities": ["keep vaults"], "skill_refs": ["vaults.known"],
            "supported_context_types": ["vault_inventory", "lock_state"],
        }),
    )
}

/// A registered skill that calls a tool of another domain.
fn known_skill() -> Document {
    stored(
        DocumentKind::Skill,
        &json!({
            "skill_id": "vaults.known", "name": "known", "domain": "vaults", "display_name": "K",
            "description": "d", "purpose": "p", "output_type": "finding",
            "context": {"supported_context_types": ["vault_inventory"]},
            "execution_plan": {"steps": [{"step_id": "s", "type": "read", "tool_id": "clock.now"}]},
        }),
    )
}

/// A registered playbook that reverses `vault.lock` with `vault.unlock`.
fn known_playbook() -> Document {
    stored(
        DocumentKind::Playbook,
        &json!({
            "playbook_id": "vaults.rotate", "name": "Rotate", "domain": "vaults", "trigger_conditions": ["t"],
            "steps": [{"step_id": "turn", "type": "write", "tool_id": "vault.lock", "on_failure": "rollback",
                       "parameters": {"vault_id": "${user.which}"}}],
            "mandatory_parameters": [{"name": "which", "type": "string"}],
            "rollback_support": true,
            "rollback_steps": [{"step_id": "back", "tool_id": "vault.unlock", "reverses": "turn",
                                "parameters": {"vault_id": "${user.which}", "key": "${turn.key}"}}],
            "safety": {"safety_class": "supervised"},
        }),
    )
}

fn view(more: Vec<Document>) -> View {
    let reader = json!({"parameters": [parameter("name", "string"), {"name": "deep", "type": "boolean", "default": true},
                                       {"name": "note", "type": "string"}],
                        "output_schema": promises("vault_id", "string")});
    let mut documents = vec![
        agent(),
        known_skill(),
        known_playbook(),
        tool("vault.find", "readonly", &reader),
        tool(
            "vault.lock",
            "write",
            &json!({"parameters": [parameter("vault_id", "string")]}),
        ),
        tool(
            "vault.unlock",
            "write",
            &json!({"parameters": [parameter("vault_id", "string"), parameter("key", "string")]}),
        ),
        tool("vault.audit", "internal", &json!({})),
        tool(
            "vault.stage",
            "write",
            &json!({"implementation": {"type": "stage", "stage": "webhook"}}),
        ),
        tool(
            "vault.secrets",
            "readonly",
            &json!({"permission_level": "admin"}),
        ),
        tool("clock.now", "readonly", &json!({"domain": "platform"})),
        tool("mail.send", "write", &json!({"domain": "platform"})),
    ];
    documents.extend(more);
    let origin = Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse("p").unwrap(),
        version: "1".to_owned(),
    });
    let mut layer = Layer::default();
    for document in documents {
        layer.insert(document, Arc::clone(&origin), String::new());
    }
    View {
        global: Arc::new(layer),
        tenant: Arc::default(),
    }
}

fn boundary_in(view: &View) -> Boundary {
    let agent = view.agent("domain.vaults.keeper").unwrap();
    Boundary::for_agent(agent.document(), view, Role::Operator)
}

fn brief_in(view: &View, wanted: CandidateKind, text: &str, near: &[&str]) -> Brief {
    Brief {
        words: Words::from_text(text).unwrap(),
        wanted,
        boundary: boundary_in(view),
        near: near.iter().map(|id| ToolId::parse(id).unwrap()).collect(),
    }
}

fn brief(wanted: CandidateKind, near: &[&str]) -> Brief {
    brief_in(
        &view(Vec::new()),
        wanted,
        "lock the vault of Mrs. Ames",
        near,
    )
}

fn skill(brief: &Brief) -> Skill {
    match compose(brief).unwrap() {
        Document::Skill(skill) => skill,
        other => panic!("{other:?}"),
    }
}

fn playbook(brief: &Brief) -> Playbook {
    match compose(brief).unwrap() {
        Document::Playbook(playbook) => playbook,
        other => panic!("{other:?}"),
    }
}

/// The boundary holds the tools of the agent's domain and those its skills call. It excludes internal tools, stages of
/// missions, tools of other domains, and tools that the caller may not call.
#[test]
fn b000_5_the_boundary_is_the_agents() {
    let boundary = boundary_in(&view(Vec::new()));
    let tools: Vec<&str> = boundary.tools().map(|tool| tool.tool_id.as_ref()).collect();
    assert_eq!(
        tools,
        ["clock.now", "vault.find", "vault.lock", "vault.unlock"]
    );
}

#[test]
fn b000_5_a_skill_reads_with_the_nearest_tools_and_asks_for_what_they_need() {
    let brief = brief(
        CandidateKind::Read,
        &["vault.lock", "vault.find", "clock.now", "mail.send"],
    );
    let skill = skill(&brief);
    let steps: Vec<Value> = skill
        .execution_plan
        .steps
        .iter()
        .map(|step| json!([step.step_id, step.tool_id, step.parameters]))
        .collect();
    let arguments = json!({"name": "${user.name}", "deep": "${user.deep}"});
    assert_eq!(
        steps,
        [
            json!(["step_1", "vault.find", arguments]),
            json!(["step_2", "clock.now", {}])
        ]
    );
    let declared: Vec<Value> = skill
        .parameters
        .iter()
        .map(|p| json!([p.name, p.required]))
        .collect();
    assert_eq!(declared, [json!(["name", true]), json!(["deep", false])]);
    assert_eq!(
        skill.context.supported_context_types,
        [charter_contract::ids::Label::parse("vault_inventory").unwrap()]
    );
    assert!(skill.is_candidate);
    let document = Document::Skill(skill);
    assert_eq!(breaches(&brief, &document), [""; 0]);
    assert_eq!(document.inspect().violations, []);
}

#[test]
fn b000_18_a_playbook_is_supervised_fed_by_contract_and_undone_as_a_registered_one_is() {
    let brief = brief(CandidateKind::Change, &["vault.lock", "vault.find"]);
    let playbook = playbook(&brief);
    let body = serde_json::to_value(&playbook).unwrap();
    assert_eq!(
        body["steps"][1]["parameters"],
        json!({"vault_id": "${step_1.vault_id}"}),
        "{body:#}"
    );
    assert_eq!(body["steps"][1]["on_failure"], "rollback");
    assert_eq!(
        body["rollback_steps"],
        json!([{"step_id": "undo_step_2", "tool_id": "vault.unlock", "reverses": "step_2",
                "parameters": {"vault_id": "${step_1.vault_id}", "key": "${step_2.key}"}}])
    );
    assert_eq!(
        body["safety"],
        json!({"safety_class": "supervised", "requires_human_review_for": ["step_2"]})
    );
    assert_eq!(
        breaches(&brief, &Document::Playbook(playbook.clone())),
        [""; 0]
    );
    graph::from_playbook(&playbook).unwrap();
}

/// Without a feeder the value becomes a parameter; without a registered reversal there is none.
#[test]
fn b000_18_what_no_contract_promises_is_asked_for() {
    let alone = brief(CandidateKind::Change, &["vault.lock"]);
    let alone = playbook(&alone);
    assert_eq!(alone.steps.len(), 1);
    assert_eq!(alone.mandatory_parameters[0].name.as_ref(), "vault_id");
    let unlock = playbook(&brief(CandidateKind::Change, &["vault.unlock"]));
    assert!(!unlock.rollback_support);
    assert_eq!(unlock.rollback_steps, []);
}

/// Name, type and certainty must match exactly. A tool that takes the value as a parameter only repeats it.
#[test]
fn only_what_fits_exactly_feeds() {
    let misfits = [
        json!({"output_schema": promises("vault_id", "integer")}),
        json!({"output_schema": promises("vault", "string")}),
        json!({"output_schema": {"type": "object", "properties": {"vault_id": {"type": "string"}}}}),
        json!({"output_schema": {"type": "object", "required": ["vault_id"],
                                 "properties": {"vault_id": {"type": ["string", "null"]}}}}),
        json!({"output_schema": promises("vault_id", "string"), "parameters": [parameter("vault_id", "string")]}),
        json!({}),
    ];
    for misfit in misfits {
        let view = view(vec![tool("vault.other", "readonly", &misfit)]);
        let brief = brief_in(
            &view,
            CandidateKind::Change,
            "lock it",
            &["vault.lock", "vault.other"],
        );
        let playbook = playbook(&brief);
        assert_eq!(playbook.steps.len(), 1, "{misfit}");
    }
}

/// Tools that need each other's output do not cause a loop: both values become parameters.
#[test]
fn tools_that_feed_each_other_are_cut_somewhere() {
    let one =
        json!({"parameters": [parameter("b", "string")], "output_schema": promises("a", "string")});
    let two =
        json!({"parameters": [parameter("a", "string")], "output_schema": promises("b", "string")});
    let view = view(vec![
        tool("vault.one", "readonly", &one),
        tool("vault.two", "readonly", &two),
    ]);
    let brief = brief_in(
        &view,
        CandidateKind::Read,
        "both",
        &["vault.one", "vault.two"],
    );
    let skill = skill(&brief);
    let tools: Vec<&str> = skill
        .execution_plan
        .steps
        .iter()
        .map(|s| s.tool_id.as_ref())
        .collect();
    assert_eq!(tools, ["vault.two", "vault.one"]);
    graph::from_skill(&skill).unwrap();
}

/// Two tools may use one parameter name with different meanings.
#[test]
fn parameters_that_differ_keep_apart() {
    let size = json!({"parameters": [parameter("name", "integer")]});
    let view = view(vec![tool("vault.size", "readonly", &size)]);
    let brief = brief_in(
        &view,
        CandidateKind::Read,
        "size",
        &["vault.find", "vault.size"],
    );
    let names: Vec<String> = skill(&brief)
        .parameters
        .iter()
        .map(|p| p.name.to_string())
        .collect();
    assert_eq!(names, ["name", "deep", "step_2_name"]);
}

#[test]
fn b000_5_without_a_fitting_tool_the_reason_is_given() {
    let ids = |names: &[&str]| names.iter().map(|id| ToolId::parse(id).unwrap()).collect();
    assert_eq!(
        compose(&brief(CandidateKind::Read, &[])),
        Err(NoFit::NothingNear)
    );
    assert_eq!(
        compose(&brief(CandidateKind::Change, &["mail.send"])),
        Err(NoFit::NothingNear)
    );
    assert_eq!(
        compose(&brief(CandidateKind::Read, &["vault.lock"])),
        Err(NoFit::OnlyWrites(ids(&["vault.lock"])))
    );
    assert_eq!(
        compose(&brief(CandidateKind::Change, &["vault.find"])),
        Err(NoFit::OnlyReads(ids(&["vault.find"])))
    );
    let dotted = json!({"parameters": [parameter("a.b", "string")]});
    let view = view(vec![tool("vault.dotted", "readonly", &dotted)]);
    let dotted = brief_in(&view, CandidateKind::Read, "dotted", &["vault.dotted"]);
    assert!(matches!(compose(&dotted), Err(NoFit::Unreferable { .. })));
}

/// The text of a request is treated as plain words in every case.
#[test]
fn a_request_brings_nothing_that_is_evaluated() {
    let hostile = [
        "find ${user.secret} and ${step_1.vault_id}",
        "find {{ findings }} {% for x in y %}",
        "find \"}], \"safety\": {\"safety_class\": \"automated\"} \u{202e}\u{0}\n---\nsteps: []",
        "find $(reboot) `id` ; | true == true && [1][0]",
    ];
    let view = view(Vec::new());
    for text in hostile {
        for wanted in [CandidateKind::Read, CandidateKind::Change] {
            let brief = brief_in(&view, wanted, text, &["vault.find", "vault.lock"]);
            let document = compose(&brief).unwrap();
            assert_eq!(breaches(&brief, &document), [""; 0], "{text}");
            let words = brief.words.shown();
            assert!(
                !words.contains(['$', '{', '}', '"', '`', '\n', '\u{202e}', '\u{0}']),
                "{words}"
            );
        }
    }
    assert_eq!(Words::from_text("${}{{}}\u{0}"), None);
    let long = Words::from_text(&"é".repeat(70_000)).unwrap();
    assert_eq!(long.shown().chars().count(), MAX_WORDS + 1);
}

#[test]
fn the_same_request_has_the_same_key() {
    let key =
        |text: &str, wanted| CandidateKey::from_words(&Words::from_text(text).unwrap(), wanted);
    assert_eq!(
        key("Lock  the vault", CandidateKind::Read),
        key(" lock the {vault}\n", CandidateKind::Read)
    );
    assert_ne!(
        key("lock the vault", CandidateKind::Read),
        key("lock the vault", CandidateKind::Change)
    );
    assert_ne!(
        key("lock the vault", CandidateKind::Read),
        key("lock a vault", CandidateKind::Read)
    );
    let long = "é".repeat(300);
    assert_ne!(
        key(&long, CandidateKind::Read),
        key(&format!("{long} more"), CandidateKind::Read)
    );
}

/// Every candidate is checked against the brief, regardless of the generator.
#[test]
fn b000_5_what_leaves_the_boundary_is_no_candidate() {
    let brief = brief(CandidateKind::Change, &["vault.lock", "vault.find"]);
    let sound = playbook(&brief);
    let broken = |change: &dyn Fn(&mut Playbook)| {
        let mut playbook = sound.clone();
        change(&mut playbook);
        breaches(&brief, &Document::Playbook(playbook)).len()
    };
    let tool = |id: &str| ToolId::parse(id).unwrap();
    assert_eq!(broken(&|_| {}), 0);
    assert_eq!(broken(&|p| p.steps[1].tool_id = tool("mail.send")), 1);
    assert_eq!(broken(&|p| p.steps[0].tool_id = tool("vault.audit")), 1);
    assert_eq!(broken(&|p| p.steps[0].tool_id = tool("vault.lock")), 1);
    assert_eq!(
        broken(&|p| p.rollback_steps[0].tool_id = Some(tool("mail.send"))),
        1
    );
    assert_eq!(broken(&|p| p.is_candidate = false), 1);
    assert_eq!(broken(&|p| p.grounding_agent = None), 1);
    assert_eq!(
        broken(&|p| p.safety.safety_class = SafetyClass::Automated),
        1
    );
    assert_eq!(broken(&|p| p.safety.requires_human_review_for.clear()), 1);
    assert_eq!(
        broken(&|p| p.steps = vec![p.steps[0].clone(); MAX_TOOLS + 1]),
        1
    );
    let words = |text: &str| charter_contract::text::Text::parse(text).unwrap();
    assert_eq!(broken(&|p| p.name = words("see ${user.key}")), 1);
    assert_eq!(broken(&|p| p.name = words(&"x".repeat(MAX_BYTES))), 1);
    let context = charter_contract::ids::Label::parse("payroll").unwrap();
    assert_eq!(
        broken(&|p| p.context.supported_context_types.push(context.clone())),
        1
    );
    let skill = Document::Skill(skill(&self::brief(CandidateKind::Read, &["vault.find"])));
    assert_eq!(breaches(&brief, &skill).len(), 1);
}

/// The agent that grounded a candidate owns it, so that the agent's guardrails apply to it.
#[test]
fn b000_12_a_generated_document_belongs_to_its_agent() {
    let brief = brief(CandidateKind::Change, &["vault.lock"]);
    let id = brief.document_id();
    let view = view(vec![compose(&brief).unwrap()]);
    let owner = view.owner_of(&id).unwrap();
    assert_eq!(owner.document().agent_id.as_ref(), "domain.vaults.keeper");
    assert_eq!(view.owner_of("vaults.rotate"), None);
}

/// A brief includes the hints of playbooks in the agent's domain, and excludes those of other domains.
#[test]
fn a_boundary_has_the_hints_of_its_domains_playbooks() {
    let of = |id: &str, domain: &str, status: &str, hint: &str| {
        let playbook = json!({
            "playbook_id": id, "name": "N", "domain": domain, "trigger_conditions": ["t"], "status": status,
            "approach_hints": [hint],
            "steps": [{"step_id": "turn", "type": "write", "tool_id": "vault.lock", "on_failure": "stop"}],
            "safety": {"safety_class": "supervised"},
        });
        stored(DocumentKind::Playbook, &playbook)
    };
    let view = view(vec![
        of("vaults.seal", "vaults", "active", "seal from the inside"),
        of("vaults.old", "vaults", "inactive", "never mind"),
        of("mails.send", "mails", "active", "be brief"),
    ]);
    let boundary = boundary_in(&view);
    let hints: Vec<&str> = boundary.hints().iter().map(|hint| hint.as_str()).collect();
    assert_eq!(hints, ["seal from the inside"]);
}
