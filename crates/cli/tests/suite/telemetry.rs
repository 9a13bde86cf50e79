//! Traces and metrics as a collector receives them: names, parents and attributes by OpenTelemetry's conventions,
//! without content of people or tools, and no harm if the collector is gone or hangs.

mod receiver;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use charter_testkit::http_stub::{HttpStub, Reply};
use serde_json::{Value, json};

use crate::candidates::{READ, with_kitchen};
use crate::home::{Api, Home, Server, request, request_of};
use crate::packages::SKILL;
use crate::service::{Service, package_calling};
use receiver::{Receiver, attributes, family, named};

/// A mark in every text of people, tools and models.
const MARK: &str = "amethyst-of-acme";
const TOKEN: &str = "otlp-token-of-the-tests";
const MODEL_KEY: &str = "sk-model-key-of-the-tests";
const KEYS: [(&str, &str, &str, &str); 2] = [
    ("root-key-of-the-tests", "acme", "root", "admin"),
    ("uma-key-of-the-tests", "acme", "uma", "user"),
];
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// A server with a tool and a model that are called over HTTP.
struct Estate {
    _home: Home,
    server: Server,
    tool: HttpStub,
    models: HttpStub,
}

impl Estate {
    /// A server that exports to `endpoint`, with more lines in `[telemetry]`.
    fn telling(endpoint: &str, more: &str) -> Self {
        let tool = HttpStub::start(|_, number| match number {
            0 => backup(),
            _ => Reply::json(500, json!({"error": MARK}).to_string()),
        });
        Self::over(endpoint, more, tool.unwrap())
    }

    fn over(endpoint: &str, more: &str, tool: HttpStub) -> Self {
        let models = HttpStub::start(|_, _| drafted()).unwrap();
        let home = Home::with_keys(&KEYS);
        let config = home.path("config.toml");
        let keys = std::fs::read_to_string(&config).unwrap();
        let text = format!(
            "{keys}[models.providers.lab]\napi = \"openai\"\nbase_url = \"{}\"\nstream = false\n\
             key = {{variable = \"LAB_KEY\"}}\n[models.routes]\ncode_agent = \"lab/coder\"\n\
             [telemetry]\notlp_endpoint = \"{endpoint}\"\nexport_interval_s = 1\n\
             headers.x-collector-token = {{variable = \"COLLECTOR_TOKEN\"}}\n{more}\n",
            models.url("/v1")
        );
        std::fs::write(&config, text).unwrap();
        let home = home
            .with("LAB_KEY", MODEL_KEY)
            .with("COLLECTOR_TOKEN", TOKEN);
        let server = home.serve();
        let package = package_calling(&tool.address().to_string());
        let package = with_kitchen(package, &Service::start());
        server.key(KEYS[0].0).register(&package);
        Self {
            _home: home,
            server,
            tool,
            models,
        }
    }

    fn api(&self) -> Api {
        self.server.key(KEYS[1].0)
    }

    /// Sends a request to the skill, in the caller's trace if there is one.
    fn ask_skill(&self, traceparent: Option<&str>) -> crate::home::Answer {
        let mut asked = request_of(SKILL, json!({"vault": MARK}));
        asked["input"] = json!(format!("Which backups have grown stale? {MARK}"));
        let headers = traceparent.map(|told| ("traceparent", told));
        let headers: Vec<(&str, &str)> = headers.into_iter().collect();
        let body = asked.to_string().into_bytes();
        self.api().call("POST", "/v1/requests", &headers, body)
    }
}

fn backup() -> Reply {
    let found = json!({"backups": [{"id": MARK, "age_days": 40}]});
    Reply::json(200, found.to_string())
}

/// A model's candidate, which contains the mark.
fn drafted() -> Reply {
    let draft = json!({"candidate": {
        "name": "Boiler pressure", "description": format!("Measures a boiler. {MARK}"),
        "requests": ["how much pressure is on the boiler of the coffee machine"],
        "parameters": [{"name": "which", "tool": "kitchen.measure_pressure", "parameter": "machine"}],
        "steps": [{"step_id": "measure", "tool": "kitchen.measure_pressure", "arguments": {"machine": "${user.which}"}}],
    }});
    let completion = json!({"object": "chat.completion", "model": "coder-2026", "choices": [{
        "index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": draft.to_string()}}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}});
    Reply::json(200, completion.to_string())
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = list
        .iter()
        .map(|(name, parent)| ((*name).to_owned(), (*parent).to_owned()))
        .collect();
    pairs.sort();
    pairs
}

/// A request's spans, from the client's own down to the tool's, with the attributes of the conventions.
#[test]
fn a_request_that_calls_a_tool_is_a_trace_that_continues_its_clients() {
    let receiver = Receiver::start();
    let estate = Estate::telling(&receiver.url(), "");
    let answer = estate
        .ask_skill(Some(&format!("00-{TRACE}-{CALLER}-01")))
        .expect(200);
    let spans = receiver.whole(TRACE);
    let (agent, tool) = (
        "invoke_agent domain.reliability.recovery",
        "execute_tool vault.list_backups",
    );
    let expected = [
        ("POST /v1/requests", CALLER),
        ("answer_request", "POST /v1/requests"),
        (agent, "answer_request"),
        ("run", agent),
        (tool, "run"),
    ];
    assert_eq!(family(&spans), pairs(&expected));
    for (name, kind, told) in told_of(&answer) {
        let span = named(&spans, &name);
        assert_eq!((span.kind.as_str(), span.failed), (kind, false));
        assert_eq!(Value::Object(span.attributes.clone()), told, "{name}");
    }
    assert!(
        !estate.tool.seen()[0].headers.contains_key("traceparent"),
        "a tool is told of no trace unless the operator says so"
    );
}

/// Name, kind and attributes of the spans of an answer.
fn told_of(answer: &Value) -> Vec<(String, &'static str, Value)> {
    let (server, internal) = ("SPAN_KIND_SERVER", "SPAN_KIND_INTERNAL");
    let run = answer["metadata"]["run_ids"][0].as_str().unwrap();
    let spans = [
        (
            "POST /v1/requests",
            server,
            json!({"http.request.method": "POST", "http.route": "/v1/requests",
                "http.response.status_code": 200, "url.scheme": "http"}),
        ),
        (
            "answer_request",
            internal,
            json!({"charter.request.id": answer["request_id"], "charter.skills": SKILL,
                "charter.verdict": answer["metadata"]["verdict"]["kind"]}),
        ),
        (
            "invoke_agent domain.reliability.recovery",
            internal,
            json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "charter",
                "gen_ai.agent.id": "domain.reliability.recovery",
                "gen_ai.agent.name": "domain.reliability.recovery", "charter.skill.id": SKILL}),
        ),
        (
            "run",
            internal,
            json!({"charter.run.id": run, "charter.run.status": "completed"}),
        ),
        (
            "execute_tool vault.list_backups",
            internal,
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "vault.list_backups",
                "gen_ai.tool.call.id": format!("{run}/step_1"), "charter.tool.result": "fresh",
                "charter.run.id": run}),
        ),
    ];
    let of_tenant = spans.map(|(name, kind, mut told)| {
        told["charter.tenant.id"] = json!("acme");
        (name.to_owned(), kind, told)
    });
    of_tenant.to_vec()
}

/// A miss calls a model: its span, and the two histograms of the conventions.
#[test]
fn a_call_of_a_model_is_a_span_and_is_measured() {
    let receiver = Receiver::start();
    let estate = Estate::telling(&receiver.url(), "");
    let answer = estate
        .api()
        .ask(&request(&format!("{READ} {MARK}")))
        .expect(200);
    assert_eq!(answer["metadata"]["verdict"]["kind"], "miss", "{answer:#}");

    let spans = receiver.trace_with("chat coder");
    let expected = [
        ("POST /v1/requests", "nobody"),
        ("answer_request", "POST /v1/requests"),
        ("chat coder", "answer_request"),
    ];
    assert_eq!(family(&spans), pairs(&expected));
    let chat = named(&spans, "chat coder");
    assert_eq!(
        (chat.kind.as_str(), chat.failed),
        ("SPAN_KIND_CLIENT", false)
    );
    assert_eq!(
        Value::Object(chat.attributes.clone()),
        json!({"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "coder", "gen_ai.response.model": "coder-2026",
            "gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 5,
            "charter.model.provider": "lab", "charter.model.stage": "code_agent",
            "charter.model.attempts": 1, "charter.tenant.id": "acme"})
    );

    let measured = |name: &str| receiver.until(name, |taken| taken.metric(name));
    let of_model = json!({"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "coder", "gen_ai.response.model": "coder-2026"});
    let duration = measured("gen_ai.client.operation.duration");
    let point = &duration["histogram"]["dataPoints"][0];
    assert_eq!(duration["unit"], "s");
    assert_eq!(point["count"], "1", "{duration:#}");
    assert_eq!(Value::Object(attributes(&point["attributes"])), of_model);
    let bounds = json!([
        0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92
    ]);
    assert_eq!(point["explicitBounds"], bounds);

    let usage = measured("gen_ai.client.token.usage");
    assert_eq!(usage["unit"], "{token}");
    let points = usage["histogram"]["dataPoints"].as_array().unwrap().iter();
    let mut tokens: Vec<(Value, Value)> = points
        .map(|point| {
            let mut told = attributes(&point["attributes"]);
            let kind = told.remove("gen_ai.token.type").unwrap();
            assert_eq!(Value::Object(told), of_model);
            (kind, point["sum"].clone())
        })
        .collect();
    tokens.sort_by_key(|(kind, _)| kind.to_string());
    assert_eq!(
        tokens,
        [(json!("input"), json!(30.0)), (json!("output"), json!(5.0))]
    );
    assert_eq!(
        usage["histogram"]["dataPoints"][0]["explicitBounds"][13],
        67_108_864.0
    );
}

/// The figures of `/metrics` and the exported ones have one source.
#[test]
fn what_is_counted_for_the_collector_is_what_metrics_shows() {
    let receiver = Receiver::start();
    let estate = Estate::telling(&receiver.url(), "service_name = \"charter-of-the-tests\"");
    for _ in 0..3 {
        estate.api().get("/v1/runs").expect(200);
    }
    let name = "http.server.request.duration";
    let point = receiver.until("three requests", |taken| {
        let metric = taken.metric(name)?;
        let points = metric["histogram"]["dataPoints"].as_array()?.clone();
        assert_eq!(metric["unit"], "s");
        points.into_iter().find(|point| {
            let told = attributes(&point["attributes"]);
            told["http.route"] == "/v1/runs" && point["count"] == "3"
        })
    });
    assert_eq!(
        Value::Object(attributes(&point["attributes"])),
        json!({"http.request.method": "GET", "http.route": "/v1/runs",
            "http.response.status_code": 200, "url.scheme": "http"})
    );
    let bounds = json!([
        0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0
    ]);
    assert_eq!(point["explicitBounds"], bounds);

    let (_, text) = estate.api().raw("GET", "/metrics", &[], Vec::new());
    let shown = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().to_owned()
    };
    for (sent, name) in [
        ("charter.catalogue.documents", "charter_catalogue_documents"),
        ("charter.catalogue.revision", "charter_catalogue_revision"),
        ("charter.tool_calls.queued", "charter_tool_calls_queued"),
    ] {
        receiver.until(sent, |taken| {
            let gauge = taken.metric(sent)?;
            (gauge["gauge"]["dataPoints"][0]["asInt"] == shown(name)).then_some(())
        });
    }
    let resources = receiver.taken();
    let resource = &resources[0]["body"]["resourceMetrics"][0];
    let resource = if resource.is_null() {
        &resources[0]["body"]["resourceSpans"][0]
    } else {
        resource
    };
    let told = attributes(&resource["resource"]["attributes"]);
    assert_eq!(told["service.name"], "charter-of-the-tests", "{told:#?}");
}

/// Texts, parameters, results, messages of failures and secrets are never exported, even after failures.
#[test]
fn telemetry_contains_no_content_and_no_secret() {
    let receiver = Receiver::start();
    let estate = Estate::telling(&receiver.url(), "");
    estate.ask_skill(None).expect(200);
    let failed = estate.ask_skill(None);
    assert!(failed.status >= 400, "the tool fails: {:#}", failed.body);
    assert!(failed.body.to_string().contains(MARK), "{:#}", failed.body);
    estate
        .api()
        .ask(&request(&format!("{READ} {MARK}")))
        .expect(200);
    let unknown = format!("/v1/{MARK}?{MARK}={MARK}");
    let said = [("x-said", MARK)];
    estate.api().raw("GET", &unknown, &said, Vec::new());

    let whole = receiver.until("a failed call", |taken| {
        let spans = taken.spans();
        let failed = spans
            .iter()
            .find(|span| span.name.starts_with("execute_tool") && span.failed)?;
        Some(taken.whole(&failed.trace))
    });
    for (name, code) in [
        ("execute_tool vault.list_backups", "tool_failed"),
        ("run", "failed"),
        ("answer_request", "tool_failed"),
    ] {
        let span = named(&whole, name);
        assert_eq!(
            (span.failed, &span.attributes["error.type"]),
            (true, &json!(code))
        );
    }
    receiver.trace_with("chat coder");
    let nowhere = receiver.trace_with("GET");
    assert_eq!(nowhere[0].attributes.get("http.route"), None);
    receiver.until("metrics", |taken| taken.metric("gen_ai.client.token.usage"));
    assert_eq!(estate.server.terminate(), Some(0));

    let taken = receiver.taken();
    for kind in ["resourceSpans", "resourceMetrics"] {
        let sent = taken.iter().any(|export| !export["body"][kind].is_null());
        assert!(sent, "no {kind} were exported");
    }
    for export in &taken {
        assert_eq!(export["headers"]["x-collector-token"], TOKEN);
        assert_eq!(export["headers"]["content-type"], "application/x-protobuf");
        let (raw, body) = (export["raw"].as_str().unwrap(), export["body"].to_string());
        let secrets = [MARK, TOKEN, MODEL_KEY, KEYS[0].0, KEYS[1].0];
        for secret in secrets
            .into_iter()
            .chain(["grown stale", "boiler pressure of"])
        {
            assert!(
                !raw.contains(secret) && !body.contains(secret),
                "{secret}: {body}"
            );
        }
    }
}

/// The last data is exported at the end.
#[test]
fn a_server_that_stops_sends_what_is_left() {
    let receiver = Receiver::start();
    let estate = Estate::telling(&receiver.url(), "");
    estate.ask_skill(None).expect(200);
    assert_eq!(estate.server.terminate(), Some(0));
    receiver.trace_with("execute_tool vault.list_backups");
}

/// Sampling decides if a trace begins here; a client that keeps its trace decides for it.
#[test]
fn a_ratio_of_nothing_keeps_the_traces_of_clients_alone() {
    let receiver = Receiver::start();
    let estate = Estate::telling(&receiver.url(), "sample_ratio = 0.0");
    estate.ask_skill(None).expect(200);
    estate.ask_skill(Some(&format!("00-{TRACE}-{CALLER}-00")));
    receiver.until("metrics", |taken| {
        taken.metric("http.server.request.duration")
    });
    let asked = estate.api().call(
        "GET",
        "/v1/runs",
        &[("traceparent", &format!("00-{TRACE}-{CALLER}-01"))],
        Vec::new(),
    );
    asked.expect(200);
    assert_eq!(estate.server.terminate(), Some(0));
    let spans = receiver.whole(TRACE);
    assert_eq!(family(&spans), pairs(&[("GET /v1/runs", CALLER)]));
    assert_eq!(receiver.spans().len(), 1, "{:#?}", receiver.spans());
}

/// If the operator enables it, tools and models receive the trace context of a call.
#[test]
fn traces_reach_tools_and_models_when_configured() {
    let receiver = Receiver::start();
    let estate = Estate::telling(&receiver.url(), "propagate = true");
    estate.ask_skill(None).expect(200);
    estate.api().ask(&request(READ)).expect(200);
    for (name, seen) in [
        ("execute_tool vault.list_backups", estate.tool.seen()),
        ("chat coder", estate.models.seen()),
    ] {
        let spans = receiver.trace_with(name);
        let span = named(&spans, name);
        let told = format!("00-{}-{}-01", span.trace, span.id);
        assert_eq!(seen[0].headers.get("traceparent"), Some(&told), "{name}");
    }
}

/// A collector that is gone, hangs or fails delays nothing: neither answers nor the end.
#[test]
fn a_collector_that_does_not_take_anything_harms_nothing() {
    // An address without a listener: the port was free a moment ago.
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let hangs = HttpStub::start(|_, _| Reply::never()).unwrap();
    let fails = HttpStub::start(|_, _| Reply::json(503, "{}")).unwrap();
    for (endpoint, is_asked) in [
        (format!("http://{gone}"), false),
        (hangs.url(""), true),
        (fails.url(""), true),
    ] {
        let tool = HttpStub::start(|_, _| backup()).unwrap();
        let estate = Estate::over(&endpoint, "", tool);
        let begun = Instant::now();
        for _ in 0..20 {
            estate.ask_skill(None).expect(200);
        }
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(20), "{endpoint}: {took:?}");
        let log = estate.server.log();
        let begun = Instant::now();
        assert_eq!(estate.server.terminate(), Some(0), "{log}");
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(15), "{endpoint}: {took:?}");
        assert!(is_asked || !log.contains("panicked"), "{log}");
    }
    assert!(
        hangs.seen().len() + fails.seen().len() > 2,
        "both were asked"
    );
}

/// The doctor's check of telemetry: the state, and the finding.
fn checked(home: &Home) -> (Value, String) {
    let doctor = home.run(&["doctor", "--output", "json"]);
    let checks: Value = serde_json::from_str(&doctor.out).unwrap();
    let mut checks = checks.as_array().unwrap().iter();
    let found = checks.find(|check| check["check"] == "telemetry").unwrap();
    (
        found["state"].clone(),
        found["found"].as_str().unwrap().to_owned(),
    )
}

fn telling(receiver: &Receiver) -> Home {
    Home::new().with("CHARTER_TELEMETRY__OTLP_ENDPOINT", &receiver.url())
}

/// An empty export goes to both addresses. `make check-telemetry` skips this: a Collector accepts such an export and
/// forwards none.
#[test]
fn the_doctor_asks_both_addresses() {
    let receiver = Receiver::start();
    checked(&telling(&receiver));
    let paths: Vec<Value> = receiver
        .taken()
        .iter()
        .map(|export| export["path"].clone())
        .collect();
    assert_eq!(paths, ["/v1/traces", "/v1/metrics"]);
}

/// The doctor checks the collector, and invalid settings stop the start.
#[test]
fn the_doctor_says_whether_the_collector_answers() {
    let off = Home::new();
    assert_eq!(checked(&off), (json!("ok"), "off".to_owned()));

    let receiver = Receiver::start();
    let found = format!("{} accepts traces and metrics", receiver.url());
    assert_eq!(checked(&telling(&receiver)), (json!("ok"), found));

    let refuses = HttpStub::start(|_, _| Reply::json(401, "{}")).unwrap();
    let wrong = Home::new().with("CHARTER_TELEMETRY__OTLP_ENDPOINT", &refuses.url(""));
    let (state, found) = checked(&wrong);
    assert_eq!(state, "wrong");
    assert!(
        found.ends_with("POST /v1/traces was answered 401 Unauthorized"),
        "{found}"
    );

    for (name, value, said) in [
        (
            "OTLP_ENDPOINT",
            "http://collector.example.com:4318",
            "remote without TLS",
        ),
        ("SAMPLE_RATIO", "1.5", "is not between 0 and 1"),
        ("EXPORT_INTERVAL_S", "0", "must be more than 0"),
    ] {
        let home = Home::new()
            .with("CHARTER_TELEMETRY__OTLP_ENDPOINT", "http://127.0.0.1:4318")
            .with(&format!("CHARTER_TELEMETRY__{name}"), value);
        let refused = home.run(&["serve", "--listen", "127.0.0.1:0"]);
        assert!(
            refused.code == Some(2) && refused.err.contains(said),
            "{refused:?}"
        );
    }
}
