//! Many large bodies and outputs at once: the server's memory is limited, probes are answered meanwhile, and the memory
//! is released afterwards.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::home::{Api, Home, Key, MCP_HEADERS, Server, eventually, ids, request, request_of};
use crate::packages::{Package, backups};
use crate::plans::{abort, plan};

/// The largest memory of a server, excluding the pages of its program and of the model, in KiB: including them, a
/// release stays below 512 MiB.
const MOST: u64 = 448 << 10;

/// The memory that a server may keep beyond its memory when it was idle, in KiB.
const MOST_KEPT: u64 = 128 << 10;

/// The longest wait for a probe's answer.
const PROBED_WITHIN: Duration = Duration::from_secs(5);

/// Time between two probes.
const BETWEEN_PROBES: Duration = Duration::from_millis(50);

/// Six callers of two tenants: their shared limits are higher than those of one.
const KEYS: [Key; 6] = [
    ("ann", "acme", "ann", "admin"),
    ("bob", "acme", "bob", "admin"),
    ("cid", "acme", "cid", "admin"),
    ("uma", "umbra", "uma", "admin"),
    ("una", "umbra", "una", "admin"),
    ("ugo", "umbra", "ugo", "admin"),
];

/// A list of equal elements.
#[derive(Debug, Clone, Copy)]
struct List {
    count: usize,
    part: &'static str,
    /// Whether it may be a document.
    fits: bool,
}

/// The placeholder for a text of a MiB.
const TEXT: &str = "text";

/// Each would take a multiple of its length in memory, or has the largest allowed length.
const LISTS: [List; 5] = [
    list(2_000_000, "[]", false),
    list((15 << 20) / 7, r#"{"":0}"#, false),
    list(90_000, r#"{"":0}"#, true),
    list(1 << 19, "0", true),
    list(15, TEXT, true),
];

const fn list(count: usize, part: &'static str, fits: bool) -> List {
    List { count, part, fits }
}

impl List {
    fn text(self) -> String {
        let part = match self.part {
            TEXT => json!("x".repeat(1 << 20)).to_string(),
            part => part.to_owned(),
        };
        format!("[{}]", vec![part; self.count].join(","))
    }
}

pub(crate) const TOOL: &str = "vault.print_list";

const TOOL_DOCUMENT: &str = "tool_id: vault.print_list
name: print_list
provider: aws
tool_class: readonly
domain: reliability
description: Prints a list of equal parts.
parameters: [{name: list, type: string, required: true, description: how many of which part}]
execution_target: server
language: python
timeout_ms: 60000
implementation: {type: script, path: scripts/print_list.py}
";

const SCRIPT: &str = r#"import json, sys
count, part = json.load(sys.stdin)["parameters"]["list"].split(" ", 1)
part = part.replace("text", json.dumps("x" * (1 << 20)))
sys.stdout.write("[" + ",".join([part] * int(count)) + "]")
"#;

/// The backups package with a tool that prints a list of equal elements.
pub(crate) fn package() -> Package {
    backups()
        .with("tools/print_list.yaml", TOOL_DOCUMENT)
        .with("scripts/print_list.py", SCRIPT)
}

fn served() -> (Home, Server) {
    let home = Home::with_keys(&KEYS);
    let server = home.serve();
    for admin in ["ann", "uma"] {
        server.key(admin).register(&package());
    }
    (home, server)
}

/// The system's figure for a server's memory, in KiB.
#[track_caller]
fn memory(server: &Server, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.unwrap().parse().unwrap()
}

/// Acts for every caller at once, while the server must answer probes.
fn all_at_once<T: Send>(server: &Server, act: impl Fn(&Api) -> T + Sync) -> Vec<T> {
    let act = &act;
    thread::scope(|scope| {
        let (working, ended) = channel::<()>();
        let each = KEYS.map(|(key, ..)| {
            let (api, working) = (server.key(key), working.clone());
            scope.spawn(move || {
                let done = act(&api);
                drop(working);
                done
            })
        });
        drop(working);
        while ended.recv_timeout(BETWEEN_PROBES) == Err(RecvTimeoutError::Timeout) {
            let asked = Instant::now();
            server.api.get("/readyz").expect(200);
            let waited = asked.elapsed();
            assert!(waited <= PROBED_WITHIN, "{waited:?}");
        }
        each.into_iter().map(|did| did.join().unwrap()).collect()
    })
}

/// The server never exceeded its memory limit, and released the memory.
#[track_caller]
fn check_memory(server: &Server, idle: u64) {
    // The system can reclaim pages of the program and of the model, and a test build has many.
    let most = memory(server, "VmHWM") - memory(server, "RssFile");
    assert!(most <= MOST, "{} MiB", most >> 10);
    eventually("memory that is given back", || {
        (memory(server, "RssAnon") <= idle + MOST_KEPT).then_some(())
    });
}

pub(crate) fn plan_of(tool: &str, parameters: Value) -> Value {
    let steps = json!([{"id": "step-001", "tool": tool, "parameters": parameters}]);
    plan(&format!("plan-{}", Uuid::now_v7()), steps, abort())
}

/// The outcome of a run, without showing the run, which would read its output each time.
pub(crate) fn end_of(api: &Api, run: &Value) -> Value {
    eventually("the end of a run", || {
        let listed = api.get("/v1/runs").expect(200);
        let mut entries = listed["entries"].as_array().unwrap().iter();
        let entry = entries.find(|entry| entry["run_id"] == *run)?;
        let ended = ["completed", "failed"].map(Value::from);
        ended
            .contains(&entry["status"])
            .then(|| entry["status"].clone())
    })
}

/// The outcome of a run of the tool, and the run.
fn ran(api: &Api, list: &str) -> (Value, Value) {
    let sent = json!({
        "execution_plan": plan_of(TOOL, json!({"list": list})), "parameters": {},
    });
    let run = api.post("/v1/runs", &sent).expect(201)["run_id"].clone();
    (end_of(api, &run), run)
}

#[test]
fn large_outputs_at_once_take_no_more_memory_than_there_is_for_them() {
    let (_home, server) = served();
    let idle = memory(&server, "RssAnon");
    let mut largest = Vec::new();
    for list in LISTS {
        let argument = format!("{} {}", list.count, list.part);
        let ran = all_at_once(&server, |api| ran(api, &argument));
        let expected = if list.fits { "completed" } else { "failed" };
        for (ended, _) in &ran {
            assert_eq!(*ended, expected, "{list:?}");
        }
        let shown = all_at_once(&server, |api| {
            let status = |(_, run): &(Value, Value)| {
                let path = format!("/v1/runs/{}", run.as_str().unwrap());
                api.raw("GET", &path, &[], Vec::new()).0
            };
            ran.iter().map(status).collect::<Vec<u16>>()
        });
        for statuses in shown {
            // Three belong to the other tenant.
            let others = statuses.iter().filter(|status| **status == 404).count();
            let answered = statuses
                .iter()
                .all(|status| [200, 404, 503].contains(status));
            assert!(answered && others == 3, "{list:?}: {statuses:?}");
        }
        largest = ran;
    }
    read_by_every_way(&server, &largest);
    check_memory(&server, idle);
}

const LIST_SKILL: &str = "reliability.print_list";

/// Its finding holds the whole output.
const LIST_SKILL_DOCUMENT: &str = r#"skill_id: reliability.print_list
name: print_list
domain: reliability
display_name: Print a list
description: Prints a list of equal parts.
purpose: print a list of equal parts
output_type: finding
parameters:
  - {name: list, type: string, required: true, description: how many of which part}
execution_plan:
  steps:
    - {step_id: step_1, type: read, tool_id: vault.print_list, parameters: {list: "${user.list}"}}
analysis:
  findings:
    - rule_id: printed
      from: step_1
      filter: |
        {severity: "high", resource_type: "aws.backup", resource_id: "b-1", list: .}
"#;

/// A request whose answer holds an output of 15 MiB.
fn asked(api: &Api) -> String {
    let asked = request_of(LIST_SKILL, json!({"list": "15 text"}));
    let body = asked.to_string().into_bytes();
    assert_eq!(api.raw("POST", "/v1/requests", &[], body).0, 200);
    asked["id"].as_str().unwrap().to_owned()
}

/// An evidence record that holds its output: a MB, of the MiB that a record may hold.
fn recorded(api: &Api) -> String {
    let part = json!("x".repeat(1_000));
    let (ended, run) = ran(api, &format!("{} {part}", MB / 1_000));
    assert_eq!(ended, "completed");
    let of_run = format!("/v1/evidence?run_id={}", run.as_str().unwrap());
    let found = api.get(&of_run).expect(200);
    ids(&found["entries"], "id").swap_remove(0)
}

const MB: usize = 1_000_000;

/// Reads outputs of 15 MiB, and the largest evidence records, in every way besides `GET /v1/runs/{id}`, for every
/// caller at once.
#[track_caller]
fn read_by_every_way(server: &Server, runs: &[(Value, Value)]) {
    let package = package().version("1.0.0", "1.1.0");
    let package = package.with("skills/print_list.yaml", LIST_SKILL_DOCUMENT);
    let requests = ["ann", "uma"].map(|admin| {
        let api = server.key(admin);
        api.register(&package);
        asked(&api)
    });
    let records = all_at_once(server, recorded);
    let each_tenant = KEYS.len() / requests.len();

    let of_status = all_at_once(server, |api| {
        let arguments = json!({"id": runs[place(api)].1});
        let params = json!({"name": "status", "arguments": arguments});
        over_mcp(api, "tools/call", "status", params)
    });
    check_read("status", &of_status, 15 << 20);
    let resources = all_at_once(server, |api| {
        let uri = format!("evidence://{}", records[place(api)]);
        over_mcp(api, "resources/read", &uri, json!({"uri": uri}))
    });
    check_read("evidence://", &resources, MB);
    let exports = all_at_once(server, |api| {
        size(api.raw("GET", "/v1/evidence/export", &[], Vec::new()))
    });
    check_read("the export", &exports, each_tenant * MB);
    let tasks = all_at_once(server, |api| {
        let path = format!("/a2a/v1/tasks/{}", requests[place(api) / each_tenant]);
        size(api.raw("GET", &path, &[("a2a-version", "1.0")], Vec::new()))
    });
    check_read("GetTask", &tasks, 15 << 20);
}

/// The index of a caller in [`KEYS`].
fn place(api: &Api) -> usize {
    let mut keys = KEYS.iter();
    let place = keys.position(|(key, ..)| api.key.as_deref() == Some(*key));
    place.unwrap()
}

/// The status of an answer, and its length in bytes.
fn size((status, text): (u16, String)) -> (u16, usize) {
    (status, text.len())
}

fn over_mcp(api: &Api, method: &str, name: &str, mut params: Value) -> (u16, usize) {
    params["_meta"] = meta();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut headers = MCP_HEADERS.to_vec();
    headers.extend([
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
        ("mcp-name", name),
    ]);
    size(api.raw("POST", "/mcp", &headers, body.to_string().into_bytes()))
}

/// Each caller got the whole answer, or was refused for lack of memory.
#[track_caller]
fn check_read(way: &str, read: &[(u16, usize)], least: usize) {
    let is_whole = |(status, bytes): &(u16, usize)| *status == 200 && *bytes > least;
    let is_answered = |one: &(u16, usize)| one.0 == 503 || is_whole(one);
    assert!(read.iter().all(is_answered), "{way}: {read:?}");
    assert!(read.iter().any(is_whole), "{way}: {read:?}");
}

#[test]
fn large_bodies_at_once_take_no_more_memory_than_there_is_for_them() {
    let (_home, server) = served();
    let idle = memory(&server, "RssAnon");
    for list in LISTS {
        let text = list.text();
        let sent = all_at_once(&server, |api| {
            let plan = plan_of("vault.list_backups", json!({"vault": "main"}));
            let body = format!(r#"{{"execution_plan": {plan}, "parameters": {{"list": {text}}}}}"#);
            api.raw("POST", "/v1/runs", &[], body.into_bytes()).0
        });
        let expected: &[u16] = if list.fits { &[201, 503] } else { &[400, 413] };
        for status in &sent {
            assert!(expected.contains(status), "{list:?}: {sent:?}");
        }
        assert!(!list.fits || sent.contains(&201), "{list:?}: {sent:?}");
    }
    for list in [LISTS[0], LISTS[2]] {
        send_by_every_way(&server, list);
    }
    // Each tenant can still send the largest allowed package.
    let large = package()
        .version("1.0.0", "1.1.0")
        .with("docs/long.md", &"x".repeat(8 << 20))
        .with("sources/long.txt", &"y".repeat((7 << 20) - (16 << 10)));
    let bundle = large.bundle().to_string();
    let sent = all_at_once(&server, |api| {
        let body = bundle.clone().into_bytes();
        api.raw("POST", "/v1/packages", &[], body).0
    });
    let taken = sent.iter().filter(|status| **status == 201).count();
    assert!(taken >= 2, "{sent:?}");
    check_memory(&server, idle);
}

/// An operation, its headers, and its body with a list in it.
struct ListBody {
    path: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    body: fn(&str) -> String,
}

/// The list as a parameter of a request.
fn as_request(list: &str) -> String {
    let mut asked = request("do it");
    asked["metadata"] = json!({"parameters": {"list": MARK}});
    marked(&asked, list)
}

/// The list as an argument of a tool of MCP.
fn as_call(list: &str) -> String {
    let arguments = json!({"question": "do it", "parameters": {"list": MARK}});
    let params = json!({"name": "run", "arguments": arguments, "_meta": meta()});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    marked(&call, list)
}

/// The `_meta` of each MCP request: protocol version, client and capabilities.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// The list in the data part of a message of A2A.
fn as_message(list: &str) -> String {
    let parts = json!([{"text": "do it"}, {"data": {"list": MARK}}]);
    let message = json!({"messageId": Uuid::now_v7(), "role": "ROLE_USER", "parts": parts});
    marked(&json!({"message": message}), list)
}

/// The placeholder for the list, which would take much memory in this process too if it were a value.
const MARK: &str = "the list";

fn marked(body: &Value, list: &str) -> String {
    body.to_string().replace(&json!(MARK).to_string(), list)
}

fn way(
    path: &'static str,
    headers: &[(&'static str, &'static str)],
    body: fn(&str) -> String,
) -> ListBody {
    let headers = headers.to_vec();
    ListBody {
        path,
        headers,
        body,
    }
}

fn ways() -> [ListBody; 7] {
    let of_mcp = [
        MCP_HEADERS[0],
        MCP_HEADERS[1],
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "run"),
    ];
    [
        way("/v1/requests", &[], as_request),
        way("/v1/missions/import", &[], |list| {
            format!("{{\"header\": {list}}}\n")
        }),
        way("/v1/agent-skills/import", &[], |list| {
            format!("{{\"files\": {list}}}")
        }),
        way("/v1/memories", &[], |list| {
            format!("{{\"memory\": {{\"content\": \"x\", \"metadata\": {{\"list\": {list}}}}}}}")
        }),
        way("/v1/executor/leases/lease-1/outcome", &[], |list| {
            format!("{{\"result\": {{\"status\": \"succeeded\", \"output\": {list}}}}}")
        }),
        way("/mcp", &of_mcp, as_call),
        way(
            "/a2a/v1/message:send",
            &[("a2a-version", "1.0")],
            as_message,
        ),
    ]
}

/// Sends the list in every way, for every caller at once.
#[track_caller]
fn send_by_every_way(server: &Server, list: List) {
    let text = list.text();
    for way in ways() {
        let sent = all_at_once(server, |api| {
            let body = (way.body)(&text).into_bytes();
            api.raw("POST", way.path, &way.headers, body).0
        });
        let is_answered = |status: &u16| match status {
            503 => true,
            status if list.fits => *status < 500,
            status => (400..500).contains(status),
        };
        assert!(
            sent.iter().all(is_answered),
            "{} {list:?}: {sent:?}",
            way.path
        );
    }
}
