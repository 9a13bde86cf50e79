//! What one tenant may ask is bounded, and places for tool calls go round the tenants.

use serde_json::{Value, json};

use crate::home::{Api, Home, Server, eventually, ids, request_of};
use crate::packages::SKILL;
use crate::plans::{PLAN, abort, plan};
use crate::service::Service;

const KEYS: [(&str, &str, &str, &str); 2] = [
    ("ann", "acme", "ann", "admin"),
    ("uma", "umbra", "uma", "admin"),
];

/// A server with these lines in its configuration.
fn served(lines: &str) -> (Home, Server) {
    let home = Home::with_keys(&KEYS).with("CHARTER_MODEL__SOURCE", "none");
    let file = home.path("config.toml");
    let keys = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{lines}\n{keys}")).unwrap();
    let server = home.serve();
    (home, server)
}

fn asked() -> Value {
    request_of(SKILL, json!({}))
}

/// A tenant that calls too often waits, whatever it calls, and no other tenant does.
#[test]
fn a_tenant_calls_as_often_as_it_may() {
    let (_home, server) = served(
        "[quotas.each]\ncalls_per_minute = 1\nburst = 3\n[quotas.tenants.umbra]\ncalls_per_minute = 60000",
    );
    let (ann, uma) = (server.key("ann"), server.key("uma"));
    ann.get("/v1/runs").expect(200);
    ann.get("/v1/nothing-of-the-kind").expect(404);
    ann.open_mcp_session();
    let refused = ann.get("/v1/runs");
    assert_eq!(refused.body["technical_details"]["quota"], "calls");
    let wait = refused.body["technical_details"]["wait_ms"].as_u64();
    assert!(
        wait.is_some_and(|wait| (1..=60_000).contains(&wait)),
        "{wait:?}"
    );
    refused.fails(429, "rate_limited");
    let (status, _) = ann.raw("POST", "/mcp", &[], b"{}".to_vec());
    assert_eq!(status, 429);
    let after = ann.header_of("/v1/runs", "retry-after").unwrap();
    assert!((1..=60).contains(&after.parse::<u64>().unwrap()), "{after}");
    for _ in 0..20 {
        uma.get("/v1/runs").expect(200);
    }
    // Whoever is not known is refused as before, and counts for nobody.
    server
        .key("eve")
        .get("/v1/runs")
        .fails(401, "unauthenticated");
}

/// A tenant has as many runs under way as it may, however they are begun; what it began goes on, asking for it
/// again finds it, and no other tenant waits.
#[test]
fn a_tenant_has_as_many_runs_as_it_may() {
    let (_home, server) = served("[quotas.each]\nruns = 2");
    let (ann, uma) = (server.key("ann"), server.key("uma"));
    let service = Service::start();
    for api in [&ann, &uma] {
        api.register(&service.package());
    }
    let requests = [asked(), asked()];
    let held = requests.each_ref().map(|asked| ann.send_and_hold(asked));
    let calls = [service.next(), service.next()];
    let full = |refused: crate::home::Answer| {
        refused.clone().fails(429, "rate_limited");
        assert_eq!(refused.body["technical_details"]["quota"], "runs");
    };
    let quota = ann.get("/v1/caller").expect(200)["quota"].clone();
    let taken = json!({"calls": null, "runs": {"limit": 2, "unfinished": 2}});
    assert_eq!(quota, taken);
    let third = asked();
    full(ann.ask(&third));
    let steps = json!([{"id": "step-001", "tool": "vault.list_backups", "parameters": {}}]);
    let sent = json!({"execution_plan": plan(PLAN, steps, abort()), "parameters": {}});
    full(ann.post("/v1/runs", &sent));
    // What is known is not new.
    ann.ask(&requests[0]).fails(503, "overloaded");

    let theirs = uma.send_and_hold(&asked());
    service.next().answer();
    for call in calls {
        call.answer();
    }
    answered(&ann, &requests[0]);
    answered(&ann, &requests[1]);
    let connection = ann.send_and_hold(&third);
    service.next().answer();
    answered(&ann, &third);
    drop((held, theirs, connection));
    assert!(!service.was_called());
}

fn answered(api: &Api, asked: &Value) {
    let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
    let answer = eventually("the answer", || {
        let answer = api.get(&path).expect(200)["answer"].clone();
        Some(answer).filter(|answer| !answer.is_null())
    });
    assert_eq!(ids(&answer["metadata"]["findings"], "resource_id"), ["b-1"]);
}

/// Waits until so many tool calls wait for a place.
fn queued(server: &Server, calls: usize) {
    let line = format!("charter_tool_calls_queued {calls}");
    eventually(&line, || {
        let (_, metrics) = server.api.raw("GET", "/metrics", &[], Vec::new());
        metrics.lines().any(|found| found == line).then_some(())
    });
}

/// One tenant's many calls do not stand before another tenant's one.
#[test]
fn places_for_calls_go_round_the_tenants() {
    let (_home, server) = served("[tools]\nconcurrency = 1");
    let [anns, umas] =
        [("ann", Service::start()), ("uma", Service::start())].map(|(key, service)| {
            server.key(key).register(&service.package());
            service
        });
    let (ann, uma) = (server.key("ann"), server.key("uma"));
    let first = ann.send_and_hold(&asked());
    let call = anns.next();
    let many: Vec<_> = (0..3).map(|_| ann.send_and_hold(&asked())).collect();
    queued(&server, 3);
    let one = uma.send_and_hold(&asked());
    queued(&server, 4);
    call.answer();
    anns.next().answer();
    let theirs = umas.next();
    queued(&server, 2);
    assert!(!anns.was_called());
    theirs.answer();
    anns.next().answer();
    anns.next().answer();
    drop((first, many, one));
}

/// A quota that cannot be meant stops the start.
#[test]
fn a_quota_of_nothing_is_refused() {
    let home = Home::new();
    let ran = home.with("CHARTER_QUOTAS__EACH__CALLS_PER_MINUTE", "0");
    let ran = ran.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("calls_per_minute"), "{ran:?}");
}
