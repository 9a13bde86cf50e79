//! Searching the web as a caller meets it: off until somebody is configured, then a tool like any
//! other. The provider is a server of the tests that answers as SearxNG and Brave do.

use charter_testkit::http_stub::{HttpStub, Reply};
use serde_json::{Value, json};

use crate::home::{Api, Home};
use crate::playbooks::settled;
use crate::shared::Tenants;

const TOOL: &str = "charter.web.search";
const KEY: &str = "BSA-search-key-of-the-tests";

fn found() -> Reply {
    let results = json!([{"title": "The <b>Thames</b> Barrier", "url": "https://example.org/barrier",
        "content": "A barrier.", "engine": "mojeek"}]);
    let answer = json!({"query": "barriers", "results": results, "unresponsive_engines": []});
    Reply::json(200, answer.to_string())
}

fn searched(api: &Api, status: &str) -> Value {
    let sent = json!({"execution_plan": {
        "id": "plan-01930000-0000-7000-8000-000000000001",
        "request_id": "req-01930000-0000-7000-8000-000000000001",
        "steps": [{"id": "step-001", "tool": TOOL, "parameters": {"query": "barriers", "count": 2}}],
        "error_handling": {"on_step_failure": "abort_plan"},
    }});
    let run = api.post("/v1/runs", &sent).expect(201);
    settled(api, &run, status)
}

fn event<'r>(run: &'r Value, word: &str) -> &'r Value {
    let mut events = run["events"].as_array().unwrap().iter();
    events.find(|event| event["event"] == word).unwrap()
}

/// The tool is in every catalogue, reads, and has a rate limit for each tenant.
#[test]
fn the_tool_is_listed_as_one_that_reads() {
    let server = Tenants::with_keys(&[("uma", "acme", "uma", "user")]);
    let uma = server.key("uma");
    let shown = uma.get(&format!("/v1/resolve/tool/{TOOL}")).expect(200);
    let document = &shown["document"];
    assert_eq!(
        json!([
            document["implementation"],
            document["tool_class"],
            document["permission_level"],
            document["rate_limit"]
        ]),
        json!([
            {"type": "builtin", "name": "web.search"},
            "readonly",
            "user",
            {"requests_per_minute": 60, "burst": 10}
        ])
    );
    let asked = json!({"tool": TOOL, "parameters": {"query": "barriers"}});
    let explained = uma.post("/v1/gate/explain", &asked).expect(200);
    let rules = explained["rules"].as_array().unwrap().iter();
    let limited: Vec<&Value> = rules.filter(|rule| rule["kind"] == "rate_limit").collect();
    assert_eq!(explained["verdict"], "allow", "{explained:#}");
    assert!(
        limited[0]["reason"].as_str().unwrap().contains("10 of 10"),
        "{limited:?}"
    );
}

/// A plan searches, and its run holds the results.
#[test]
fn a_plan_searches_by_the_configured_provider() {
    let provider = HttpStub::start(|_, _| found()).unwrap();
    let home = Home::new()
        .with("CHARTER_SEARCH__PROVIDER", "searxng")
        .with("CHARTER_SEARCH__URL", &provider.url("/"));
    let server = home.serve();
    let run = searched(&server.api, "completed");
    let output = &event(&run, "step_succeeded")["output"];
    assert_eq!(
        json!([output["provider"], output["query"], output["results"]]),
        json!(["searxng", "barriers", [{"title": "The Thames Barrier",
            "url": "https://example.org/barrier", "snippet": "A barrier.", "source_type": "web"}]])
    );
    let seen = provider.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(
        seen[0].path,
        "/search?q=barriers&format=json&categories=general"
    );
}

/// The tool is off by default, and the refusal names the next step.
#[test]
fn without_a_provider_a_plan_is_refused_with_a_hint() {
    let server_home = Home::new();
    let server = server_home.serve();
    let run = searched(&server.api, "failed");
    let failure = &event(&run, "step_failed")["failure"];
    let hint = "the tool `charter.web.search` failed: searching the web is off on this server: no \
                search provider is configured (`search.provider`)";
    assert_eq!(
        json!([failure["kind"], failure["message"], failure["retryable"]]),
        json!(["permission_error", hint, false])
    );
    assert_eq!(
        doctor(&server_home, 0),
        json!(["ok", "none configured: `charter.web.search` is refused"])
    );
}

/// What `doctor` says of it.
fn doctor(home: &Home, code: i32) -> Value {
    let checks = home.run(&["doctor", "--output", "json"]).json(code);
    let mut checks = checks.as_array().unwrap().iter();
    let check = checks.find(|check| check["check"] == "web search").unwrap();
    json!([check["state"], check["found"]])
}

/// B003-3: the key is in the request and nowhere else, whatever is logged and whatever the provider says.
#[test]
fn b003_3_the_key_is_sent_and_shown_nowhere() {
    let refusal =
        json!({"error": {"code": "VALIDATION", "detail": format!("{KEY} may not ask that")}});
    let provider = HttpStub::start(move |_, _| Reply::json(422, refusal.to_string())).unwrap();
    let home = Home::new()
        .with("CHARTER_LOG", "trace")
        .with("CHARTER_SEARCH__PROVIDER", "brave")
        .with("CHARTER_SEARCH__URL", &provider.url(""))
        .with("CHARTER_SEARCH__KEY__VARIABLE", "BRAVE_KEY")
        .with("BRAVE_KEY", KEY);
    let address = provider.url("/res/v1/web/search");
    let said = format!("brave at {address}, key from environment variable BRAVE_KEY; not asked");
    assert_eq!(doctor(&home, 0), json!(["ok", said]));
    assert_eq!(provider.seen().len(), 0);
    let server = home.serve();
    let run = searched(&server.api, "failed");
    let failure = &event(&run, "step_failed")["failure"];
    assert_eq!(failure["kind"], "input_error", "{run:#}");
    assert_eq!(provider.seen()[0].headers["x-subscription-token"], KEY);
    let log = server.log();
    assert!(log.contains("may not ask that"), "{log}");
    assert!(!log.contains(KEY), "{log}");
    assert!(!run.to_string().contains(KEY));
    let shown = home.run(&["config", "show"]);
    assert!(
        !shown.out.contains(KEY) && shown.out.contains("BRAVE_KEY"),
        "{shown:?}"
    );
}

/// What is configured must hold: nothing starts with half of it, and `doctor` says what is wrong.
#[test]
fn a_provider_that_cannot_work_stops_the_start() {
    let searxng = |more: &[(&str, &str)]| {
        let home = Home::new().with("CHARTER_SEARCH__PROVIDER", "searxng");
        more.iter()
            .fold(home, |home, (name, value)| home.with(name, value))
    };
    let url = ("CHARTER_SEARCH__URL", "http://search.example");
    for (home, said) in [
        (
            searxng(&[]),
            "SearxNG needs a `url`: the address of an instance",
        ),
        (
            searxng(&[url]),
            "`url` is without TLS and not of this machine",
        ),
        (
            Home::new().with("CHARTER_SEARCH__PROVIDER", "brave"),
            "Brave needs a `key`",
        ),
        (
            Home::new().with("CHARTER_SEARCH__URL", "https://search.example"),
            "`provider` is not set, so `url` and `key` have no use",
        ),
    ] {
        let said = format!("setting up `search`: {said}");
        assert_eq!(doctor(&home, 1), json!(["wrong", said]));
        let ran = home.run(&["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(
            (ran.code, ran.err.contains(&said)),
            (Some(2), true),
            "{ran:?}"
        );
    }
}
