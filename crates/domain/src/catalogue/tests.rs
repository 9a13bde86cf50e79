//! Layers over each other, and what is looked up in them.

use charter_contract::catalogue::Document;
use charter_contract::scope::Scope;
use serde_json::json;

use super::*;

fn agent(id: &str, skills: &[&str]) -> Document {
    let agent = json!({
        "agent_id": id, "name": "a", "display_name": "A", "agent_type": "domain", "domain": "s",
        "capabilities": ["c"], "skill_refs": skills
    });
    Document::Agent(serde_json::from_value(agent).unwrap())
}

fn origin(package: &str) -> Arc<Origin> {
    Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse(package).unwrap(),
        version: "1".to_owned(),
    })
}

fn layer(agents: &[(&str, &[&str])]) -> Arc<Layer> {
    let mut layer = Layer::default();
    for (id, skills) in agents {
        layer.insert(agent(id, skills), origin("p"), String::new());
    }
    Arc::new(layer)
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
    let documents = [(agent("domain.a", &["s.two"]), String::new())];
    let after = view.with_package(&origin("p"), documents);
    assert_eq!(owner(&after, "s.one"), None);
    assert_eq!(owner(&after, "s.two").as_deref(), Some("domain.a"));
    assert_eq!(owner(&after.with_package(&origin("p"), []), "s.two"), None);
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
    let layer = |title: &str| {
        let mut layer = Layer::default();
        for document in documents(title) {
            layer.insert(document, origin("p"), String::new());
        }
        Arc::new(layer)
    };
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
        Some(("own".to_owned(), Won::TenantOverGlobal))
    );
    assert_eq!(
        seen(&view(&Arc::default())),
        Some(("shared".to_owned(), Won::Global))
    );
    let without = view(&tenant).with_package(&origin("p"), []);
    assert_eq!(
        seen(&without),
        Some(("own".to_owned(), Won::Tenant)),
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

/// B000-1, ruling 5: a tenant's document takes the place of the global one, and its guardrail or policy stands
/// beside it.
#[test]
fn b000_1_which_layers_documents_count() {
    let rail = |message: &str| {
        let rail = json!({
            "guardrail_id": "x", "scope": "skill", "applies_to": ["*"], "rule": "r",
            "enforcement": "soft_warn", "message": message
        });
        Document::Guardrail(serde_json::from_value(rail).unwrap())
    };
    let layer = |documents: &[Document]| {
        let mut layer = Layer::default();
        for document in documents {
            layer.insert(document.clone(), origin("p"), String::new());
        }
        Arc::new(layer)
    };
    let view = View {
        tenant: layer(&[agent("x", &["s.own"]), rail("own")]),
        global: layer(&[agent("x", &["s.all"]), rail("all"), agent("y", &[])]),
    };
    let layered = |kind, id| {
        let found = view.layered(kind, id).into_iter();
        found
            .map(|one| (one.document, one.in_force))
            .collect::<Vec<_>>()
    };
    let shadowed = [
        (agent("x", &["s.own"]), true),
        (agent("x", &["s.all"]), false),
    ];
    assert_eq!(layered(DocumentKind::Agent, "x"), shadowed);
    let both = [(rail("own"), true), (rail("all"), true)];
    assert_eq!(layered(DocumentKind::Guardrail, "x"), both);
    assert_eq!(layered(DocumentKind::Agent, "y"), [(agent("y", &[]), true)]);
    assert_eq!(layered(DocumentKind::Skill, "x"), []);
}
