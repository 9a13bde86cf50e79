//! One credential leaves room for others, whether it sends slow bodies or holds streams, sessions or waiting executors.

use std::net::TcpStream;

use serde_json::json;

use crate::home::{Api, Home, Key, MCP_HEADERS, eventually, status_on};
use crate::shared::Tenants;

/// More than one credential may have at once of anything but sessions: a quarter of `limits.concurrency`.
const MANY: usize = 160;

const KEYS: [Key; 3] = [
    ("ann", "acme", "ann", "operator"),
    ("bob", "acme", "bob", "user"),
    ("eve", "umbra", "eve", "user"),
];

const STREAM: &str = "accept: text/event-stream\r\n";

/// Other keys of the tenant, other tenants and probes are answered.
#[track_caller]
fn check_others(api: &Api, others: &[Api]) {
    for other in others {
        other.get("/v1/caller").expect(200);
        assert_eq!(status_on(&other.begin("GET /v1/events", STREAM, "")), 200);
    }
    for probe in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(status_on(&api.begin(&format!("GET {probe}"), "", "")), 200);
    }
}

#[test]
fn slow_bodies_of_one_key_keep_no_other_key_out() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let slow = || ann.begin("POST /v1/runs", "content-length: 1000\r\n", "{");
    let held: Vec<TcpStream> = (0..MANY).map(|_| slow()).collect();
    eventually("a refusal", || {
        let own = ann.get("/v1/caller");
        (own.status == 503).then(|| own.fails(503, "overloaded"))
    });
    check_others(&ann, &[server.key("bob"), server.key("eve")]);
    drop(held);
    eventually("a place", || {
        (ann.get("/v1/caller").status == 200).then_some(())
    });
}

/// Without a credential that counts nothing of a body is waited for.
#[test]
fn slow_bodies_without_a_key_keep_nobody_out() {
    let server = Tenants::with_keys(&KEYS);
    let stranger = server.key("ann").with_key("nobody's");
    let slow = || stranger.begin("POST /v1/runs", "content-length: 1000\r\n", "{");
    let held: Vec<TcpStream> = (0..MANY).map(|_| slow()).collect();
    for connection in &held {
        assert!([401, 503].contains(&status_on(connection)));
    }
    check_others(&stranger, &[server.key("ann"), server.key("eve")]);
}

/// Streams take places of their own: who has no more of them is answered otherwise.
#[test]
fn streams_of_one_key_keep_no_other_key_out() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let open = || ann.begin("GET /v1/events", STREAM, "");
    let held: Vec<TcpStream> = (0..MANY).map(|_| open()).collect();
    let refused = held
        .iter()
        .filter(|stream| status_on(stream) == 503)
        .count();
    assert!((1..MANY).contains(&refused), "{refused}");
    ann.get("/v1/caller").expect(200);
    check_others(&ann, &[server.key("bob"), server.key("eve")]);
}

#[test]
fn sessions_of_one_key_keep_no_other_key_out() {
    let server = Tenants::with_keys(&KEYS);
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"},
    }});
    let open = |key: &str| {
        let body = begin.to_string().into_bytes();
        server.key(key).raw("POST", "/mcp", &MCP_HEADERS, body).0
    };
    // A quarter of `MCP_SESSIONS`, if no other test has any.
    let opened = (0..=250).take_while(|_| open("ann") == 200).count();
    assert!((100..=250).contains(&opened), "{opened}");
    assert_eq!(open("ann"), 503);
    assert_eq!((open("bob"), open("eve")), (200, 200));
}

/// An executor that waits for a call has the place of a stream, so that its key sends requests meanwhile.
#[test]
fn executors_that_wait_keep_no_request_out() {
    let home = Home::with_keys(&KEYS).with("CHARTER_TOOLS__CLIENT_TOOLS", "executor");
    let server = home.serve();
    let ann = server.key("ann");
    let ask = json!({"executor": "idle", "wait_ms": 30_000}).to_string();
    let length = format!("content-length: {}\r\n", ask.len());
    let wait = || ann.begin("POST /v1/executor/leases", &length, &ask);
    let held: Vec<TcpStream> = (0..MANY).map(|_| wait()).collect();
    eventually("a refusal of a stream", || {
        (status_on(&ann.begin("GET /v1/events", STREAM, "")) == 503).then_some(())
    });
    ann.get("/v1/caller").expect(200);
    check_others(&ann, &[server.key("bob"), server.key("eve")]);
    drop(held);
}
