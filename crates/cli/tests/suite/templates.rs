//! Templates: which one renders, and what is said when a value is missing.

use serde_json::json;

use crate::home::{Api, Home, request_of};
use crate::packages::{Package, SKILL, TEMPLATE_FILE, backups, skill, template};
use crate::shared::Tenants;

const AGENT: &str = "domain.reliability.recovery";

fn resolved(api: &Api, query: &str) -> (String, String, String) {
    let found = api
        .get(&format!("/v1/resolve/template?output_type=finding{query}"))
        .expect(200);
    let text = |value: &serde_json::Value| {
        value
            .as_str()
            .unwrap_or_else(|| panic!("{found:#}"))
            .to_owned()
    };
    (
        text(&found["document"]["template_id"]),
        text(&found["level"]),
        text(&found["layer"]),
    )
}

/// B000-14: skill, agent, domain, global default; the tenant's first within a level.
#[test]
fn b000_14_the_nearest_level_wins_and_the_tenant_within_it() {
    let home = Home::with_keys(&[
        ("root", "root", "root", "admin"),
        ("acme", "acme", "ann", "operator"),
    ]);
    let server = home.serve();
    let shared = Package::new("defaults", "1.0.0", "global")
        .with("templates/any.yaml", &template("a.any", ""))
        .with(
            "templates/domain.yaml",
            &template("b.domain", "domain: reliability"),
        );
    server.key("root").register(&shared);
    let acme = server.key("acme");
    let package = backups()
        .with("templates/any.yaml", &template("z.any", ""))
        .with(
            "templates/agent.yaml",
            &template("c.agent", &format!("agent_id: {AGENT}")),
        )
        .with(
            "skills/tapes.yaml",
            &skill("reliability.tapes", "count the tapes"),
        )
        .with(
            "templates/other.yaml",
            &template("d.other", "skill_id: reliability.tapes"),
        );
    acme.register(&package);
    let levels = [
        (
            format!("&skill_id={SKILL}"),
            "reliability.stale_backup",
            "skill",
        ),
        (
            format!("&agent_id={AGENT}&domain=reliability"),
            "c.agent",
            "agent",
        ),
        ("&domain=reliability".to_owned(), "b.domain", "domain"),
        ("&domain=security".to_owned(), "z.any", "global"),
        (String::new(), "z.any", "global"),
    ];
    for (query, id, level) in levels {
        let (found, on, _) = resolved(&acme, &query);
        assert_eq!((found.as_str(), on.as_str()), (id, level), "{query}");
    }
    assert_eq!(resolved(&server.key("root"), "").0, "a.any");
}

/// B000-14
#[test]
fn b000_14_no_template_is_404() {
    let server = Tenants::one();
    server.api.register(&backups());
    for query in [
        "output_type=report",
        "output_type=finding",
        "output_type=finding&skill_id=other",
    ] {
        server
            .api
            .get(&format!("/v1/resolve/template?{query}"))
            .fails(404, "template_missing");
    }
}

/// B000-14: a placeholder without a value is reported by name, never blanked.
#[test]
fn b000_14_a_missing_value_is_named() {
    let server = Tenants::one();
    let package = backups().edit(
        TEMPLATE_FILE,
        "{{age_days}} days old",
        "{{age_days}} days old in {{region}}",
    );
    server.api.register(&package);
    let answer = server.api.ask(&request_of(SKILL, json!({}))).expect(200);
    assert_eq!(
        answer["metadata"]["warnings"],
        json!(["the template `reliability.stale_backup`: the template has no value for: region"])
    );
    assert_eq!(answer["metadata"]["findings"][0].get("rendered"), None);
    assert!(
        answer["content"]
            .as_str()
            .unwrap()
            .contains("no value for: region")
    );
}

/// B000-14: a value is never expanded again.
#[test]
fn b000_14_a_value_is_not_a_template() {
    let server = Tenants::one();
    let script = "import json, sys\njson.load(sys.stdin)\njson.dump({'backups': [{'id': '{{severity}} ${user.vault} {% if %}', 'age_days': 99}]}, sys.stdout)\n";
    server
        .api
        .register(&backups().with(crate::packages::SCRIPT_FILE, script));
    let answer = server.api.ask(&request_of(SKILL, json!({}))).expect(200);
    assert_eq!(
        answer["metadata"]["findings"][0]["rendered"],
        json!({"title": "Stale backup {{severity}} ${user.vault} {% if %}",
               "summary": "The backup {{severity}} ${user.vault} {% if %} is 99 days old."})
    );
}
