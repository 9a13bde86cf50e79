//! Failures as a client sees them. The harness checks for every failure of the suite that it is a valid AgentError
//! without internals (B003-3).

use serde_json::json;

use crate::home::{Home, request, request_of};
use crate::packages::{Package, SCRIPT_FILE, SKILL, SKILL_FILE, TOOL_FILE, backups, skill};
use crate::shared::Tenants;

fn with_script(script: &str) -> Package {
    backups().with(SCRIPT_FILE, script)
}

/// B003-3: the six types, each with a real cause where this level can produce one.
#[test]
fn b003_3_failures_have_their_type_and_their_request() {
    let server = Tenants::one();
    server
        .api
        .register(&with_script("import sys\nsys.exit(7)\n"));
    let failed = server.api.ask(&request_of(SKILL, json!({})));
    failed.clone().fails(502, "tool_failed");
    assert_eq!(failed.body["error_type"], "execution_error");
    let asked = request_of("reliability.none", json!({}));
    let unknown = server.api.ask(&asked);
    unknown.clone().fails(404, "not_found");
    assert_eq!(
        (&unknown.body["error_type"], &unknown.body["request_id"]),
        (&json!("input_error"), &asked["id"])
    );
    assert!(
        !unknown.body["recommended_actions"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

/// Unless its handler sets otherwise, a response is not cached, not sniffed as another type, and not shown in a frame.
#[test]
fn every_answer_has_its_headers() {
    let api = Tenants::one().api.clone();
    let mut keyless = api.clone();
    keyless.key = None;
    let policy = "default-src 'none'; frame-ancestors 'none'";
    for (api, path) in [
        (&api, "/v1/runs"),
        (&api, "/v1/runs/none"),
        (&api, "/v1/nothing"),
        (&api, "/v1/openapi.json"),
        (&api, "/healthz"),
        (&api, "/a2a"),
        (&keyless, "/v1/runs"),
        (&keyless, "/mcp"),
    ] {
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            ("content-security-policy", policy),
        ] {
            let found = api.header_of(path, name);
            assert_eq!(found.as_deref(), Some(value), "{path} {name}");
        }
    }
    let page = api.header_of("/reference", "content-security-policy");
    let page = page.unwrap();
    assert!(
        page.contains("script-src") && page.contains("frame-ancestors 'none'"),
        "{page}"
    );
    let card = api.header_of("/.well-known/agent-card.json", "cache-control");
    assert!(
        card.as_ref().is_some_and(|card| card.contains("max-age")),
        "{card:?}"
    );
}

/// A failing tool's message is in the answer.
#[test]
fn a_failing_tools_message_reaches_the_client() {
    let server = Tenants::one();
    let script = "import json, sys\nprint('looking', file=sys.stderr)\n\
                  print(json.dumps({'error_type': 'permission_error', 'message': 'the vault is sealed'}), file=sys.stderr)\nsys.exit(1)\n";
    server.api.register(&with_script(script));
    let failed = server.api.ask(&request_of(SKILL, json!({})));
    let message = failed.clone().fails(502, "tool_failed");
    assert_eq!(
        message,
        "the tool `vault.list_backups` failed: the vault is sealed"
    );
    assert_eq!(
        failed.body["technical_details"]["error_type"],
        "permission_error"
    );
    let run = failed.body["technical_details"]["run_id"].as_str().unwrap();
    let shown = server.api.get(&format!("/v1/runs/{run}")).expect(200);
    assert_eq!(shown["status"], "failed");
    assert_eq!(
        server.api.get("/v1/evidence").expect(200)["entries"],
        json!([])
    );
}

/// A tool's traceback names files of the server, which the client must not see.
#[test]
fn b003_3_a_tools_traceback_gives_no_path_away() {
    let server = Tenants::one();
    server
        .api
        .register(&with_script("raise RuntimeError('here: ' + __file__)\n"));
    // The harness looks for the data directory in the message.
    server
        .api
        .ask(&request_of(SKILL, json!({})))
        .fails(502, "tool_failed");
}

/// B003-4: a result is checked against the tool's declared schema.
#[test]
fn b003_4_a_result_that_breaks_its_schema_fails_the_step() {
    let server = Tenants::one();
    let schema = "language: python\noutput_schema: {type: object, required: [tapes]}";
    server
        .api
        .register(&backups().edit(TOOL_FILE, "language: python", schema));
    let message = server
        .api
        .ask(&request_of(SKILL, json!({})))
        .fails(502, "tool_result_invalid");
    assert!(message.contains("tapes"), "{message}");
}

/// B003-7: a timeout is a `timeout_error`, and the repeated request returns the same error.
#[test]
fn b003_7_a_tool_that_takes_too_long_times_out() {
    let server = Tenants::one();
    let slow = with_script("import time\ntime.sleep(600)\n").edit(
        TOOL_FILE,
        "language: python",
        "language: python\ntimeout_ms: 300",
    );
    server.api.register(&slow);
    let asked = request_of(SKILL, json!({}));
    let first = server.api.ask(&asked);
    first.clone().fails(504, "tool_timeout");
    assert_eq!(first.body["error_type"], "timeout_error");
    let again = server.api.ask(&asked);
    let message = again.fails(504, "tool_timeout");
    assert_eq!(first.body["user_message"], message);
}

/// B003-4: unknown, missing and misfitting parameters of a skill, all at once and by name.
#[test]
fn b003_4_parameters_of_a_skill_are_checked() {
    let server = Tenants::one();
    let package = backups().edit(
        SKILL_FILE,
        ", default: main}",
        "}\n  - {name: days, type: integer, description: age}",
    );
    server.api.register(&package);
    let message = server
        .api
        .ask(&request_of(SKILL, json!({"days": "many", "color": "red"})))
        .fails(400, "missing_parameters");
    for part in [
        "`vault` is missing",
        "`days` must be of the type integer",
        "unknown parameter `color`",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let missing = server
        .api
        .ask(&request_of(SKILL, json!({})))
        .fails(400, "missing_parameters");
    assert!(
        missing.contains("`vault` is missing: the vault to look into"),
        "{missing}"
    );
    server
        .api
        .ask(&request_of(SKILL, json!({"vault": "main"})))
        .expect(200);
}

/// B003-4: permission user < system < admin.
#[test]
fn b003_4_a_tool_above_the_callers_permission_is_not_called() {
    let server = Tenants::with_keys(&[
        ("op", "acme", "ann", "operator"),
        ("user", "acme", "bob", "user"),
    ]);
    let package = backups().edit(
        TOOL_FILE,
        "language: python",
        "language: python\npermission_level: system",
    );
    server.key("op").register(&package);
    let refused = server
        .key("user")
        .ask(&request_of(SKILL, json!({})))
        .fails(403, "permission_denied");
    assert!(
        refused.contains("`vault.list_backups` needs the permission level system"),
        "{refused}"
    );
    server
        .key("op")
        .ask(&request_of(SKILL, json!({})))
        .expect(200);
}

/// A flow that generates a candidate is refused if a registered skill matches the request.
#[test]
fn unsupported_flows_say_so() {
    // Without keys the caller has the advanced tier, which the reference library needs.
    let home = Home::new();
    let server = home.serve();
    server.api.register(&backups());
    let mut asked = request("which backups are stale");
    asked["metadata"] = json!({"flow": "code_gen_read"});
    server.api.ask(&asked).fails(422, "unsupported_flow");
    for flow in [
        "write",
        "code_gen_write",
        "code_gen_direct",
        "skill",
        "read_broad",
        "rag_search",
        "knowledge",
    ] {
        let mut asked = request("compose a birthday poem");
        asked["metadata"] = json!({"flow": flow});
        server.api.ask(&asked).fails(404, "no_match");
    }
}

/// One failing skill of several does not fail the others.
#[test]
fn a_broad_answer_says_which_skill_failed() {
    let server = Tenants::one();
    let broken = "tool_id: vault.broken\nname: broken\nprovider: aws\ntool_class: readonly\ndomain: reliability\ndescription: Breaks.\n\
                  language: bash\nimplementation: {type: script, body: \"exit 3\"}\n";
    let twin = |name: &str, tool: &str| {
        skill(&format!("reliability.{name}"), "count the tape drives")
            .replace("vault.list_backups, parameters: {vault: main}", tool)
    };
    let package = backups()
        .with("tools/broken.yaml", broken)
        .with(
            "skills/one.yaml",
            &twin("one", "vault.list_backups, parameters: {vault: main}"),
        )
        .with("skills/two.yaml", &twin("two", "vault.broken"));
    server.api.register(&package);
    let answer = server
        .api
        .ask(&request("count the tape drives"))
        .expect(200);
    let warnings = answer["metadata"]["warnings"].to_string();
    assert!(
        warnings.contains("`reliability.two` failed: the tool `vault.broken` failed"),
        "{answer:#}"
    );
}
