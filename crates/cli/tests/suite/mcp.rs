//! The Model Context Protocol with third-party clients: the official Python and TypeScript SDKs and the official
//! conformance suite, against `charter serve` and `charter mcp`.

mod conformance;
pub(crate) mod knowledge;
mod missions;
pub(crate) mod peers;
mod processes;
mod sessions;
pub(crate) mod tasks;

use charter_contract::bounds::JSON_LEVELS;
use serde_json::{Value, json};

use crate::home::{Api, Home, MCP_HEADERS, eventually, ids};
use crate::packages::{QUESTION, SCRIPT_FILE, SKILL, SKILL_FILE, TOOL_FILE, backups};
use crate::playbooks::{KEYS, PLAYBOOK, purge};
use crate::service::Service;
use crate::shared::Tenants;
use peers::{Peer, python, typescript};

const TOOLS: [&str; 12] = [
    "find",
    "open",
    "run",
    "call",
    "start_mission",
    "claim_assignment",
    "submit_assignment",
    "status",
    "cancel",
    "ask_lens",
    "recall",
    "remember",
];

const TEMPLATES: [&str; 5] = [
    "evidence://{evidence_id}",
    "skill://{+skill}/{+file}",
    "mission://{mission_id}",
    "mission://{mission_id}/artifacts{?after}",
    "mission://{mission_id}/artifacts/{kind}/{artifact_id}",
];

/// The revisions of the Python client, by its names for them and the version that it sends.
const MODES: [(&str, &str); 2] = [("auto", "2026-07-28"), ("legacy", "2025-11-25")];

/// The URL of a server and the caller's key, for a client.
pub(crate) fn over_http(api: &Api) -> Value {
    json!({"url": format!("{}/mcp", api.base), "key": api.key})
}

fn over_stdio(home: &Home) -> Value {
    let (command, environment) = home.startable(&["mcp"]);
    json!({"command": command, "environment": environment})
}

pub(crate) fn with(way: &Value, more: Value) -> Value {
    let mut given = way.clone();
    given
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    given
}

fn tour(mode: &str) -> Value {
    json!({"do": "tour", "mode": mode, "question": QUESTION, "skill": SKILL, "tool": "vault.list_backups"})
}

/// The results that every client gets from the same catalogue.
#[track_caller]
fn check_tour(saw: &Value) {
    assert_eq!(saw["server"], "charter");
    assert_eq!(
        saw["found"]["content"]["entries"][0]["id"], SKILL,
        "{saw:#}"
    );
    let opened = &saw["opened"]["content"];
    assert_eq!(opened["document"]["skill_id"], SKILL, "{opened:#}");
    let run = &saw["run"]["content"];
    assert_eq!(
        (&run["status"], &saw["run"]["is_error"]),
        (&json!("completed"), &json!(false)),
        "{run:#}"
    );
    assert_eq!(
        run["response"]["metadata"]["findings"]
            .as_array()
            .unwrap()
            .len(),
        1,
        "{run:#}"
    );
    assert_eq!(saw["status"], saw["run"], "status tells the same");
    let called = &saw["called"]["content"];
    assert_eq!(called["status"], "completed", "{called:#}");
    assert!(called["output"]["backups"].is_array(), "{called:#}");
    let id = saw["read"]["id"].as_str().unwrap();
    assert_eq!(saw["evidence"], format!("evidence://{id}"));
    assert!(
        saw["resources"]
            .as_array()
            .unwrap()
            .contains(&saw["evidence"]),
        "{saw:#}"
    );
    assert_eq!(saw["templates"], json!(TEMPLATES));
    assert_eq!(saw["prompts"][0]["name"], PLAYBOOK);
    assert_eq!(
        saw["prompts"][0]["arguments"],
        json!([{"name": "vault", "description": "the vault", "required": true}])
    );
    assert!(
        saw["prompt"].as_str().unwrap().contains(PLAYBOOK),
        "{saw:#}"
    );
    let told = saw["told"].as_array().unwrap();
    assert!(told.len() >= 4, "{told:?}");
    assert!(
        told[0].as_str().unwrap().starts_with("routed (narrow)"),
        "{told:?}"
    );
    // Invalid parameters, for missing entries.
    assert_eq!(
        (&saw["unknown_tool"], &saw["unknown_prompt"]),
        (&json!(-32602), &json!(-32602))
    );
    let absent = if saw["version"] == "2026-07-28" {
        -32602
    } else {
        -32002
    };
    assert_eq!(
        (&saw["absent"], &saw["foreign"]),
        (&json!(absent), &json!(absent))
    );
}

/// The hints of tools are true: only tools that change nothing are marked as reading.
#[track_caller]
fn check_hints(tools: &Value) {
    let reads = |name: &str| tools[name]["read_only_hint"] == json!(true);
    let reading: Vec<&str> = TOOLS.into_iter().filter(|name| reads(name)).collect();
    assert_eq!(reading, ["find", "open", "status", "ask_lens", "recall"]);
    for name in ["run", "call", "start_mission", "cancel"] {
        assert_eq!(tools[name]["destructive_hint"], true, "{name}");
    }
    for name in ["remember", "claim_assignment", "submit_assignment"] {
        assert_eq!(tools[name]["destructive_hint"], false, "{name}");
    }
}

#[test]
fn the_python_client_lists_finds_opens_runs_and_reads_over_http() {
    let home = Home::new();
    let server = home.serve();
    let service = Service::start();
    server.api.register(&purge(&service));
    for (mode, version) in MODES {
        let saw = python(&with(&over_http(&server.api), tour(mode))).end();
        assert_eq!(saw["version"], version);
        assert_eq!(saw["tools"].as_object().unwrap().len(), TOOLS.len());
        check_hints(&saw["tools"]);
        check_tour(&saw);
    }
}

#[test]
fn the_python_client_sees_the_same_over_stdio_with_and_without_a_server() {
    let home = Home::new();
    let service = Service::start();
    let folder = purge(&service).write(&home.path("package"));
    let registered = home.run(&["package", "register", &folder]);
    assert_eq!(registered.code, Some(0), "{registered:?}");
    // The engine runs in the client's process.
    let saw = python(&with(&over_stdio(&home), tour("auto"))).end();
    check_tour(&saw);
    processes::check_that_they_share_a_data_directory(&home);
    processes::check_that_the_handshake_waits_for_nothing();
    // A bridge to the server that holds the data directory.
    let server = home.serve();
    for (mode, version) in MODES {
        let saw = python(&with(&over_stdio(&home), tour(mode))).end();
        assert_eq!(saw["version"], version);
        check_tour(&saw);
    }
    drop(server);
}

#[test]
fn the_typescript_client_lists_calls_and_reads_over_http_and_stdio() {
    let home = Home::new();
    let server = home.serve();
    let service = Service::start();
    server.api.register(&purge(&service));
    for way in [over_http(&server.api), over_stdio(&home)] {
        let saw = typescript(&with(&way, tour("legacy"))).end();
        assert_eq!(saw["server"], "charter");
        assert_eq!(saw["tools"], json!(TOOLS));
        assert_eq!(saw["schema_faults"], json!([]));
        assert_eq!(saw["found"]["entries"][0]["id"], SKILL);
        assert_eq!(saw["run"]["status"], "completed", "{saw:#}");
        assert!(saw["told"].as_array().unwrap().len() >= 4, "{saw:#}");
        assert_eq!(
            saw["evidence"],
            format!("evidence://{}", saw["read"]["id"].as_str().unwrap())
        );
        assert_eq!(saw["prompts"], json!([PLAYBOOK]));
    }
    let absent = json!([{"tool": "open", "arguments": {"kind": "skill", "id": "no.such"}}]);
    let given = with(&over_stdio(&home), json!({"do": "steps", "steps": absent}));
    let saw = typescript(&given).end();
    assert_eq!(
        saw["steps"][0]["content"]["error_code"], "not_found",
        "{saw:#}"
    );
}

/// Starts a call whose tool hangs, cancels it, and checks that its run is aborted.
#[track_caller]
fn check_cancel(api: &Api, service: &Service, mut peer: Peer, what: &str) {
    let call = service.next();
    peer.say("begun");
    let saw = peer.end();
    assert_eq!(saw["tools"], TOOLS.len(), "{what}: {saw:#}");
    let newest = |status: &str| {
        eventually(status, || {
            let runs = api.get("/v1/runs").expect(200);
            let newest = runs["entries"][0].clone();
            (newest["status"] == status).then_some(newest)
        })
    };
    // The running call ends on its own, and nothing new starts.
    newest("stopping");
    call.answer();
    let run = newest("aborted");
    let path = format!("/v1/runs/{}", run["run_id"].as_str().unwrap());
    let shown = api.get(&path).expect(200);
    assert!(
        shown.to_string().contains("the client cancelled the call"),
        "{what}: {shown:#}"
    );
}

#[test]
fn a_cancelled_call_ends_the_work_it_started() {
    let home = Home::new();
    let server = home.serve();
    let service = Service::start();
    server.api.register(&service.package());
    let run = json!({"do": "cancel", "tool": "run", "arguments": {"question": QUESTION}});
    let one = json!({"do": "cancel", "tool": "call", "arguments": {"tool_id": "vault.list_backups", "parameters": {"vault": "main"}}});
    for what in [run, one] {
        for way in [over_http(&server.api), over_stdio(&home)] {
            for (mode, _) in MODES {
                let given = with(&with(&way, what.clone()), json!({"mode": mode}));
                check_cancel(
                    &server.api,
                    &service,
                    python(&given),
                    &format!("python {given}"),
                );
            }
            let given = with(&way, what.clone());
            check_cancel(
                &server.api,
                &service,
                typescript(&given),
                &format!("typescript {given}"),
            );
        }
    }
}

/// A playbook from missing parameters to its end; the client asks its user for every input.
#[test]
fn b000_18_a_person_is_asked_through_the_client() {
    let home = Home::new();
    let server = home.serve();
    let service = Service::start();
    server.api.register(&purge(&service));
    for way in [over_http(&server.api), over_stdio(&home)] {
        for (mode, _) in MODES {
            let answers = json!([{"vault": "main"}, {"confirm": true}]);
            let given = json!({
                "do": "call", "mode": mode, "answers": answers, "tool": "run",
                "arguments": {"question": "purge the vault for good"},
            });
            let peer = python(&with(&way, given));
            service.next().answer_with("{}");
            let saw = peer.end();
            let work = &saw["content"];
            assert_eq!(work["status"], "completed", "{mode}: {saw:#}");
            // The answer is the change's result, and no longer describes the earlier waits.
            let response = &work["response"];
            assert_eq!(work["content"], response["content"], "{mode}: {saw:#}");
            assert_eq!(
                (
                    &response["metadata"]["changes"][0]["tool_id"],
                    &response["metadata"]["undone"]
                ),
                (&json!("vault.purge"), &json!([])),
                "{mode}: {saw:#}"
            );
            let asked = saw["asked"].as_array().unwrap();
            // Without four eyes, the confirmation is the approval.
            assert_eq!(asked.len(), 2, "{saw:#}");
            let fields = |at: usize| {
                let properties = asked[at]["schema"]["properties"].as_object().unwrap();
                properties.keys().cloned().collect::<Vec<_>>()
            };
            assert_eq!(
                (fields(0), fields(1)),
                (vec!["vault".to_owned()], vec!["confirm".to_owned()])
            );
        }
    }
}

/// If the user cannot be asked, declines, or the key does not name the scope of decisions, the client learns that
/// nothing has happened, and what is missing.
#[test]
fn b000_18_without_a_persons_word_nothing_is_changed() {
    let server = Tenants::one();
    let service = Service::start();
    server.api.register(&purge(&service));
    let parameters = json!({"vault": "main"});
    let arguments = json!({"playbook_id": PLAYBOOK, "parameters": parameters, "confirm": true});
    for (mode, _) in MODES {
        let given = json!({"do": "call", "mode": mode, "tool": "run", "arguments": arguments});
        let silent = python(&with(&over_http(&server.api), given.clone())).end();
        let refused = with(&given, json!({"answers": [{"confirm": false}]}));
        let refused = python(&with(&over_http(&server.api), refused)).end();
        let eager = with(
            &given,
            json!({"answers": [{"confirm": true}, {"approve": true}]}),
        );
        let eager = python(&with(&over_http(&server.api), eager)).end();
        for saw in [silent, refused, eager] {
            let content = &saw["content"];
            assert_eq!(
                content["status"], "awaiting_confirmation",
                "{mode}: {saw:#}"
            );
            let waits = &content["waits_for"];
            assert_eq!(waits["kind"], "confirmation");
            let hint = format!(
                "a person confirms the plan: charter runs confirm {} --digest {}",
                content["run_ids"][0].as_str().unwrap(),
                waits["digest"].as_str().unwrap()
            );
            assert_eq!(waits["hint"], hint);
        }
        let missing = json!({"do": "call", "mode": mode, "tool": "run", "arguments": {"playbook_id": PLAYBOOK}});
        let saw = python(&with(&over_http(&server.api), missing)).end();
        assert_eq!(
            saw["content"]["waits_for"]["parameters"],
            json!([{"name": "vault", "type": "string", "description": "the vault"}]),
            "{saw:#}"
        );
    }
    assert!(!service.was_called());
}

/// The credential decides: another tenant's data looks absent, and a caller without a key is refused.
#[test]
fn a_caller_sees_the_catalogue_of_its_tenant_only() {
    let server = Tenants::with_keys(&KEYS);
    server.key("ann").register(&backups());
    let keyed = |key: &str| with(&over_http(&server.key(key)), json!({"mode": "auto"}));
    let find = json!({"do": "call", "tool": "find", "arguments": {"kind": "skill"}});
    let seen = python(&with(&keyed("uma"), find.clone())).end();
    assert_eq!(ids(&seen["content"]["entries"], "id"), [SKILL]);
    let seen = python(&with(&keyed("eve"), find)).end();
    assert_eq!(seen["content"]["entries"], json!([]));
    let open = json!({"do": "call", "tool": "open", "arguments": {"kind": "skill", "id": SKILL}});
    let seen = python(&with(&keyed("eve"), open)).end();
    assert_eq!(
        (&seen["is_error"], &seen["content"]["error_code"]),
        (&json!(true), &json!("not_found"))
    );
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec();
    let mut keyless = server.api.clone();
    keyless.key = None;
    keyless
        .call("POST", "/mcp", &MCP_HEADERS, ping)
        .fails(401, "unauthenticated");
}

/// A client is referred to an identity provider only if there is one.
#[test]
fn without_a_provider_a_refusal_names_none() {
    let mut keyless = Tenants::one().api.clone();
    keyless.key = None;
    let challenge = |api: &Api| api.header_of("/mcp", "www-authenticate").unwrap();
    assert_eq!(challenge(&keyless), "Bearer");
    assert_eq!(
        challenge(&keyless.with_key("mallory")),
        "Bearer error=\"invalid_token\""
    );
    keyless
        .get("/.well-known/oauth-protected-resource/mcp")
        .fails(404, "not_found");
}

/// The tool `call` passes texts with `${…}` and large integers on unchanged, and omits arguments that are null.
#[test]
fn a_call_passes_its_arguments_as_they_are() {
    let server = Tenants::with_keys(&KEYS);
    let declared = "description: the vault}\n  - {name: most, type: integer, required: false, description: how many}";
    let package = backups()
        .edit(TOOL_FILE, "description: the vault}", declared)
        .edit(
            SCRIPT_FILE,
            r#""vault": call["parameters"]["vault"]"#,
            r#""given": call["parameters"]"#,
        );
    server.key("ann").register(&package);
    let uma = server.key("uma");
    for (parameters, given) in [
        (
            json!({"vault": "${LOG_DIR:-/tmp}", "most": null}),
            json!({"vault": "${LOG_DIR:-/tmp}"}),
        ),
        (
            json!({"vault": "$${user.vault}", "most": 9_007_199_254_740_993_i64}),
            json!({"vault": "$${user.vault}", "most": 9_007_199_254_740_993_i64}),
        ),
    ] {
        let arguments =
            json!({"tool_id": "vault.list_backups", "parameters": parameters, "dry_run": null});
        let params = json!({"name": "call", "arguments": arguments});
        let answer = uma.mcp(&json!({}), "tools/call", Some("call"), params);
        let output = &answer["result"]["structuredContent"]["output"];
        assert_eq!(output["given"], given, "{answer:#}");
    }
}

/// A failing call of a tool, and a field of its error with a word in it.
type Failing = (&'static str, Value, &'static str, &'static str);

/// At least one call of each tool, over the package of `the_official_clients_see_errors_as_errors`.
#[rustfmt::skip]
fn failing_calls() -> [Failing; 14] {
    let vault = json!({"vault": "main"});
    let code = "error_code";
    [
        ("open", json!({"kind": "skill", "id": "no.such"}), code, "not_found"),
        ("open", json!({"kind": "skill"}), code, "invalid_request"),
        ("find", json!({"kind": "moon"}), code, "invalid_request"),
        ("call", json!({"tool_id": "no.such_tool"}), code, "not_found"),
        ("call", json!({"tool_id": "vault.list_backups", "parameters": vault}), "status", "failed"),
        ("run", json!({}), code, "invalid_request"),
        ("run", json!({"skill_id": SKILL}), "status", "awaiting_parameters"),
        ("run", json!({"skill_id": SKILL, "parameters": vault}), code, "tool_failed"),
        ("start_mission", json!({"goal": ""}), code, "invalid_request"),
        ("status", json!({"id": "run-1"}), code, "invalid_request"),
        ("cancel", json!({"id": "run-1"}), code, "invalid_request"),
        ("ask_lens", json!({"question": "x", "lens_ids": ["no.such"]}), code, "not_found"),
        ("recall", json!({"min_importance": 11}), code, "invalid_request"),
        ("remember", json!({"title": "t", "content": "c", "tags": []}), code, "invalid_request"),
    ]
}

/// A client that validates structured content against the tool's output schema also validates errors, and would show
/// the violation in place of the error.
#[test]
fn the_official_clients_see_errors_as_errors() {
    let server = Tenants::one();
    // A skill without a required value, and a failing tool.
    let failing = backups()
        .edit(SKILL_FILE, ", default: main", "")
        .with(SCRIPT_FILE, "import sys\nsys.exit('no vault')\n");
    server.api.register(&failing);
    let calls = failing_calls();
    let steps = calls
        .iter()
        .map(|(tool, arguments, ..)| json!({"tool": tool, "arguments": arguments}));
    let given = json!({"do": "steps", "steps": steps.collect::<Vec<_>>()});
    let given = with(&over_http(&server.api), given);
    let of_python = MODES.map(|(mode, _)| python(&with(&given, json!({"mode": mode}))));
    for peer in of_python.into_iter().chain([typescript(&given)]) {
        let saw = peer.end();
        for (at, (tool, arguments, field, word)) in calls.iter().enumerate() {
            let step = &saw["steps"][at];
            assert_eq!(
                (&step["is_error"], &step["content"][field]),
                (&json!(true), &json!(word)),
                "{tool} {arguments}: {step:#}"
            );
        }
    }
}

/// Models write null for omitted arguments.
#[test]
fn an_argument_that_is_null_is_left_out() {
    let server = Tenants::one();
    server.api.register(&backups());
    let call = |arguments: Value| {
        let params = json!({"name": "find", "arguments": arguments});
        let called = server
            .api
            .mcp(&json!({}), "tools/call", Some("find"), params);
        let entries = &called["result"]["structuredContent"]["entries"];
        let ids = entries.as_array().unwrap().iter().map(|entry| &entry["id"]);
        // Without scores, which packages of other tests change.
        ids.cloned().collect::<Vec<_>>()
    };
    let given =
        json!({"query": QUESTION, "kind": null, "limit": null, "under": null, "after": null});
    let found = call(given);
    assert_eq!(found[0], SKILL, "{found:?}");
    assert_eq!(found, call(json!({"query": QUESTION})));
}

/// A body that is not a message is the client's fault, and not an unsupported media type.
#[test]
fn what_is_no_message_is_refused_as_one() {
    let server = Tenants::one();
    let session = server.api.open_mcp_session();
    let mut headers = MCP_HEADERS.to_vec();
    headers.push(("mcp-session-id", &session));
    let send = |body: &str| {
        let body = body.as_bytes().to_vec();
        let answer = server.api.call_plainly("POST", "/mcp", &headers, body);
        (answer.status, answer.body["error"]["code"].clone())
    };
    let ping = r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#;
    assert_eq!(send(&format!("[{ping}]")), (400, json!(-32600)));
    assert_eq!(send(&ping[1..]), (400, json!(-32700)));
    assert_eq!(send(r#"{"id": 1, "method": "ping"}"#), (400, json!(-32600)));
    let asked = |method: &str, params: Value| {
        let asked = server.api.mcp(&json!({}), method, None, params);
        (
            asked["error"]["code"].clone(),
            asked["error"]["message"].clone(),
        )
    };
    let (code, said) = asked("tools/made_up", json!({}));
    assert_eq!(code, -32601);
    assert!(said.as_str().unwrap().contains("tools/made_up"), "{said}");
    for method in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        let (code, said) = asked(method, json!({"cursor": "no page's"}));
        assert_eq!(code, -32602, "{method}: {said}");
    }
    // A client that accepts everything accepts the answers.
    let everything = [("accept", "*/*"), headers[1], headers[2]];
    for ping in [ping.to_owned(), format!("\u{feff}{ping}")] {
        let ping = ping.into_bytes();
        let (status, answer) = server.api.raw("POST", "/mcp", &everything, ping);
        assert_eq!(status, 200, "{answer}");
    }
}

/// Arguments of any shape are refused with a public error, and bodies stay within the limit.
#[test]
fn hostile_input_is_refused_with_a_public_error() {
    let home = Home::new().with("CHARTER_LIMITS__BODY_BYTES", "100000");
    let server = home.serve();
    let call = |tool: &str, arguments: Value| {
        let given = json!({"do": "call", "mode": "auto", "tool": tool, "arguments": arguments});
        let saw = python(&with(&over_http(&server.api), given)).end();
        assert_eq!(saw["is_error"], true, "{saw:#}");
        saw["content"]["error_code"].as_str().unwrap().to_owned()
    };
    assert_eq!(call("open", json!({"kind": "skill"})), "invalid_request");
    assert_eq!(
        call("open", json!({"kind": "skill", "id": "a", "more": 1})),
        "invalid_request"
    );
    assert_eq!(
        call("open", json!({"kind": "skill", "id": "../../etc/passwd"})),
        "not_found"
    );
    assert_eq!(call("run", json!({})), "invalid_request");
    assert_eq!(call("run", json!({"question": ""})), "invalid_document");
    assert_eq!(
        call("call", json!({"tool_id": "no.such_tool"})),
        "not_found"
    );
    assert_eq!(call("status", json!({"id": "run-1"})), "invalid_request");
    assert_eq!(
        server
            .api
            .status_of("/mcp", &MCP_HEADERS, vec![b' '; 200_000]),
        413
    );
    let long = br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"status","arguments":{"id":-92233720368547758099}}}"#;
    let answer = server
        .api
        .call_plainly("POST", "/mcp", &MCP_HEADERS, long.to_vec());
    assert_eq!((answer.status, &answer.body["id"]), (200, &json!(9)));
    let told = answer.body["error"]["message"].as_str().unwrap();
    assert!(
        told.contains("-92233720368547758099 at `/params/arguments/id`"),
        "{told}"
    );
}

/// An output at the depth limit, with the envelopes of every protocol, stays within the limits of the clients.
#[test]
fn the_deepest_output_reaches_the_official_clients() {
    let deepest = (1..JSON_LEVELS).fold(json!([]), |inner, _| json!([inner]));
    let server = Tenants::one();
    let printing = format!("print('{deepest}')\n");
    server.api.register(&backups().with(SCRIPT_FILE, &printing));
    let way = over_http(&server.api);
    let arguments = json!({"tool_id": "vault.list_backups", "parameters": {"vault": "main"}});
    let step = json!({"tool": "call", "arguments": arguments});
    let given = json!({"do": "steps", "steps": [step]});
    let work = typescript(&with(&way, given)).end()["steps"][0]["content"].clone();
    assert_eq!(work["output"], deepest, "{work:#}");
    let steps = json!([
        {"tool": "call", "arguments": arguments},
        {"tool": "status", "arguments": {"id": work["id"]}},
        {"read": work["evidence"][0]},
    ]);
    for (mode, _) in MODES {
        let given = json!({"do": "steps", "mode": mode, "steps": steps});
        let saw = python(&with(&way, given)).end();
        for at in [0, 1] {
            assert_eq!(saw["steps"][at]["content"]["output"], deepest, "{saw:#}");
        }
        let read = saw["steps"][2]["text"].as_str().unwrap();
        let record: Value = serde_json::from_str(read).unwrap();
        assert!(
            record.to_string().contains(&deepest.to_string()),
            "{record:#}"
        );
    }
}
