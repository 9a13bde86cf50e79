//! Language models in the configuration: the target and key of each route, and the outcome of calls. The providers are
//! a stub server that answers as theirs do.

use charter_testkit::http_stub::{HttpStub, Reply};
use serde_json::{Value, json};

use crate::home::Home;

const KEY: &str = "sk-server-key-of-the-tests";
const TENANT_KEY: &str = "sk-tenant-key-of-the-tests";

/// The answer to the test question in the form of OpenAI's API.
fn ready() -> Reply {
    let completion = json!({"object": "chat.completion", "model": "small-2026", "choices": [{
        "index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "{\"ready\": true}"}}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35,
            "prompt_tokens_details": {"cached_tokens": 16}}});
    Reply::json(200, completion.to_string())
}

/// Keys in a variable and in a file, routes of the server and of a tenant.
fn home(server: &HttpStub) -> Home {
    let home = Home::new();
    let file = home.path("key");
    std::fs::write(&file, format!("{TENANT_KEY}\n")).unwrap();
    let config = home.path("config.toml");
    let text = format!(
        r#"
[models.providers.lab]
api = "openai"
base_url = "{}"
key = {{ variable = "LAB_KEY" }}

[models.providers.claude]
api = "anthropic"
base_url = "{}"

[models.routes]
tier_fast = "lab/small"
tier_high_reasoning = "claude/large"

[models.tenants.acme]
keys.lab = {{ file = "{}" }}
routes.tier_fast = "lab/tuned"
"#,
        server.url("/v1"),
        server.url(""),
        file.display()
    );
    std::fs::write(&config, text).unwrap();
    home.with("CHARTER_CONFIG", config.to_str().unwrap())
        .with("LAB_KEY", KEY)
}

fn unasked() -> HttpStub {
    HttpStub::answering(Vec::new()).unwrap()
}

/// The list has routes, provider, model and the origin of the key, and never a key.
#[test]
fn routes_are_listed_with_where_their_keys_come_from() {
    let server = unasked();
    let home = home(&server);
    let deep = json!({"route": "tier_high_reasoning", "provider": "claude", "model": "large",
        "set_by": "server", "key": "none", "key_of": null});
    let fast = json!({"route": "tier_fast", "provider": "lab", "model": "small",
        "set_by": "server", "key": "environment variable LAB_KEY", "key_of": "server"});
    let listed = home.run(&["model", "list", "--output", "json"]).json(0);
    assert_eq!(listed, json!([fast, deep]));

    let own = json!({"route": "tier_fast", "provider": "lab", "model": "tuned", "set_by": "tenant",
        "key": format!("file {}", home.path("key").display()), "key_of": "tenant"});
    let of_acme = ["model", "list", "--tenant", "acme", "--output", "json"];
    assert_eq!(home.run(&of_acme).json(0), json!([own, deep]));

    let doctor = home.run(&["doctor", "--output", "json"]);
    let checks: Value = serde_json::from_str(&doctor.out).unwrap();
    let models = checks.as_array().unwrap().iter();
    let models: Vec<&Value> = models
        .filter(|check| check["check"] == "language models")
        .collect();
    let found = "2 provider(s), 3 route(s); not tested";
    assert_eq!(
        models,
        [&json!({"state": "ok", "check": "language models", "found": found})]
    );

    let table = home.run(&["model", "list"]);
    let shown = home.run(&["config", "show"]);
    for ran in [table, shown, doctor] {
        assert!(
            !ran.out.contains("sk-") && !ran.err.contains("sk-"),
            "{ran:?}"
        );
    }
    assert_eq!(server.seen().len(), 0);
}

/// The test returns a tiny structured answer, its tokens and time, and an exit code by outcome.
#[test]
fn a_route_is_tested_with_a_tiny_question() {
    let server = HttpStub::start(|_, _| ready()).unwrap();
    let home = home(&server);
    let mut outcome = home
        .run(&["model", "test", "tier_fast", "--output", "json"])
        .json(0);
    assert!(outcome[0]["latency_ms"].take().is_u64());
    let expected = json!([{"state": "ok", "route": "tier_fast", "model": "lab/small-2026",
        "latency_ms": null, "input_tokens": 30, "output_tokens": 5, "cached_tokens": 16,
        "attempts": 1, "repairs": 0, "answer": {"ready": true}}]);
    assert_eq!(outcome, expected);
    let of_acme = [
        "model",
        "test",
        "tier_fast",
        "--tenant",
        "acme",
        "--output",
        "json",
    ];
    home.run(&of_acme).json(0);
    let seen = server.seen();
    let keys: Vec<&str> = seen
        .iter()
        .map(|seen| seen.headers["authorization"].as_str())
        .collect();
    assert_eq!(
        keys,
        [format!("Bearer {KEY}"), format!("Bearer {TENANT_KEY}")]
    );
}

/// Without a route all are tested; one that fails makes the outcome a failure, but does not stop the others.
#[test]
fn b003_3_a_route_that_fails_is_told_with_its_code_and_no_key() {
    let refusal =
        json!({"error": {"message": format!("bad key {KEY}"), "code": "invalid_api_key"}});
    let server = HttpStub::start(move |request, _| match request.path.as_str() {
        "/v1/chat/completions" => Reply::json(401, refusal.to_string()),
        _ => Reply::json(413, "{}"),
    })
    .unwrap();
    let home = home(&server);
    let ran = home.run(&["model", "test", "--output", "json"]);
    assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY), "{ran:?}");
    let failed = |route: &str, code: &str, fault: &str, problem: &str| {
        json!({"state": "failed", "route": route, "input_tokens": 0, "output_tokens": 0,
            "cached_tokens": 0, "attempts": 1, "error_code": code, "fault": fault,
            "problem": format!("{code}: the model {problem}")})
    };
    let expected = json!([
        failed(
            "tier_fast",
            "model_access_denied",
            "authentication",
            "lab/small rejected the key, or requires one"
        ),
        failed(
            "tier_high_reasoning",
            "too_large",
            "context_too_long",
            "claude/large rejected the prompts and context as too long (413 Payload Too Large: {})"
        ),
    ]);
    assert_eq!(ran.json(1), expected);

    let unknown = home
        .run(&["model", "test", "tier_unheard_of", "--output", "json"])
        .json(1);
    assert_eq!(unknown[0]["error_code"], "model_route_unknown");
}

#[test]
fn without_models_there_is_nothing_to_test() {
    let home = Home::new();
    assert_eq!(
        home.run(&["model", "list", "--output", "json"]).json(0),
        json!([])
    );
    let ran = home.run(&["model", "test"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let said = "error[model_route_unknown]: there is no route to test: no models are configured";
    assert!(ran.err.starts_with(said), "{ran:?}");
}

/// Invalid configuration stops the start, and `doctor` describes the fault.
#[test]
fn a_configuration_that_cannot_work_stops_the_start() {
    let server = unasked();
    let without_key = home(&server).with("LAB_KEY", "");
    let nowhere = home(&server).with("CHARTER_MODELS__ROUTES__DEEP", "nobody/model");
    for (home, said) in [
        (
            without_key,
            "a key of the provider `lab` is empty or has a character that is invalid in headers",
        ),
        (
            nowhere,
            "the route `deep` uses the provider `nobody`, which is not configured",
        ),
    ] {
        let ran = home.run(&["model", "list"]);
        assert_eq!(
            (ran.code, ran.err.contains(said)),
            (Some(2), true),
            "{ran:?}"
        );
        let ran = home.run(&["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(
            (ran.code, ran.err.contains(said)),
            (Some(2), true),
            "{ran:?}"
        );
        let doctor = home.run(&["doctor", "--output", "json"]).json(1);
        let checks = doctor.as_array().unwrap().iter();
        let wrong: Vec<&Value> = checks.filter(|check| check["state"] == "wrong").collect();
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert_eq!(wrong[0]["check"], "language models");
        assert!(
            wrong[0]["found"].as_str().unwrap().contains(said),
            "{wrong:?}"
        );
    }
}
