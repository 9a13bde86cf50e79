#![allow(
    clippy::needless_pass_by_value,
    reason = "literal documents read better by value"
)]

use std::sync::Arc;

use charter_contract::bounds::FILLED_TOGETHER;
use charter_contract::catalogue::Document;
use charter_contract::filling::FillBudget;
use charter_contract::ids::PackageName;
use charter_contract::scope::Scope;
use serde_json::{Map, json};

use super::*;
use crate::catalogue::{Layer, Origin, WinningLayer};

mod bounds;
mod plain;

fn values() -> Map<String, Value> {
    let values = json!({
        "id": "sg-1", "port": 22, "rule": {"cidr": "0.0.0.0/0"}, "tricky": "{{id}} {% if x %} ${user.y}",
        "tags": ["a", "b"],
    });
    values.as_object().unwrap().clone()
}

fn together() -> FillBudget {
    FillBudget::with_limit(FILLED_TOGETHER)
}

/// Fills in a structure that has no expressions.
fn render(structure: &Value, values: &Map<String, Value>) -> Result<Value, RenderError> {
    match Structure::read(structure)? {
        Structure::Plain(plain) => plain.fill(values, &mut together()),
        Structure::Program => panic!("{structure} is a program"),
    }
}

/// Fills in a structure with expressions.
fn evaluated(structure: &Value, values: &Map<String, Value>) -> Filled {
    assert!(
        matches!(Structure::read(structure), Ok(Structure::Program)),
        "{structure}"
    );
    evaluate(structure, std::slice::from_ref(values)).remove(0)
}

/// B000-14: typed if it is the whole text, written out inside a text, never expanded again.
#[test]
fn b000_14_placeholders_are_filled_once() {
    let structure = json!({
        "title": "{{id}} on {{ port }} from {{rule.cidr}}", "port": "{{port}}", "tags": "{{tags}}",
        "quoted": "<{{tricky}}>", "list": ["{{id}}"], "fixed": 1
    });
    assert_eq!(
        render(&structure, &values()).unwrap(),
        json!({
            "title": "sg-1 on 22 from 0.0.0.0/0", "port": 22, "tags": ["a", "b"],
            "quoted": "<{{id}} {% if x %} ${user.y}>", "list": ["sg-1"], "fixed": 1
        })
    );
}

/// B000-14: each placeholder without a value is reported by name, never left blank.
#[test]
fn b000_14_missing_values_are_named() {
    let structure = json!({"a": "{{gone}} {{id}}", "b": ["{{rule.port}}", "{{gone}}"]});
    assert_eq!(
        render(&structure, &values()),
        Err(RenderError::Missing(vec![
            "gone".into(),
            "rule.port".into()
        ]))
    );
}

/// Expressions receive the same values, and names next to them are filled in as elsewhere.
#[test]
fn b000_14_expressions_are_evaluated() {
    let structure = json!({
        "title": "{{ tags | join(' and ') }} in {{rule.cidr}}", "port": "{{port}}", "next": "{{ port + 1 }}",
        "list": ["{% for tag in tags %}<{{ tag }}>{% endfor %}", "{{tricky}}"],
    });
    let filled = json!({
        "title": "a and b in 0.0.0.0/0", "port": 22, "next": "23",
        "list": ["<a><b>", "{{id}} {% if x %} ${user.y}"],
    });
    assert_eq!(evaluated(&structure, &values()), Filled::Value(filled));
}

/// Each set of values has a separate result, and a name without a value is reported here too.
#[test]
fn b000_14_a_set_of_values_fails_alone() {
    let structure = json!("{{ name | upper }} of {{ rule.port }}");
    let given = json!([{"name": "a", "rule": {"port": 1}}, {"rule": {}}, {"name": "b", "rule": {"port": 2}}]);
    let all: Vec<Map<String, Value>> = serde_json::from_value(given).unwrap();
    assert_eq!(
        evaluate(&structure, &all),
        [
            Filled::Value(json!("A of 1")),
            Filled::Fault("the template has no value for: name, rule.port".to_owned()),
            Filled::Value(json!("B of 2")),
        ]
    );
}

/// B000-14: a name in a branch that is not taken needs no value. One that is reached does, also if a filter would turn
/// it into an empty text.
#[test]
fn b000_14_a_branch_that_is_not_taken_needs_no_values() {
    for text in [
        "{% if port == 22 %}{{ id }}{% else %}{{ gone }} {{ rule.gone }}{% endif %}",
        "{{ id if port == 22 else gone }}",
        "{% for tag in [] %}{{ gone }}{% endfor %}{{ id }}",
    ] {
        let filled = evaluated(&json!(text), &values());
        assert_eq!(filled, Filled::Value(json!("sg-1")), "{text}");
    }
    for (text, named) in [
        ("{% if port == 22 %}{{ gone }}{% endif %}", "gone"),
        (
            "{% if port == 22 %}{{ gone | join(',') }}{% endif %}",
            "gone",
        ),
        ("{% if gone is defined %}{{ gone }}{% endif %}", "gone"),
        (
            "{% if port == 22 %}{{ gone | upper }}{{ rule.gone }}{% endif %}",
            "gone, rule.gone",
        ),
        (
            "{{ rule.cidr | upper }}{% if port == 1 %}{{ rule.gone }}{% endif %}",
            "rule.gone",
        ),
    ] {
        let fault = format!("the template has no value for: {named}");
        let filled = evaluated(&json!(text), &values());
        assert_eq!(filled, Filled::Fault(fault), "{text}");
    }
    let both = json!([
        "{{ lost | upper }}",
        "{{ gone if port == 22 else id }}",
        "{{ id | upper }}"
    ]);
    let fault = "the template has no value for: gone, lost".to_owned();
    assert_eq!(evaluated(&both, &values()), Filled::Fault(fault));
}

/// Two items, one of which lacks an attribute of the other.
fn items() -> Map<String, Value> {
    let items = json!([
        {"name": "b", "cost": 1.5, "fields": {"price": 3}},
        {"name": "a", "cost": 2, "fields": {"price": 4}, "note": null},
    ]);
    Map::from_iter([("all".to_owned(), items)])
}

#[test]
fn b000_14_filters_look_at_attributes() {
    for (text, result) in [
        ("{{ all | map(attribute='cost') | sum }}", "3.5"),
        ("{{ all | sum(attribute='cost') }}", "3.5"),
        ("{{ all | sum('fields.price', 10) }}", "17"),
        ("{{ all | map(attribute='note', default=0) | first }}", "0"),
        ("{{ (all | sort(attribute='name'))[0].cost }}", "2"),
        (
            "{{ (all | sort(attribute='cost, name', reverse=true))[0].name }}",
            "a",
        ),
        ("{{ (all | max(attribute='cost')).name }}", "a"),
        ("{{ all | unique(attribute='name') | length }}", "2"),
        ("{{ all | groupby('name') | length }}", "2"),
        ("{{ all | groupby('grade', default='x') | length }}", "1"),
        (
            "{{ all | selectattr('name', 'eq', 'a') | list | length }}",
            "1",
        ),
        (
            "{{ all | selectattr('note', 'defined') | list | length }}",
            "1",
        ),
        (
            "{{ all | rejectattr('note', 'undefined') | list | length }}",
            "1",
        ),
        ("{{ ['b', 'a'] | sort | join }}", "ab"),
        ("{{ ['b', 'a'] | map('upper') | join }}", "BA"),
        ("{{ [] | sum }}", "0"),
        ("{{ [] | map(attribute='cost') | sum }}", "0"),
    ] {
        assert_eq!(
            evaluated(&json!(text), &items()),
            Filled::Value(json!(result)),
            "{text}"
        );
    }
}

/// A filter on an attribute fails for items without it, so that no total is silently too small.
#[test]
fn b000_14_a_misspelled_attribute_is_no_zero() {
    for (text, named) in [
        (
            "{{ all | map(attribute='price') | sum }}",
            "an item has no `price`; it has `fields.price`",
        ),
        (
            "{{ all | sum(attribute='prise') }}",
            "an item has no `prise`",
        ),
        (
            "{{ all | sum('fields.cost') }}",
            "an item has no `fields.cost`",
        ),
        (
            "{{ all | sort(attribute='cost, nme') }}",
            "an item has no `nme`",
        ),
        (
            "{{ all | sort(attribute='note') }}",
            "an item has no `note`",
        ),
        ("{{ all | min(attribute='x') }}", "an item has no `x`"),
        ("{{ all | max(attribute='x') }}", "an item has no `x`"),
        ("{{ all | unique(attribute='x') }}", "an item has no `x`"),
        ("{{ all | groupby('x') }}", "an item has no `x`"),
        (
            "{{ all | selectattr('x', 'eq', 1) | list }}",
            "an item has no `x`",
        ),
        ("{{ all | rejectattr('x') | list }}", "an item has no `x`"),
        (
            "{% for one in all %}{{ [one.cost, one.x] | sum }}{% endfor %}",
            "an item has no value",
        ),
        (
            "{% for one in all %}{{ one.x }}{% endfor %}",
            "a field is misspelled",
        ),
    ] {
        match evaluated(&json!(text), &items()) {
            Filled::Fault(fault) => assert!(fault.contains(named), "{text}: {fault}"),
            Filled::Value(value) => panic!("{text}: {value}"),
        }
    }
}

fn template(id: &str, more: Value) -> Document {
    let mut template = json!({"template_id": id, "output_type": "finding", "structure": {}});
    let fields = more.as_object().unwrap().clone();
    template.as_object_mut().unwrap().extend(fields);
    Document::Template(serde_json::from_value(template).unwrap())
}

fn layer(scope: Scope, documents: Vec<Document>) -> Arc<Layer> {
    let origin = Arc::new(Origin {
        scope,
        package: PackageName::parse("p").unwrap(),
        version: "1".into(),
    });
    let mut layer = Layer::default();
    for document in documents {
        layer.insert(document, Arc::clone(&origin), String::new());
    }
    Arc::new(layer)
}

fn view(tenant: Vec<Document>, global: Vec<Document>) -> View {
    let own = charter_contract::ids::TenantId::parse("acme").unwrap();
    View {
        tenant: layer(Scope::Tenant(own), tenant),
        global: layer(Scope::Global, global),
    }
}

fn resolved(view: &View) -> Option<(String, TemplateLevel, WinningLayer)> {
    resolved_for(view, "operator", Tier::Basic)
}

fn resolved_for(
    view: &View,
    persona: &str,
    tier: Tier,
) -> Option<(String, TemplateLevel, WinningLayer)> {
    let wanted = TemplateLookup {
        output_type: "finding",
        skill: Some("s.a"),
        agent: Some("agent.a"),
        domain: Some("s"),
        persona,
        tier,
    };
    resolve(view, wanted)
        .map(|(found, level)| (found.document().template_id.to_string(), level, found.won))
}

/// B000-14: skill, then agent, then domain, then the global default; the tenant's before the global one within a level,
/// but never across levels.
#[test]
fn b000_14_the_nearest_template_wins() {
    let skill = || template("t.skill", json!({"skill_id": "s.a"}));
    let agent = || template("t.agent", json!({"agent_id": "agent.a"}));
    let domain = || template("t.domain", json!({"domain": "s"}));
    let default = || template("t.default", json!({}));
    let foreign = || template("t.foreign", json!({"skill_id": "s.other"}));
    let global = |id: &str, level| Some((id.to_owned(), level, WinningLayer::Global));
    let all = view(
        vec![],
        vec![default(), domain(), agent(), skill(), foreign()],
    );
    assert_eq!(resolved(&all), global("t.skill", TemplateLevel::Skill));
    let no_skill = view(vec![], vec![default(), domain(), agent(), foreign()]);
    assert_eq!(resolved(&no_skill), global("t.agent", TemplateLevel::Agent));
    let own_default = view(vec![default()], vec![domain()]);
    assert_eq!(
        resolved(&own_default),
        global("t.domain", TemplateLevel::Domain)
    );
    let own_domain = view(
        vec![template("t.own", json!({"domain": "s"}))],
        vec![domain()],
    );
    assert_eq!(
        resolved(&own_domain),
        Some((
            "t.own".to_owned(),
            TemplateLevel::Domain,
            WinningLayer::Tenant
        ))
    );
    assert_eq!(resolved(&view(vec![], vec![foreign()])), None);
    let inactive = template("t.off", json!({"status": "inactive"}));
    assert_eq!(resolved(&view(vec![], vec![inactive])), None);
}

/// B000-21: within a level, a template for the persona precedes one for all, and even the tenant's; never across
/// levels. A template for other personas is not used.
#[test]
fn b000_21_a_template_for_the_persona_wins_within_its_level() {
    let of = |id: &str, personas: &[&str], domain: bool| {
        let domain = domain.then_some("s");
        template(id, json!({"personas": personas, "domain": domain}))
    };
    let all = view(
        vec![of("t.own", &[], true)],
        vec![
            of("t.audit", &["auditor", "counsel"], true),
            of("t.any", &[], false),
            of("t.board", &["board"], false),
        ],
    );
    for (persona, id, level) in [
        ("auditor", "t.audit", TemplateLevel::Domain),
        ("counsel", "t.audit", TemplateLevel::Domain),
        ("operator", "t.own", TemplateLevel::Domain),
        // The global default for this persona comes after the domain's template.
        ("board", "t.own", TemplateLevel::Domain),
    ] {
        let found = resolved_for(&all, persona, Tier::Basic);
        let found = found.map(|(id, level, _)| (id, level));
        assert_eq!(found, Some((id.to_owned(), level)), "{persona}");
    }
    let others = view(vec![], vec![of("t.audit", &["auditor"], true)]);
    assert_eq!(resolved_for(&others, "operator", Tier::Basic), None);
}

/// B000-23: a template above the caller's tier is skipped.
#[test]
fn b000_23_a_template_above_the_tier_is_passed_over() {
    let skill = template("t.skill", json!({"skill_id": "s.a", "tier": "advanced"}));
    let domain = template("t.domain", json!({"domain": "s"}));
    let both = view(vec![], vec![skill.clone(), domain]);
    let found = |tier| resolved_for(&both, "operator", tier).map(|(id, ..)| id);
    assert_eq!(found(Tier::Basic).as_deref(), Some("t.domain"));
    assert_eq!(found(Tier::Advanced).as_deref(), Some("t.skill"));
    let alone = view(vec![], vec![skill]);
    assert_eq!(resolved_for(&alone, "operator", Tier::Basic), None);
}
