//! Tests of layers, shadowing and lookups.

use charter_contract::catalogue::Document;
use charter_contract::scope::Scope;
use serde_json::{Value, json};

use super::*;

/// Adds or replaces fields of a document.
fn with(mut fields: Value, more: &Value) -> Value {
    let more = more.as_object().unwrap().clone();
    fields.as_object_mut().unwrap().extend(more);
    fields
}

/// A skill with one step that reads.
pub(crate) fn skill(id: &str, more: &Value) -> Document {
    let skill = json!({
        "skill_id": id, "name": "x", "domain": "s", "display_name": "X", "description": "x", "purpose": "x",
        "output_type": "finding",
        "execution_plan": {"steps": [{"step_id": "one", "type": "read", "tool_id": "t.x"}]},
    });
    Document::Skill(serde_json::from_value(with(skill, more)).unwrap())
}

/// An agent without skills.
pub(crate) fn agent(id: &str, more: &Value) -> Document {
    let agent = json!({
        "agent_id": id, "name": "x", "display_name": "X", "agent_type": "domain", "domain": "s",
        "capabilities": ["c"],
    });
    Document::Agent(serde_json::from_value(with(agent, more)).unwrap())
}

/// An agent that owns skills.
fn owning(id: &str, skills: &[&str]) -> Document {
    agent(id, &json!({"skill_refs": skills}))
}

fn origin(scope: Scope) -> Arc<Origin> {
    Arc::new(Origin {
        scope,
        package: PackageName::parse("p").unwrap(),
        version: "1".to_owned(),
    })
}

/// The documents of one package.
pub(crate) fn layer_of(scope: Scope, documents: impl IntoIterator<Item = Document>) -> Arc<Layer> {
    let origin = origin(scope);
    let mut layer = Layer::default();
    for document in documents {
        layer.insert(document, Arc::clone(&origin), String::new());
    }
    Arc::new(layer)
}

/// A view of global documents, for a tenant without its own.
pub(crate) fn view_of(documents: impl IntoIterator<Item = Document>) -> View {
    View {
        global: layer_of(Scope::Global, documents),
        tenant: Arc::default(),
    }
}

fn layer(agents: &[(&str, &[&str])]) -> Arc<Layer> {
    let agents = agents.iter().map(|(id, skills)| owning(id, skills));
    layer_of(Scope::Global, agents)
}

fn owner(view: &View, skill: &str) -> Option<String> {
    let owner = view.owner_of(skill)?;
    Some(owner.document().agent_id.to_string())
}

#[test]
fn b000_1_the_owner_of_a_skill_is_looked_up_in_both_layers_without_what_is_shadowed() {
    let view = View {
        global: layer(&[
            ("domain.a", &["s.one", "s.two"]),
            ("domain.b", &["s.three"]),
        ]),
        tenant: layer(&[("domain.a", &["s.two", "s.four"])]),
    };
    assert_eq!(
        owner(&view, "s.one"),
        None,
        "the tenant's agent no longer lists it"
    );
    assert_eq!(owner(&view, "s.two").as_deref(), Some("domain.a"));
    assert_eq!(owner(&view, "s.three").as_deref(), Some("domain.b"));
    assert_eq!(owner(&view, "s.four").as_deref(), Some("domain.a"));
}

#[test]
fn what_is_looked_up_follows_every_change_of_a_layer() {
    let view = View {
        global: layer(&[("domain.a", &["s.one"])]),
        tenant: Arc::default(),
    };
    assert_eq!(owner(&view, "s.one").as_deref(), Some("domain.a"));
    let documents = [(owning("domain.a", &["s.two"]), String::new())];
    let package = origin(Scope::Global);
    let after = view.with_package(&package, documents);
    assert_eq!(owner(&after, "s.one"), None);
    assert_eq!(owner(&after, "s.two").as_deref(), Some("domain.a"));
    assert_eq!(owner(&after.with_package(&package, []), "s.two"), None);
    assert_eq!(
        owner(&view, "s.one").as_deref(),
        Some("domain.a"),
        "a view never changes"
    );
}

/// B000-1: a tenant's mission type and prompt template shadow the global ones of the same id.
#[test]
fn b000_1_a_tenants_mission_type_and_prompt_shadow_the_global_ones() {
    let documents = |title: &str| {
        let kind = json!({
            "mission_type": "m", "domain": "s", "title": title, "description": "d",
            "sensitivity_class": "internal"
        });
        let prompt = json!({
            "prompt_id": "p", "domain": "s", "title": title, "role_type": "worker",
            "system_prompt": "s", "task_prompt": "t", "model_route": "r"
        });
        [
            Document::MissionType(serde_json::from_value(kind).unwrap()),
            Document::PromptTemplate(serde_json::from_value(prompt).unwrap()),
        ]
    };
    let layer = |title: &str| layer_of(Scope::Global, documents(title));
    let (global, tenant) = (layer("shared"), layer("own"));
    let seen = |view: &View| {
        let kind = view
            .mission_type("m")
            .map(|f| (f.document().title.to_string(), f.won));
        let prompt = view
            .prompt_template("p")
            .map(|f| (f.document().title.to_string(), f.won));
        assert_eq!(kind, prompt);
        kind
    };
    let view = |tenant: &Arc<Layer>| View {
        global: Arc::clone(&global),
        tenant: Arc::clone(tenant),
    };
    assert_eq!(
        seen(&view(&tenant)),
        Some(("own".to_owned(), WinningLayer::TenantOverGlobal))
    );
    assert_eq!(
        seen(&view(&Arc::default())),
        Some(("shared".to_owned(), WinningLayer::Global))
    );
    let without = view(&tenant).with_package(&origin(Scope::Global), []);
    assert_eq!(
        seen(&without),
        Some(("own".to_owned(), WinningLayer::Tenant)),
        "a package is taken out of its layer, whatever its kinds"
    );
    let ids = |view: &View| {
        let kinds = view
            .mission_types()
            .map(|f| f.document().mission_type.to_string());
        let prompts = view
            .prompt_templates()
            .map(|f| f.document().prompt_id.to_string());
        kinds.chain(prompts).collect::<Vec<_>>()
    };
    assert_eq!(ids(&without), ["m", "p"]);
    assert_eq!(without.ids(DocumentKind::MissionType), ["m"]);
    assert!(Layer::default().is_empty() && tenant.len() == 2);
}

/// B000-1, ruling 5: a tenant's document replaces the global one, but a tenant's guardrail or policy applies in
/// addition to it.
#[test]
fn b000_1_which_layers_documents_count() {
    let rail = |message: &str| {
        let rail = json!({
            "guardrail_id": "x", "scope": "skill", "applies_to": ["*"], "rule": "r",
            "enforcement": "soft_warn", "message": message
        });
        Document::Guardrail(serde_json::from_value(rail).unwrap())
    };
    let view = View {
        tenant: layer_of(Scope::Global, [owning("x", &["s.own"]), rail("own")]),
        global: layer_of(
            Scope::Global,
            [owning("x", &["s.all"]), rail("all"), owning("y", &[])],
        ),
    };
    let layered = |kind, id| {
        let found = view.layered(kind, id).into_iter();
        found
            .map(|one| (one.document, one.in_force))
            .collect::<Vec<_>>()
    };
    let shadowed = [
        (owning("x", &["s.own"]), true),
        (owning("x", &["s.all"]), false),
    ];
    assert_eq!(layered(DocumentKind::Agent, "x"), shadowed);
    let both = [(rail("own"), true), (rail("all"), true)];
    assert_eq!(layered(DocumentKind::Guardrail, "x"), both);
    assert_eq!(
        layered(DocumentKind::Agent, "y"),
        [(owning("y", &[]), true)]
    );
    assert_eq!(layered(DocumentKind::Skill, "x"), []);
}
