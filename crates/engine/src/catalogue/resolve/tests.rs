use std::sync::Arc;

use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::ids::PackageName;
use charter_contract::scope::Scope;
use charter_domain::catalogue::{Layer, Origin};
use serde_json::{Value, json};

use super::*;

fn view(documents: impl IntoIterator<Item = (DocumentKind, Value)>) -> View {
    let origin = Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse("p").unwrap(),
        version: "1".into(),
    });
    let mut layer = Layer::default();
    for (kind, value) in documents {
        let (document, _) = Document::from_value(kind, &value).unwrap();
        layer.insert(document, Arc::clone(&origin), String::new());
    }
    View {
        global: Arc::new(layer),
        tenant: Arc::default(),
    }
}

fn guardrail_on(scope: &str, id: &str) -> (DocumentKind, Value) {
    let value = json!({
        "guardrail_id": format!("on.{scope}"), "scope": scope, "applies_to": [id],
        "domain": "cost", "rule": "r", "enforcement": "soft_warn", "message": "m"
    });
    (DocumentKind::Guardrail, value)
}

fn skill(id: &str) -> (DocumentKind, Value) {
    let value = json!({
        "skill_id": id, "name": "n", "domain": "cost", "display_name": "N", "description": "d",
        "purpose": "p", "output_type": "finding",
        "execution_plan": {"steps": [{"step_id": "a", "type": "readonly", "tool_id": "t"}]}
    });
    (DocumentKind::Skill, value)
}

fn agent(id: &str, skill: &str) -> (DocumentKind, Value) {
    let value = json!({
        "agent_id": id, "name": "n", "display_name": "N", "agent_type": "domain", "domain": "cost",
        "skill_refs": [skill]
    });
    (DocumentKind::Agent, value)
}

fn ids(resolved: &[ApplicableGuardrail]) -> Vec<String> {
    resolved
        .iter()
        .map(|resolved| resolved.found.document().guardrail_id.to_string())
        .collect()
}

/// B000-12: a query for a skill alone also returns its agent's and its domain's guardrails.
#[test]
fn b000_12_a_skill_brings_its_agent_and_its_domain() {
    let view = view([
        skill("cost.idle"),
        agent("domain.cost.a", "cost.idle"),
        guardrail_on("skill", "cost.idle"),
        guardrail_on("agent", "domain.cost.a"),
        guardrail_on("domain", "cost.*"),
        guardrail_on("global", "*"),
    ]);
    let of = |skill, agent, domain| {
        ids(&bearing_on(
            &view,
            GuardrailSubject {
                skill,
                agent,
                domain,
                persona: None,
            },
        ))
    };
    let every = ["on.skill", "on.agent", "on.domain", "on.global"];
    assert_eq!(of(Some("cost.idle"), None, None), every);
    assert_eq!(
        of(Some("cost.idle"), Some("another"), Some("security")),
        ["on.skill", "on.global"],
        "what is given stands"
    );
    assert_eq!(of(Some("cost.unknown"), None, None), ["on.global"]);
    assert_eq!(of(None, None, Some("cost")), ["on.domain", "on.global"]);
}
