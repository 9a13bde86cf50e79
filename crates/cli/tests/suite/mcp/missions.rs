//! Missions through the Model Context Protocol, by the official Python client.

use serde_json::{Value, json};

use super::peers::python;
use super::tasks::{begun, result, takes_tasks, task, tool, when};
use super::{MODES, over_http, over_stdio, with};
use crate::home::{Api, Home, Server, eventually};
use crate::missions::{GOAL, KIND, held, look_only, path_of, review, standing};
use crate::packages::Package;
use crate::playbooks::KEYS;
use crate::service::Service;
use crate::shared::Tenants;

fn serving(package: impl FnOnce(&Service) -> Package) -> (Tenants, Service) {
    let server = Tenants::one();
    let service = Service::start();
    server.api.register(&package(&service));
    (server, service)
}

/// A separate server, for clients over stdio and for restarts.
fn serving_alone(package: impl FnOnce(&Service) -> Package) -> (Home, Server, Service) {
    let home = Home::new();
    let server = home.serve();
    let service = Service::start();
    server.api.register(&package(&service));
    (home, server, service)
}

fn order(id: &str) -> Value {
    json!({"goal": GOAL, "mission_type": KIND, "mission_id": id, "model": "offline"})
}

fn mission(api: &Api, id: &str) -> Value {
    api.get(&path_of(id, "")).expect(200)
}

fn text(contents: &Value) -> Value {
    serde_json::from_str(contents["text"].as_str().unwrap()).unwrap()
}

/// A client finds the mission type, starts the mission, and reads its results, artifact by artifact; the same command
/// again returns the same mission.
#[test]
fn a_client_starts_a_mission_and_reads_what_it_came_to() {
    let (home, server, service) = serving_alone(look_only);
    for (at, way) in [over_http(&server.api), over_stdio(&home)]
        .iter()
        .enumerate()
    {
        for (mode, _) in MODES {
            let id = format!("{mode}-{at}");
            let start = json!({"tool": "start_mission", "arguments": order(&id)});
            let read = |what: &str| json!({"read": format!("mission://{id}{what}")});
            let steps = json!([
                {"tool": "find", "arguments": {"kind": "mission_type"}},
                {"tool": "open", "arguments": {"kind": "mission_type", "id": KIND}},
                start,
                start,
                {"tool": "status", "arguments": {"id": id}},
                read(""),
                read("/artifacts"),
                read("/artifacts/review_packet/rev"),
                read("/artifacts?after=3"),
            ]);
            let given = json!({"do": "steps", "mode": mode, "steps": steps});
            let saw = python(&with(way, given)).end();
            let saw = saw["steps"].as_array().unwrap();
            let [
                found,
                opened,
                started,
                again,
                status,
                shown,
                listed,
                review,
                rest,
            ] = saw.as_slice()
            else {
                panic!("{saw:#?}");
            };
            assert_eq!(found["content"]["entries"][0]["id"], KIND, "{found:#}");
            assert_eq!(opened["content"]["document"]["mission_type"], KIND);
            let content = &started["content"];
            assert_eq!(
                (
                    &content["status"],
                    &content["mission"]["state"],
                    &content["id"]
                ),
                (&json!("completed"), &json!("completed"), &json!(id)),
                "{started:#}"
            );
            assert_eq!((again, status), (started, started), "{mode}");
            let mission = mission(&server.api, &id);
            assert_eq!(text(shown), mission);
            let output = &content["mission"]["output"];
            assert_eq!(output, &mission["output"]);
            assert_eq!(content["content"], output["summary"]);
            let listed = text(listed);
            let entries = listed["entries"].as_array().unwrap();
            assert_eq!(json!(entries.len()), mission["artifacts"]);
            assert_eq!(text(rest)["entries"].as_array().unwrap(), &entries[3..]);
            let uri = format!("mission://{id}/artifacts/review_packet/rev");
            assert!(
                entries.iter().any(|entry| entry["uri"] == uri),
                "{listed:#}"
            );
            let path = path_of(&id, "/artifacts/review_packet/rev");
            assert_eq!(text(review), server.api.get(&path).expect(200));
        }
    }
    assert!(!service.was_called());
}

/// B002-13: a mission's proposal waits for a person, whom the client asks. If the client cannot ask, the answer
/// explains how a person decides, and nothing is changed.
#[test]
fn b002_13_a_person_is_asked_through_the_client_before_anything_is_written() {
    let (server, service) = serving(review);
    let decider = server.decider();
    for (mode, _) in MODES {
        let call = |id: &str, answers: Option<Value>| {
            let mut given = json!({"do": "call", "mode": mode, "tool": "start_mission", "arguments": order(id)});
            if let Some(answers) = answers {
                given["answers"] = answers;
            }
            python(&with(&over_http(&decider), given))
        };
        let silent = call(&format!("{mode}-silent"), None).end();
        let content = &silent["content"];
        assert_eq!(
            (&content["status"], &content["waits_for"]["kind"]),
            (&json!("awaiting_approval"), &json!("approval")),
            "{silent:#}"
        );
        assert_eq!(content["mission"]["proposals"][0]["state"], "proposed");
        assert!(!service.was_called());
        let told = silent["told"].as_array().unwrap();
        let ends = |state: &str| json!(format!("the mission is {state}"));
        assert_eq!(
            (told.first(), told.last()),
            (Some(&ends("created")), Some(&ends("awaiting_approval"))),
            "{silent:#}"
        );
        let id = format!("{mode}-asked");
        let peer = call(&id, Some(json!([{"approve": true}])));
        service.next().answer_with("{}");
        let saw = peer.end();
        let content = &saw["content"];
        assert_eq!(content["status"], "completed", "{saw:#}");
        assert_eq!(
            content["mission"]["proposals"][0]["state"], "executed",
            "{saw:#}"
        );
        assert!(
            saw["asked"][0]["message"]
                .as_str()
                .unwrap()
                .contains(r#"vault.expire with {"backup":"b-1"}"#),
            "{saw:#}"
        );
    }
    assert!(!service.was_called());
}

/// A long mission is a task under the mission's id: it ends with the report of `status`, and is found after a restart;
/// a cancelled one ends as cancelled.
#[test]
fn a_long_mission_is_a_task() {
    let (home, server, service) = serving_alone(held);
    let id = begun(&server.api, "start_mission", &order("m-1"));
    assert_eq!(id, "m-1");
    service.next().answer();
    let done = when(&server.api, &id, "completed");
    let status = tool(&server.api, &takes_tasks(), "status", &json!({"id": id}));
    let content = &done["result"]["structuredContent"];
    assert_eq!(content, &status["structuredContent"]);
    assert_eq!(content["mission"]["state"], "completed", "{done:#}");
    drop(server);
    let server = home.serve();
    assert_eq!(result(&task(&server.api, &takes_tasks(), &id)), done);

    let id = begun(&server.api, "start_mission", &order("m-2"));
    let held = service.next();
    let cancel = || {
        let params = json!({"taskId": id});
        result(
            &server
                .api
                .mcp(&takes_tasks(), "tasks/cancel", Some(&id), params),
        )
    };
    cancel();
    held.answer();
    when(&server.api, &id, "cancelled");
    // A mission that has ended stays as it is.
    cancel();
    assert_eq!(mission(&server.api, "m-2")["state"], "cancelled");
}

/// A client that cancels its call cancels the mission that the call started.
#[test]
fn a_cancelled_call_ends_the_mission_it_started() {
    let (server, service) = serving(held);
    for (mode, _) in MODES {
        let given = json!({"do": "cancel", "mode": mode, "tool": "start_mission", "arguments": order(mode)});
        let mut peer = python(&with(&over_http(&server.api), given));
        let call = service.next();
        peer.say("begun");
        peer.end();
        // The running call ends on its own, and nothing new starts.
        eventually("stopping", || {
            (mission(&server.api, mode)["status"] == "stopping").then_some(())
        });
        call.answer();
        standing(&server.api, mode, "cancelled");
    }
}

/// Another tenant's mission looks absent in every operation; malformed URIs are refused.
#[test]
fn a_mission_is_its_tenants() {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    server.key("ann").register(&look_only(&service));
    let keyed = |key: &str, steps: Value| {
        let given = json!({"do": "steps", "mode": "auto", "steps": steps});
        python(&with(&over_http(&server.key(key)), given)).end()["steps"].clone()
    };
    let start = json!({"tool": "start_mission", "arguments": order("m-1")});
    keyed("ann", json!([start]));
    assert_eq!(mission(&server.key("ann"), "m-1")["state"], "completed");
    let look = json!([
        {"tool": "status", "arguments": {"id": "m-1"}},
        {"tool": "cancel", "arguments": {"id": "m-1"}},
        {"read": "mission://m-1"},
        {"read": "mission://m-1/artifacts"},
        {"read": "mission://m-1/artifacts/review_packet/rev"},
        {"tool": "open", "arguments": {"kind": "mission_type", "id": KIND}},
    ]);
    let saw = keyed("eve", look);
    for at in [0, 1, 5] {
        assert_eq!(saw[at]["content"]["error_code"], "not_found", "{saw:#}");
    }
    for at in [2, 3, 4] {
        assert_eq!(saw[at]["code"], -32602, "{saw:#}");
    }
    let wrong = json!([
        {"read": "mission://"},
        {"read": "mission://m-1/"},
        {"read": "mission://m-1/artifacts?before=3"},
        {"read": "mission://m-1/artifacts/no_such_kind/rev"},
        {"read": "mission://m-1/artifacts/review_packet/rev/more"},
        {"read": "mission://../m-1"},
    ]);
    let saw = keyed("ann", wrong);
    for found in saw.as_array().unwrap() {
        assert_eq!(found["code"], -32602, "{saw:#}");
    }
    let wrong = json!([
        {"tool": "start_mission", "arguments": {"goal": ""}},
        {"tool": "start_mission", "arguments": {"goal": GOAL, "token_budget": 0, "model": "offline"}},
        {"tool": "start_mission", "arguments": {"goal": GOAL, "tenant_id": "umbra"}},
        {"tool": "find", "arguments": {"kind": "mission_type", "query": "backups"}},
    ]);
    let saw = keyed("ann", wrong);
    for found in saw.as_array().unwrap() {
        assert_eq!(found["content"]["error_code"], "invalid_request", "{saw:#}");
    }
}
