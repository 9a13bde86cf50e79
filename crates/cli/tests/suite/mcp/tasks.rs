//! Tasks (the protocol's extension of 2026), as JSON-RPC over HTTP: the official Python SDK of this revision does not
//! support them.

use serde_json::{Value, json};

use crate::home::{Api, Home, eventually};
use crate::intent::{DIFFERENT, different_things};
use crate::packages::QUESTION;
use crate::playbooks::{KEYS, PLAYBOOK, purge};
use crate::service::Service;
use crate::shared::Tenants;

/// The capabilities of a client that accepts tasks.
pub(super) fn takes_tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// The capabilities of a client that can also ask its user.
fn asks_too() -> Value {
    json!({"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

#[track_caller]
pub(super) fn result(answer: &Value) -> Value {
    assert!(answer.get("error").is_none(), "{answer:#}");
    answer["result"].clone()
}

#[track_caller]
pub(super) fn tool(api: &Api, can: &Value, name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    result(&api.mcp(can, "tools/call", Some(name), params))
}

pub(super) fn task(api: &Api, can: &Value, id: &str) -> Value {
    api.mcp(can, "tasks/get", Some(id), json!({"taskId": id}))
}

/// The task as soon as it has a status.
pub(crate) fn when(api: &Api, id: &str, status: &str) -> Value {
    eventually(status, || {
        let shown = result(&task(api, &asks_too(), id));
        (shown["status"] == status).then_some(shown)
    })
}

#[track_caller]
pub(super) fn begun(api: &Api, name: &str, arguments: &Value) -> String {
    let task = tool(api, &takes_tasks(), name, arguments);
    assert_eq!(
        (&task["resultType"], &task["status"]),
        (&json!("task"), &json!("working")),
        "{task:#}"
    );
    task["taskId"].as_str().unwrap().to_owned()
}

fn work() -> [(&'static str, Value); 2] {
    let one = json!({"tool_id": "vault.list_backups", "parameters": {"vault": "main"}});
    [("run", json!({"question": QUESTION})), ("call", one)]
}

/// A long call becomes a task, whose result equals the call's answer, also after a restart.
#[test]
fn a_long_call_is_a_task_that_ends_with_its_result() {
    let home = Home::new();
    let server = home.serve();
    let service = Service::start();
    server.api.register(&service.package());
    let mut done = Vec::new();
    for (name, arguments) in work() {
        let id = begun(&server.api, name, &arguments);
        let shown = result(&task(&server.api, &takes_tasks(), &id));
        assert_eq!(
            (&shown["taskId"], &shown["status"]),
            (&json!(id), &json!("working"))
        );
        service.next().answer();
        let shown = when(&server.api, &id, "completed");
        let status = tool(&server.api, &takes_tasks(), "status", &json!({"id": id}));
        assert_eq!(
            shown["result"]["structuredContent"],
            status["structuredContent"]
        );
        assert_eq!(
            status["structuredContent"]["status"], "completed",
            "{status:#}"
        );
        assert_eq!(shown["result"]["isError"], false);
        assert!(
            shown["lastUpdatedAt"].as_str() >= shown["createdAt"].as_str(),
            "{shown:#}"
        );
        done.push((id, shown));
    }
    drop(server);
    let server = home.serve();
    for (id, shown) in done {
        assert_eq!(result(&task(&server.api, &takes_tasks(), &id)), shown);
    }
}

/// A cancelled task ends as cancelled, after the running call has ended; ended ones stay as they are.
#[test]
fn a_cancelled_task_says_so() {
    let server = Tenants::one();
    let service = Service::start();
    server.api.register(&service.package());
    for (name, arguments) in work() {
        let id = begun(&server.api, name, &arguments);
        let held = service.next();
        let cancel = || {
            server.api.mcp(
                &takes_tasks(),
                "tasks/cancel",
                Some(&id),
                json!({"taskId": id}),
            )
        };
        result(&cancel());
        assert_eq!(
            result(&task(&server.api, &takes_tasks(), &id))["status"],
            "working"
        );
        held.answer();
        let shown = when(&server.api, &id, "cancelled");
        assert!(shown.get("result").is_none(), "{shown:#}");
        result(&cancel());
        assert_eq!(
            result(&task(&server.api, &takes_tasks(), &id)),
            shown,
            "{name}"
        );
    }
}

/// B000-18: a task asks for each input that it waits for, and applies a person's answers.
#[test]
fn b000_18_a_task_asks_and_is_answered() {
    let server = Tenants::one();
    let service = Service::start();
    server.api.register(&purge(&service));
    let api = &server.decider();
    let waits = tool(
        api,
        &takes_tasks(),
        "run",
        &json!({"question": "purge the vault for good"}),
    );
    let id = waits["structuredContent"]["id"].as_str().unwrap();
    // A client that cannot ask its user sees a working task, without questions.
    let shown = result(&task(api, &takes_tasks(), id));
    assert_eq!(
        (&shown["status"], shown.get("inputRequests")),
        (&json!("working"), None)
    );
    let update = |answers: Value| {
        let params = json!({"taskId": id, "inputResponses": answers});
        api.mcp(&asks_too(), "tasks/update", Some(id), params)
    };
    let mut keys: Vec<String> = Vec::new();
    for content in [json!({"vault": "main"}), json!({"confirm": true})] {
        let shown = eventually("another question", || {
            let shown = result(&task(api, &asks_too(), id));
            let asked = shown["inputRequests"].as_object()?.keys().next()?.clone();
            (!keys.contains(&asked)).then_some(shown)
        });
        assert_eq!(shown["status"], "input_required", "{shown:#}");
        // The recorded answer describes the first missing input: it is shown only as long as that is missing.
        let status = tool(api, &takes_tasks(), "status", &json!({"id": id}));
        let answer = status["structuredContent"].get("response");
        assert_eq!(answer.is_some(), keys.is_empty(), "{status:#}");
        let (key, asked) = shown["inputRequests"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        assert_eq!(asked["method"], "elicitation/create", "{asked:#}");
        // An answer to another question, and an unreadable one, change nothing.
        result(&update(
            json!({"no-such-question": {"action": "accept", "content": content}}),
        ));
        assert_eq!(update(json!({key: {"action": 7}}))["error"]["code"], -32602);
        assert!(!service.was_called());
        result(&update(
            json!({key: {"action": "accept", "content": content}}),
        ));
        keys.push(key.clone());
    }
    service.next().answer_with("{}");
    let shown = when(api, id, "completed");
    let done = &shown["result"]["structuredContent"];
    assert_eq!(done["status"], "completed", "{shown:#}");
    let changes = &done["response"]["metadata"]["changes"];
    assert_eq!(changes[0]["tool_id"], "vault.purge", "{shown:#}");
    // An answer to an ended task is ignored.
    result(&update(
        json!({&keys[1]: {"action": "accept", "content": {"confirm": false}}}),
    ));
    assert_eq!(when(api, id, "completed"), shown);
}

/// An ambiguous question returns its possible meanings to a client that cannot ask its user; one that can asks, and
/// continues with the choice.
#[test]
fn b000_20_a_question_that_may_mean_several_things_is_put_to_the_user() {
    let server = Tenants::one();
    server.api.register(&different_things());
    let given = json!({"question": "count the tape drives"});
    let told = tool(&server.api, &json!({}), "run", &given);
    let waits = &told["structuredContent"]["waits_for"];
    assert_eq!(waits["kind"], "choice", "{told:#}");
    let hint = waits["hint"].as_str().unwrap();
    assert!(hint.starts_with("call `run` again with "), "{hint}");
    for id in DIFFERENT {
        assert!(hint.contains(&format!("skill_id `{id}`")), "{hint}");
    }
    let can = json!({"elicitation": {"form": {}}});
    let asked = tool(&server.api, &can, "run", &given);
    let form = &asked["inputRequests"]["choice"]["params"]["requestedSchema"];
    let choices = form["properties"]["choice"]["enum"].as_array().unwrap();
    let mut choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
    choices.sort_unstable();
    assert_eq!(
        choices,
        DIFFERENT.map(|id| format!("skill {id}")),
        "{asked:#}"
    );
    let params = json!({
        "name": "run", "arguments": given, "requestState": asked["requestState"],
        "inputResponses": {"choice": {"action": "accept", "content": {"choice": "skill security.beta"}}},
    });
    let done = result(&server.api.mcp(&can, "tools/call", Some("run"), params));
    let content = &done["structuredContent"];
    assert_eq!(content["status"], "completed", "{done:#}");
    assert_eq!(
        content["response"]["metadata"]["verdict"]["reason"],
        "the request names `security.beta`"
    );
}

/// Ruling 33: a client can answer without its user. Its answer is a decision only with a credential that names the
/// scope `approvals:write`; `*` does not name it.
#[test]
fn an_answer_through_a_client_counts_with_its_scope_alone() {
    let server = Tenants::one();
    let service = Service::start();
    server.api.register(&purge(&service));
    let (all, decider) = (&server.api, &server.decider());
    let parameters = json!({"vault": "main"});
    let given = json!({"playbook_id": PLAYBOOK, "parameters": parameters, "confirm": true});
    let waits = tool(all, &asks_too(), "run", &given);
    let content = &waits["structuredContent"];
    // The client is not asked: the answer explains how a person decides.
    assert_eq!(
        (&content["status"], &content["waits_for"]["kind"]),
        (&json!("awaiting_confirmation"), &json!("confirmation")),
        "{waits:#}"
    );
    let id = content["id"].as_str().unwrap();
    let key = eventually("a question", || {
        let shown = result(&task(decider, &asks_too(), id));
        let asked = shown["inputRequests"].as_object()?.keys().next()?.clone();
        asked.starts_with("confirm").then_some(asked)
    });
    let shown = result(&task(all, &asks_too(), id));
    assert_eq!(
        (&shown["status"], shown.get("inputRequests")),
        (&json!("working"), None)
    );
    let update = |api: &Api| {
        let answer = json!({&key: {"action": "accept", "content": {"confirm": true}}});
        let params = json!({"taskId": id, "inputResponses": answer});
        api.mcp(&asks_too(), "tasks/update", Some(id), params)
    };
    let refused = update(all);
    assert!(
        refused["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("`approvals:write`")),
        "{refused:#}"
    );
    assert!(!service.was_called());
    // Without four eyes, the confirmation is the approval.
    result(&update(decider));
    service.next().answer_with("{}");
    when(decider, id, "completed");
}

/// Another caller's task looks absent, and a client that does not accept tasks gets none.
#[test]
fn a_task_is_its_callers_and_of_clients_that_take_tasks() {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    server.key("ann").register(&purge(&service));
    let uma = server.key("uma");
    let arguments = json!({"playbook_id": PLAYBOOK, "parameters": {"vault": "main"}});
    let waits = tool(&uma, &takes_tasks(), "run", &arguments);
    let id = waits["structuredContent"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        result(&task(&uma, &takes_tasks(), &id))["status"],
        "working"
    );
    let eve = server.key("eve");
    let absent = "req-00000000-0000-7000-8000-000000000000";
    for (who, id) in [
        (&eve, id.as_str()),
        (&eve, absent),
        (&uma, "../../x"),
        (&uma, ""),
    ] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let params = json!({"taskId": id, "inputResponses": {}});
            let refused = who.mcp(&takes_tasks(), method, Some(id), params);
            assert_eq!(
                refused["error"]["code"], -32602,
                "{method} {id}: {refused:#}"
            );
        }
    }
    assert_eq!(
        result(&task(&uma, &takes_tasks(), &id))["status"],
        "working"
    );
    let refused = task(&uma, &json!({}), &id);
    assert!(refused["error"]["code"].is_i64(), "{refused:#}");
    assert!(!service.was_called());
}
