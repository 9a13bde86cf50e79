//! The permissions of credentials: every operation of every protocol, without a credential and with too few scopes. The
//! operations come from the OpenAPI document, so that new ones are included automatically.

use serde_json::{Value, json};

use crate::home::{Api, Home, Server};
use crate::packages::backups;
use crate::shared::Tenants;
use crate::skills::{leaf, put};

/// Operations that need no credential.
const OPEN: [&str; 8] = [
    "get_agent_card",
    "get_agent_card_keys",
    "list_schemas",
    "get_openapi",
    "get_schema",
    "get_sign_in_options",
    "start_sign_in",
    "complete_sign_in",
];

/// Operations whose credential is a signature.
const SIGNED: [&str; 2] = ["decide_in_slack", "receive_webhook"];

/// Operations that need no scope, or whose body names another operation; they have separate tests.
const OF_ANY_CALLER: [&str; 4] = [
    "a2a_call",
    "delete_console_session",
    "get_caller",
    "get_console_session",
];

fn served() -> (Home, Server) {
    let home =
        Home::with_keys(&[("ann", "acme", "ann", "admin")]).with("CHARTER_MODEL__SOURCE", "none");
    let server = home.serve();
    (home, server)
}

/// A key from the tenant's admin: also admin, but with only these scopes.
fn limited(admin: &Api, scopes: Value) -> Api {
    let order = json!({"name": "limited", "role": "admin", "scopes": scopes});
    let made = admin.post("/v1/keys", &order).expect(201);
    admin.with_key(made["secret"].as_str().unwrap())
}

/// Every operation: its id, method, and a path with a value for each parameter.
fn operations(api: &Api) -> Vec<(String, String, String)> {
    let document = api.get("/v1/openapi.json").expect(200);
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(id) = operation["operationId"].as_str() else {
                continue;
            };
            let mut parts = Vec::new();
            for part in path.split('/') {
                parts.push(if part.starts_with('{') { "x" } else { part });
            }
            found.push((id.to_owned(), method.to_uppercase(), parts.join("/")));
        }
    }
    assert!(found.len() > 100, "{found:?}");
    found
}

/// Without a key only public operations are allowed; so with a key without scopes, whose refusal names the missing
/// scope.
#[test]
fn every_operation_needs_a_credential_with_its_scope() {
    let (_home, server) = served();
    let nothing = limited(&server.key("ann"), json!([]));
    for (id, method, path) in operations(&server.api) {
        let unknown = server.api.call(&method, &path, &[], Vec::new());
        if OPEN.contains(&id.as_str()) {
            assert_ne!(unknown.status, 401, "{id}");
            continue;
        }
        assert_eq!(unknown.status, 401, "{id}: {:#}", unknown.body);
        if OF_ANY_CALLER.contains(&id.as_str()) || SIGNED.contains(&id.as_str()) {
            continue;
        }
        if path.starts_with("/a2a/") {
            let headers = [
                ("a2a-version", "1.0"),
                ("content-type", "application/a2a+json"),
            ];
            let path = if id == "a2a_act_on_task" {
                format!("{path}:cancel")
            } else {
                path
            };
            let body = if method == "GET" {
                Vec::new()
            } else {
                b"{}".to_vec()
            };
            let (status, text) = nothing.raw(&method, &path, &headers, body);
            assert!(
                status == 403 && text.contains("needs the scope"),
                "{id}: {status} {text}"
            );
            continue;
        }
        let refused = nothing.call(&method, &path, &[], Vec::new());
        let message = refused.clone().fails(403, "permission_denied");
        let scope = refused.body["technical_details"]["scope"].as_str().unwrap();
        assert!(message.contains(scope), "{id}: {message}");
    }
}

/// The methods of A2A's JSON-RPC binding.
#[test]
fn an_a2a_method_needs_its_scopes() {
    let server = Tenants::one();
    let reads = limited(
        &server.api,
        json!(["requests:read", "runs:read", "missions:read"]),
    );
    for (method, denied) in [
        ("ListTasks", false),
        ("SendMessage", true),
        ("SendStreamingMessage", true),
        ("CancelTask", true),
        ("GetExtendedAgentCard", true),
    ] {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}});
        let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
        let (_, text) = reads.raw("POST", "/a2a", &headers, call.to_string().into_bytes());
        assert_eq!(text.contains("needs the scope"), denied, "{method}: {text}");
    }
}

/// Unusable tools are not listed, and are refused when called; so are resources.
#[test]
fn an_mcp_method_needs_its_scopes() {
    let server = Tenants::one();
    let memories = limited(&server.api, json!(["memory:read", "memory:write"]));
    let listed = memories.mcp(&json!({}), "tools/list", None, json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["recall", "remember"]);
    let asked = json!({"name": "find", "arguments": {"query": "x"}});
    let called = memories.mcp(&json!({}), "tools/call", Some("find"), asked);
    assert_eq!(called["result"]["isError"], true, "{called:#}");
    assert!(called.to_string().contains("catalogue:read"), "{called:#}");
    let asked = json!({"name": "recall", "arguments": {"query": "x"}});
    let called = memories.mcp(&json!({}), "tools/call", Some("recall"), asked);
    assert_ne!(called["result"]["isError"], true, "{called:#}");
    for (method, name, params) in [
        ("resources/list", None, json!({})),
        (
            "resources/read",
            Some("evidence://x"),
            json!({"uri": "evidence://x"}),
        ),
        (
            "resources/read",
            Some("mission://x"),
            json!({"uri": "mission://x"}),
        ),
        (
            "resources/read",
            Some("skill://x"),
            json!({"uri": "skill://x"}),
        ),
        ("prompts/list", None, json!({})),
    ] {
        let answer = memories.mcp(&json!({}), method, name, params);
        let text = answer.to_string();
        assert!(
            text.contains("needs the scope"),
            "{method} {name:?}: {text}"
        );
    }
}

/// The role in the catalogue is independent of the level.
#[test]
fn viewers_look_and_editors_register() {
    let (_home, server) = served();
    let ann = server.key("ann");
    let of = |role: &str, catalogue: &str| {
        let order = json!({"name": "k", "role": role, "catalogue": catalogue});
        let made = ann.post("/v1/keys", &order).expect(201);
        server.key(made["secret"].as_str().unwrap())
    };
    let viewer = of("operator", "viewer");
    let refused = viewer.post("/v1/packages", &backups().bundle());
    refused.clone().fails(403, "permission_denied");
    assert_eq!(refused.body["technical_details"]["catalogue"], "editor");
    viewer.get("/v1/packages").expect(200);
    let editor = of("user", "editor");
    editor.register(&backups());
    // Global documents need a catalogue admin.
    let global = crate::packages::global_backups();
    editor
        .post("/v1/packages", &global.bundle())
        .fails(403, "permission_denied");
    of("user", "admin").register(&global);
}

/// Every caller may read its own identity and rights, and the quotas of its tenant, even without scopes.
#[test]
fn a_caller_may_know_who_it_is() {
    let (_home, server) = served();
    put(&server.key("ann"), &leaf("sql", "look after databases")).expect(201);
    let order = json!({
        "name": "looks", "user": "bea", "role": "operator", "catalogue": "viewer", "agent_skills": ["sql"],
        "scopes": ["runs:read"],
    });
    let made = server.key("ann").post("/v1/keys", &order).expect(201);
    let bea = server.key(made["secret"].as_str().unwrap());
    let unbounded = json!({"calls": null, "runs": null});
    assert_eq!(
        bea.get("/v1/caller").expect(200),
        json!({
            "tenant": "acme", "user": "bea", "role": "operator", "tier": "basic", "catalogue": "viewer",
            "agent_skills": ["sql"], "scopes": ["runs:read"], "quota": unbounded,
        })
    );
    let shown = limited(&server.key("ann"), json!([]))
        .get("/v1/caller")
        .expect(200);
    assert_eq!(
        (&shown["user"], &shown["scopes"]),
        (&json!("ann"), &json!([]))
    );
    server.api.get("/v1/caller").fails(401, "unauthenticated");
}
