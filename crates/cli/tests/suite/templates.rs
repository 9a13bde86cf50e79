//! Templates: the selection, and the report of missing values.

use serde_json::json;

use crate::home::{Api, Home, request_of};
use crate::packages::{Package, SKILL, SKILL_FILE, TEMPLATE_FILE, backups, skill, template};
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
    for query in ["output_type=report", "output_type=finding"] {
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

/// The summary of the backups' skill in its file.
const SUMMARY: &str = "summary: \"{{ count }} stale backup(s).\"";

/// A text that would overflow the parser's stack is refused at its position, and the server continues.
#[test]
fn a_template_that_nests_too_deep_is_refused() {
    let server = Tenants::one();
    let nested = format!("{{{{ {}1 }}}}", "-".repeat(5_000));
    let summary = format!("summary: \"{nested}\"");
    let refused = [
        backups().edit(SKILL_FILE, SUMMARY, &summary),
        backups().edit(TEMPLATE_FILE, "Stale backup {{resource_id}}", &nested),
    ];
    for package in refused {
        let report = server.api.post("/v1/packages", &package.bundle());
        report.clone().fails(400, "invalid_document");
        let problem = &report.body["technical_details"]["problems"][0];
        assert_eq!(problem["keyword"], "template", "{problem:#}");
        let message = problem["message"].as_str().unwrap();
        assert!(message.contains("more than 256 operators"), "{message}");
    }
    server.api.get("/readyz").expect(200);
}

/// A summary that grows exponentially ends the process that evaluates it. The answer lacks only its summary.
#[test]
fn a_summary_that_takes_all_memory_costs_an_answer_its_summary_alone() {
    let doubling = "{% set a = a ~ a %}".repeat(40);
    let doubling = format!("{{% set a = 'aaaaaaaaaaaaaaaa' %}}{doubling}{{{{ a | length }}}}");
    let hostile = [
        doubling.as_str(),
        "{{ ('a' * 90000000) | replace('a', 'aaaaaaaaaaaaaaaa') | length }}",
        "{{ ('a\n' * 40000) | indent(100000) | length }}",
        "{{ range(9999) | slice(90000000) | length }}",
        "{{ [1] | batch(900000000, 0) | length }}",
        "{{ '%999999999d' | format(1) | length }}",
    ];
    for program in hostile {
        let server = Tenants::one();
        let summary = format!("summary: {}", json!(program));
        let package = backups().edit(SKILL_FILE, SUMMARY, &summary);
        server.api.register(&package);
        let answer = server.api.ask(&request_of(SKILL, json!({}))).expect(200);
        let metadata = &answer["metadata"];
        let [warning] = metadata["warnings"].as_array().unwrap().as_slice() else {
            panic!("{program}: {metadata:#}");
        };
        let warning = warning.as_str().unwrap();
        let (before, after) = (
            "the summary of `reliability.find_stale_backups`: ",
            " (a template has 10000 ms and 536870912 bytes of memory)",
        );
        assert!(warning.starts_with(before), "{program}: {warning}");
        assert!(warning.ends_with(after), "{program}: {warning}");
        let rendered = &metadata["findings"][0]["rendered"];
        assert_eq!(rendered["title"], "Stale backup b-1", "{program}");
        server.api.get("/readyz").expect(200);
    }
}
