//! The Model Context Protocol as a stranger: with the official client, for everything that the server lists to the
//! owner; tasks without it, because that client does not support them.

use serde_json::{Value, json};

use super::document::schema_calls;
use super::estate::{Estate, KnownIds, MARK};
use super::{listing, nobodys};
use crate::home::{Api, MCP_HEADERS, ids};
use crate::isolation::document::Document;
use crate::mcp::peers::python;
use crate::mcp::{over_http, with};
use crate::shared::Tenants;

/// The methods that a client of the protocol may send; without a key they are all refused before any is examined.
pub(crate) const METHODS: [&str; 14] = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "skills/list",
    "skills/get",
    "tasks/get",
    "tasks/cancel",
];

/// The results of a caller's steps, in order.
fn steps(estate: &Estate, key: &str, mode: &str, steps: &[Value]) -> Vec<Value> {
    let given = json!({"do": "steps", "mode": mode, "steps": steps});
    let saw = python(&with(&over_http(&estate.server.key(key)), given)).end();
    saw["steps"].as_array().unwrap().clone()
}

/// Calls of every tool with ids from a table.
fn tool_calls(tools: &Value, known: &KnownIds) -> Vec<Value> {
    let tools = tools.as_array().unwrap().iter();
    let calls = tools.flat_map(|tool| {
        let arguments = schema_calls(&tool["inputSchema"], known);
        let name = &tool["name"];
        let calls = arguments
            .into_iter()
            .map(move |arguments| json!({"tool": name, "arguments": arguments}));
        calls.collect::<Vec<_>>()
    });
    calls.collect()
}

/// URIs of every kind of resource with ids from a table.
fn addresses(templates: &Value, known: &KnownIds) -> Vec<Value> {
    let template = |text: &str| match text {
        "evidence://{evidence_id}" => format!("evidence://{}", known["evidence_id"][0]),
        "skill://{+skill}/{+file}" => {
            format!(
                "skill://{}/SKILL.md",
                known["agent-skills"][0].replace('.', "/")
            )
        }
        "mission://{mission_id}" => format!("mission://{}", known["missions"][0]),
        "mission://{mission_id}/artifacts{?after}" => {
            format!("mission://{}/artifacts", known["missions"][0])
        }
        "mission://{mission_id}/artifacts/{kind}/{artifact_id}" => {
            format!(
                "mission://{}/artifacts/{}/{}",
                known["missions"][0], known["artifacts"][0], known["artifact"][0]
            )
        }
        other => panic!("teach this test an address of `{other}`"),
    };
    ids(templates, "uriTemplate")
        .iter()
        .map(|text| json!({"read": template(text)}))
        .collect()
}

/// Every request with an id from a table.
fn asking(listed: &[Value], known: &KnownIds) -> Vec<Value> {
    let mut asked = tool_calls(&listed[0]["tools"], known);
    asked.extend(addresses(&listed[1]["resourceTemplates"], known));
    for playbook in &known["playbook_id"] {
        let params = json!({"name": playbook, "arguments": {"vault": "main"}});
        asked.push(json!({"method": "prompts/get", "params": params}));
    }
    let uri = format!(
        "skill://{}/SKILL.md",
        known["agent-skills"][0].replace('.', "/")
    );
    asked.push(json!({"method": "skills/get", "params": {"uri": uri}}));
    asked
}

fn looking_around() -> [Value; 6] {
    [
        "tools/list",
        "resources/templates/list",
        "prompts/list",
        "skills/list",
        "resources/list",
        "resources",
    ]
    .map(|method| match method {
        "resources" => json!({"resources": true}),
        method => json!({"method": method, "params": {}}),
    })
}

/// The visible outcome: whether it succeeded, else the code.
fn told(saw: &Value) -> Value {
    let content = &saw["content"];
    json!([
        saw["code"],
        saw["is_error"],
        content["error_code"],
        content["status"]
    ])
}

#[test]
fn no_mcp_tool_resource_or_prompt_reads_another_tenants_data() {
    let estate = Estate::new();
    let document = Document::read();
    let before = listing(&document, &estate);
    let nobodys = nobodys(&estate.known);
    for mode in ["auto", "legacy"] {
        let listed = steps(&estate, "ann", mode, &looking_around());
        assert!(json!(listed).to_string().contains(MARK));
        let real = asking(&listed, &estate.known);
        let none = asking(&listed, &nobodys);
        assert_eq!(real.len(), none.len());
        // The owner's are valid.
        let mut read = addresses(&listed[1]["resourceTemplates"], &estate.known);
        read.extend(
            listed[5]
                .as_array()
                .unwrap()
                .iter()
                .map(|resource| json!({"read": resource["uri"]})),
        );
        for (asked, saw) in read.iter().zip(steps(&estate, "ann", mode, &read)) {
            assert!(saw["code"].is_null(), "{asked}: {saw}");
        }
        let mut faults = Vec::new();
        let expected = steps(&estate, "eve", mode, &none);
        let found = steps(&estate, "eve", mode, &real);
        for ((asked, found), expected) in real.iter().zip(&found).zip(&expected) {
            let (text, said) = (found.to_string(), asked.to_string());
            let secrets = estate.secrets();
            let told_of: Vec<_> = secrets
                .iter()
                .filter(|one| text.contains(**one) && !said.contains(**one))
                .collect();
            if !told_of.is_empty() || told(found) != told(expected) {
                faults.push(format!(
                    "{said}: {text} tells {told_of:?}; nobody's: {expected}"
                ));
            }
        }
        // The entries of the owner's lists, and the lists themselves.
        for (asked, saw) in read.iter().zip(steps(&estate, "eve", mode, &read)) {
            if !saw["code"].is_i64() {
                faults.push(format!("{asked}: {saw}"));
            }
        }
        let around = json!(steps(&estate, "eve", mode, &looking_around())).to_string();
        faults.extend(
            estate
                .secrets()
                .iter()
                .filter(|one| around.contains(**one))
                .map(|one| format!("lists {one}")),
        );
        assert!(faults.is_empty(), "{mode}: {}", faults.join("\n"));
    }
    tasks_are_nobodys(&estate, &estate.stranger(), &nobodys);
    tasks_are_nobodys(&estate, &estate.server.key("ulf"), &nobodys);
    no_user_sees_what_another_started(&estate, &nobodys);
    an_operator_sees_what_another_started(&estate);
    let after = listing(&document, &estate);
    for (path, was) in &before {
        assert_eq!(after.get(path), Some(was), "{path} changed");
    }
}

/// Tasks: a request, a run or a mission is a task of its starter.
fn tasks_are_nobodys(estate: &Estate, stranger: &Api, nobodys: &KnownIds) {
    let can = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let ann = estate.owner();
    let get = |id: &String| ann.mcp(&can, "tasks/get", Some(id), json!({"taskId": id}));
    let seen = estate.known["tasks"]
        .iter()
        .filter(|id| get(id).get("result").is_some());
    assert!(seen.count() > 0, "the owner has no task");
    for place in ["tasks", "runs"] {
        for (id, absent) in estate.known[place].iter().zip(&nobodys[place]) {
            for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
                let [found, expected] = [id, absent].map(|id| {
                    let params = json!({"taskId": id, "inputResponses": {}});
                    let answer = stranger.mcp(&can, method, Some(id), params);
                    (
                        answer["error"]["code"].clone(),
                        answer.to_string().replace(id.as_str(), "…"),
                    )
                });
                assert!(found.0.is_i64(), "{method} {id}: {found:?}");
                assert_eq!(found, expected, "{method} {id}");
            }
        }
    }
}

/// URIs of evidence, and of a mission with its artifacts.
fn started_addresses(known: &KnownIds) -> Vec<Value> {
    let templates = json!([
        {"uriTemplate": "evidence://{evidence_id}"},
        {"uriTemplate": "mission://{mission_id}"},
        {"uriTemplate": "mission://{mission_id}/artifacts{?after}"},
        {"uriTemplate": "mission://{mission_id}/artifacts/{kind}/{artifact_id}"},
    ]);
    addresses(&templates, known)
}

/// An operator of the owner's tenant sees what the owner sees.
fn an_operator_sees_what_another_started(estate: &Estate) {
    let mut asked = started_addresses(&estate.known);
    let resources = asked.len();
    let ids = estate.known["tasks"].iter().chain(&estate.known["runs"]);
    asked.extend(ids.map(|id| json!({"tool": "status", "arguments": {"id": id}})));
    let owned = steps(estate, "ann", "auto", &asked);
    let seen = steps(estate, "opa", "auto", &asked);
    for (asked, (owned, seen)) in asked.iter().zip(owned.iter().zip(&seen)) {
        assert_eq!(told(seen), told(owned), "{asked}: {seen}");
    }
    for (asked, seen) in asked.iter().zip(&seen).take(resources) {
        assert!(seen["code"].is_null(), "{asked}: {seen}");
    }
    let is_completed = |seen: &Value| seen["content"]["status"] == "completed";
    assert!(seen.iter().any(is_completed), "no run is shown");
}

/// A user of the owner's tenant sees neither what the owner started nor its evidence and artifacts.
fn no_user_sees_what_another_started(estate: &Estate, nobodys: &KnownIds) {
    let asked = |known: &KnownIds| {
        let mut asked = started_addresses(known);
        for id in known["tasks"].iter().chain(&known["runs"]) {
            let by = |tool: &str| json!({"tool": tool, "arguments": {"id": id}});
            asked.extend([by("status"), by("cancel")]);
        }
        asked
    };
    let found = steps(estate, "ulf", "auto", &asked(&estate.known));
    let expected = steps(estate, "ulf", "auto", &asked(nobodys));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(told(found), told(expected), "{found}");
    }
    let listed = steps(estate, "ulf", "auto", &[json!({"resources": true})]);
    let text = json!(listed).to_string();
    for id in estate.started() {
        assert!(!text.contains(id), "lists {id}");
    }
}

#[test]
fn nothing_of_the_protocol_is_answered_without_a_key() {
    let mut keyless = Tenants::one().api.clone();
    keyless.key = None;
    for api in [keyless.clone(), keyless.with_key("mallory")] {
        for method in METHODS {
            let body =
                json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).to_string();
            api.call("POST", "/mcp", &MCP_HEADERS, body.into_bytes())
                .fails(401, "unauthenticated");
        }
        for method in ["GET", "DELETE"] {
            api.call(method, "/mcp", &MCP_HEADERS, Vec::new())
                .fails(401, "unauthenticated");
        }
    }
}
