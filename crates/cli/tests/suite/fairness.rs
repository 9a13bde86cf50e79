//! One credential leaves capacity for others, even with slow bodies, open streams, sessions or waiting executors.

use std::net::TcpStream;

use serde_json::{Value, json};

use crate::a2a::client::message;
use crate::home::{Api, Home, Key, MCP_HEADERS, eventually, status_on};
use crate::memory_use::{self, end_of, plan_of};
use crate::packages::QUESTION;
use crate::service::Service;
use crate::shared::Tenants;

/// More than one credential's limit of anything but sessions: a quarter of `limits.concurrency`.
const MANY: usize = 160;

const KEYS: [Key; 5] = [
    ("ann", "acme", "ann", "operator"),
    ("bob", "acme", "bob", "user"),
    ("eve", "umbra", "eve", "user"),
    ("adm", "acme", "adm", "admin"),
    ("una", "umbra", "una", "admin"),
];

const STREAM: &str = "accept: text/event-stream\r\n";

/// Checks that other keys of the tenant, other tenants and probes are answered.
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
    // The server waits for none of them to be complete: admitted ones are refused after a pause.
    let statuses: Vec<u16> = held.iter().map(status_on).collect();
    assert!(
        statuses.iter().all(|status| [504, 503].contains(status)),
        "{statuses:?}"
    );
    assert!(statuses.contains(&504), "{statuses:?}");
    eventually("a place", || {
        (ann.get("/v1/caller").status == 200).then_some(())
    });
}

/// Without a valid credential, the server does not wait for a body.
#[test]
fn slow_anonymous_bodies_do_not_block_others() {
    let server = Tenants::with_keys(&KEYS);
    let stranger = server.key("ann").with_key("nobody's");
    let slow = || stranger.begin("POST /v1/runs", "content-length: 1000\r\n", "{");
    let held: Vec<TcpStream> = (0..MANY).map(|_| slow()).collect();
    for connection in &held {
        assert!([401, 503].contains(&status_on(connection)));
    }
    check_others(&stranger, &[server.key("ann"), server.key("eve")]);
}

/// Enough sessions for more streams than one key's limit: the SDK closes the oldest of more than 32 in one session.
const SESSIONS: usize = MANY / 25;

/// A plan whose only call stays unanswered.
fn open_run(api: &Api) -> String {
    let plan = plan_of("vault.list_backups", json!({"vault": "main"}));
    let sent = json!({"execution_plan": plan, "parameters": {}});
    let run = api.post("/v1/runs", &sent).expect(201);
    run["run_id"].as_str().unwrap().to_owned()
}

/// A task of A2A whose only call stays unanswered.
fn open_task(api: &Api) -> String {
    let mut sent = message(QUESTION);
    sent["configuration"] = json!({"returnImmediately": true});
    let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
    let body = sent.to_string().into_bytes();
    let (status, text) = api.raw("POST", "/a2a/v1/message:send", &headers, body);
    assert_eq!(status, 200, "{text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    answer["task"]["id"].as_str().unwrap().to_owned()
}

/// Streams of all operations have their own slots: a key at its limit of streams still gets other answers.
#[test]
fn streams_of_one_key_keep_no_other_key_out() {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    server.key("adm").register(&service.package());
    let ann = server.key("ann");
    let (run, task) = (open_run(&ann), open_task(&ann));
    let sessions = (0..SESSIONS).map(|_| ann.open_mcp_session());
    let sessions: Vec<String> = sessions
        .map(|id| format!("{STREAM}mcp-session-id: {id}\r\n"))
        .collect();
    let plain = vec![STREAM.to_owned()];
    let of_a2a = vec![format!("{STREAM}a2a-version: 1.0\r\n")];
    for (line, headers) in [
        (format!("GET /v1/runs/{run}/events"), plain.clone()),
        (format!("GET /a2a/v1/tasks/{task}:subscribe"), of_a2a),
        ("GET /mcp".to_owned(), sessions),
        ("GET /v1/events".to_owned(), plain),
    ] {
        let mut headers = headers.iter().cycle();
        let mut open = || ann.begin(&line, headers.next().unwrap(), "");
        let held: Vec<TcpStream> = (0..MANY).map(|_| open()).collect();
        let refused = held
            .iter()
            .filter(|stream| status_on(stream) == 503)
            .count();
        assert!((1..MANY).contains(&refused), "{line}: {refused}");
        ann.get("/v1/caller").expect(200);
        check_others(&ann, &[server.key("bob"), server.key("eve")]);
        drop(held);
        eventually("a place for a stream", || {
            (status_on(&open()) == 200).then_some(())
        });
    }
}

/// A run with a text of this many MiB as its output.
fn run_with_output(api: &Api, mib: usize) -> String {
    let argument = format!("{mib} text");
    let plan = plan_of(memory_use::TOOL, json!({"list": argument}));
    let sent = json!({"execution_plan": plan, "parameters": {}});
    let run = api.post("/v1/runs", &sent).expect(201)["run_id"].clone();
    assert_eq!(end_of(api, &run), "completed");
    run.as_str().unwrap().to_owned()
}

/// Bytes of a response up to the end of its status.
const BEGINNING: usize = "HTTP/1.1 200".len();

/// The status of a response that has begun to arrive on a connection.
fn status_begun(connection: &TcpStream) -> Option<u16> {
    connection.set_nonblocking(true).unwrap();
    let mut bytes = [0; BEGINNING];
    let count = connection.peek(&mut bytes).ok()?;
    let status = bytes[..count].get(BEGINNING - 3..BEGINNING)?;
    std::str::from_utf8(status).unwrap().parse().ok()
}

/// Further requests for an answer of 14 MiB. Answers of 32 MiB may wait (`ANSWERS_BYTES`), which are two; the server
/// refuses the others.
const MORE: usize = 7;
const REFUSED: usize = MORE - 2;

/// Large answers that a client does not receive have separate memory, of which one key leaves enough for others.
#[test]
fn answers_that_one_key_does_not_take_keep_no_other_key_out() {
    let server = Tenants::with_keys(&KEYS);
    let (ann, una) = (server.key("ann"), server.key("una"));
    for admin in [server.key("adm"), una.clone()] {
        admin.register(&memory_use::package());
    }
    let large = run_with_output(&ann, 14);
    let small = run_with_output(&una, 2);
    let ask = || ann.begin(&format!("GET /v1/runs/{large}"), "", "");
    let first = ask();
    // The head of a response arrives after its memory is reserved.
    assert_eq!(status_on(&first), 200);
    let more: Vec<TcpStream> = (0..MORE).map(|_| ask()).collect();
    let answered = una.get(&format!("/v1/runs/{small}")).expect(200);
    assert_eq!(answered["run_id"], small);
    check_others(&ann, &[server.key("bob"), server.key("eve")]);
    // No second large response begins while the client does not receive the first one.
    eventually("refusals", || {
        let begun: Vec<u16> = more.iter().filter_map(status_begun).collect();
        assert!(begun.iter().all(|status| *status == 503), "{begun:?}");
        (begun.len() >= REFUSED).then_some(())
    });
    drop((first, more));
    eventually("memory for an answer", || {
        (status_on(&ask()) == 200).then_some(())
    });
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
    // A quarter of `MCP_SESSIONS`, if no other test has opened any.
    let opened = (0..=250).take_while(|_| open("ann") == 200).count();
    assert!((100..=250).contains(&opened), "{opened}");
    assert_eq!(open("ann"), 503);
    assert_eq!((open("bob"), open("eve")), (200, 200));
}

/// An executor that waits for a call holds a stream's slot, so its key can still send requests.
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
