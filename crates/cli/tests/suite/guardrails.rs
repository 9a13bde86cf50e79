//! Guardrails: which bear on what, and what they do to an answer.

use serde_json::json;

use crate::home::{Home, ids, request_of};
use crate::packages::{Package, SKILL, backups, guardrail};
use crate::shared::Tenants;

const ON_READS: &str = "when: 'tool.tool_class == \"readonly\"'";

/// B000-12: skill, agent, domain, global; the tenant adds to the global ones.
#[test]
fn b000_12_all_matches_in_the_order_of_their_scope() {
    let home = Home::with_keys(&[
        ("root", "root", "root", "admin"),
        ("acme", "acme", "ann", "operator"),
    ]);
    let server = home.serve();
    let rail = |id: &str, scope: &str, glob: &str| guardrail(id, scope, glob, "soft_warn", "");
    let shared = Package::new("rails", "1.0.0", "global")
        .with("guardrails/g.yaml", &rail("a.global", "global", "*"))
        .with(
            "guardrails/d.yaml",
            &rail("b.domain", "domain", "reliability"),
        )
        .with(
            "guardrails/x.yaml",
            &rail("x.other_domain", "domain", "security"),
        );
    server.key("root").register(&shared);
    let acme = server.key("acme");
    let package = backups()
        .with(
            "guardrails/s.yaml",
            &rail("z.skill", "skill", "reliability.*"),
        )
        .with(
            "guardrails/a.yaml",
            &rail("y.agent", "agent", "domain.reliability.*"),
        )
        .with(
            "guardrails/t.yaml",
            &rail("c.domain", "domain", "reliability"),
        )
        .with(
            "guardrails/o.yaml",
            &rail("o.other_skill", "skill", "reliability.other"),
        )
        .with(
            "guardrails/i.yaml",
            &(rail("i.inactive", "skill", "*") + "status: inactive\n"),
        );
    acme.register(&package);
    let path = format!("/v1/resolve/guardrails?skill_id={SKILL}");
    let found = acme.get(&path).expect(200);
    let expected = ["z.skill", "y.agent", "b.domain", "c.domain", "a.global"];
    assert_eq!(ids(&found, "document.guardrail_id"), expected);
}

/// B000-12: an expression that does not compile, or names what does not exist, is refused.
#[test]
fn b000_12_expressions_are_checked_at_registration() {
    let server = Tenants::one();
    for rest in [
        "when: 'tool.tool_class =='",
        "when: 'user.name == \"ann\"'",
        "exceptions: [{condition: 'dry_run = true', allow: true}]",
    ] {
        let rail = guardrail("r", "skill", "*", "hard_block", rest);
        let package = backups().with("guardrails/r.yaml", &rail);
        let refused = server.api.post("/v1/packages", &package.bundle());
        refused.clone().fails(400, "invalid_document");
        let problems = refused.body["technical_details"]["problems"].as_array();
        let mut problems = problems.unwrap().iter();
        let problem = problems.find(|problem| problem["severity"] != "warning");
        let problem = problem.unwrap();
        assert_eq!(
            (&problem["keyword"], &problem["line"]),
            (&json!("cel"), &json!(8)),
            "{problem:#}"
        );
    }
}

/// B000-13: `soft_warn` is added to the output.
#[test]
fn b000_13_a_soft_warning_is_in_the_answer() {
    let server = Tenants::one();
    let package = backups()
        .with(
            "guardrails/warn.yaml",
            &guardrail("w.warn", "skill", "*", "soft_warn", ON_READS),
        )
        .with(
            "guardrails/writes.yaml",
            &guardrail("x.writes", "skill", "*", "hard_block", ""),
        );
    server.api.register(&package);
    let answer = server.api.ask(&request_of(SKILL, json!({}))).expect(200);
    assert_eq!(
        answer["metadata"]["warnings"],
        json!(["w.warn: The message of w.warn."])
    );
    assert!(
        answer["content"]
            .as_str()
            .unwrap()
            .ends_with("Warning: w.warn: The message of w.warn.")
    );
}

/// B000-13: `hard_block` stops, returns its message, and beats everything weaker (B000-12).
#[test]
fn b000_13_a_hard_block_stops_with_its_message() {
    let server = Tenants::one();
    let block = "when: 'parameters.vault == \"crown\"'";
    let package = backups()
        .with(
            "guardrails/ask.yaml",
            &guardrail("a.ask", "skill", "*", "require_approval", ON_READS),
        )
        .with(
            "guardrails/block.yaml",
            &guardrail("z.block", "domain", "reliability", "hard_block", block),
        );
    server.api.register(&package);
    let blocked = server
        .api
        .ask(&request_of(SKILL, json!({"vault": "crown"})));
    assert_eq!(
        blocked.fails(403, "guardrail_blocked"),
        "z.block: The message of z.block."
    );
    let asked = server.api.ask(&request_of(SKILL, json!({"vault": "main"})));
    asked.fails(403, "approval_required");
    let waiting = server.api.get("/v1/approvals").expect(200);
    let asking = &waiting["entries"][0]["rules"][0];
    assert_eq!(
        (&asking["kind"], &asking["id"]),
        (&json!("guardrail"), &json!("a.ask"))
    );
    assert_eq!(
        server.api.get("/v1/evidence").expect(200)["entries"],
        json!([])
    );
}

/// B000-12: exceptions are evaluated first; one that fails at run time grants nothing.
#[test]
fn b000_12_an_exception_lets_through_only_where_it_holds() {
    let server = Tenants::one();
    let rest = format!(
        "{ON_READS}\nexceptions:\n  - {{condition: 'parameters.vault == \"open\"', allow: true}}\n  - {{condition: 'parameters.nothing.like.that', allow: true}}"
    );
    server.api.register(&backups().with(
        "guardrails/r.yaml",
        &guardrail("r", "skill", "*", "hard_block", &rest),
    ));
    server
        .api
        .ask(&request_of(SKILL, json!({"vault": "open"})))
        .expect(200);
    server
        .api
        .ask(&request_of(SKILL, json!({"vault": "main"})))
        .fails(403, "guardrail_blocked");
}
