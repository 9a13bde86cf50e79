//! Missions as A2A tasks, by the client of the official SDK.

use serde_json::{Value, json};
use uuid::Uuid;

use super::client::{Client, message, reply};
use super::{BINDINGS, asks, data, in_doubles, state, task, told};
use crate::home::eventually;
use crate::missions::{GOAL, KIND, held, look_only, order, path_of, review, standing};
use crate::packages::Package;
use crate::playbooks::{KEYS, decide};
use crate::service::Service;
use crate::shared::Tenants;

const RESULTS: [&str; 3] = ["worker_result", "aggregation_packet", "review_packet"];

/// Tenants; the first one has a package whose tools call the service.
fn keyed(package: impl FnOnce(&Service) -> Package) -> (Tenants, Service) {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    server.key("ann").register(&package(&service));
    (server, service)
}

/// A message that starts a mission.
fn ordering(more: Value) -> Value {
    let mut mission = json!({"mission_type": KIND, "model": "offline"});
    mission
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let mut sent = message(GOAL);
    let part = json!({"data": {"mission": mission}});
    sent["message"]["parts"].as_array_mut().unwrap().push(part);
    sent
}

fn path(task: &Value, what: &str) -> String {
    path_of(task["id"].as_str().unwrap(), what)
}

/// The kinds of the artifacts of a task, in order.
fn kinds(artifacts: &Value) -> Vec<&str> {
    let artifacts = artifacts.as_array().unwrap().iter();
    artifacts
        .map(|artifact| artifact["name"].as_str().unwrap())
        .collect()
}

/// The artifacts of a mission, in the order in which a stream reported them.
fn brought(events: &Value) -> Vec<Value> {
    let first = events[0]["task"]["artifacts"].as_array();
    let mut brought = first.cloned().unwrap_or_default();
    let updates = events.as_array().unwrap().iter();
    brought.extend(updates.filter_map(|event| event.pointer("/artifactUpdate/artifact").cloned()));
    brought
}

/// The card names the mission type. A message starts a mission of it, which is followed to its end with each result as
/// it arrives.
#[test]
fn the_official_client_follows_a_mission_to_its_end() {
    let (server, _service) = keyed(look_only);
    let ann = server.key("ann");
    for binding in BINDINGS {
        let mut client = Client::start(&server.key("ann"), binding);
        let card = client.ok("extended_card", &json!({}));
        let mut skills = card["skills"].as_array().unwrap().iter();
        let skill = skills.find(|skill| skill["id"] == KIND).unwrap();
        assert_eq!(
            (&skill["name"], &skill["tags"]),
            (
                &json!("Backup review"),
                &json!(["mission_type", "reliability"])
            )
        );
        let sent = ordering(json!({}));
        let events = client.ok("stream", &sent);
        let (states, sorts) = told(&events);
        assert_eq!(states.last(), Some(&"TASK_STATE_COMPLETED"), "{events:#}");
        assert_eq!(
            (sorts.first(), sorts.last()),
            (Some(&"task"), Some(&"statusUpdate"))
        );
        let done = client.ok("get", &json!({"id": events[0]["task"]["id"]}));
        assert_eq!(
            done["history"][0]["messageId"],
            sent["message"]["messageId"]
        );
        for kind in RESULTS {
            assert!(kinds(&done["artifacts"]).contains(&kind), "{done:#}");
        }
        // Each was reported once, and equals the mission's artifact.
        let brought = brought(&events);
        assert_eq!(json!(brought), done["artifacts"]);
        for artifact in &brought {
            let place = format!("/artifacts/{}", artifact["artifactId"].as_str().unwrap());
            let stored = ann.get(&path(&done, &place)).expect(200)["artifact"].clone();
            assert_eq!(*data(&artifact["parts"]), in_doubles(&stored));
        }
        let mission = ann.get(&path(&done, "")).expect(200);
        let mut reviews = brought.iter();
        let review = reviews.find(|artifact| artifact["name"] == "review_packet");
        let summary = &mission["output"]["summary"];
        assert_eq!(review.unwrap()["parts"][0]["text"], *summary);
        assert_eq!(done["metadata"]["run_ids"], json!([mission["run_id"]]));
    }
}

/// B002-15 over A2A: the same message returns the same mission; a different one with its id is refused; an ended
/// mission accepts no further message; and only its user and operators see it.
#[test]
fn b002_15_a_message_begins_one_mission_which_is_its_senders() {
    let (server, _service) = keyed(look_only);
    for binding in BINDINGS {
        let mut client = Client::start(&server.key("ann"), binding);
        let context = format!("talk {binding}");
        let mut sent = ordering(json!({"token_budget": 100_000}));
        sent["message"]["contextId"] = json!(context);
        let done = task(&client.ok("send", &sent));
        let id = json!({"id": done["id"]});
        assert_eq!(
            (state(&done), &done["contextId"]),
            ("TASK_STATE_COMPLETED", &json!(context))
        );
        assert_eq!(task(&client.ok("send", &sent)), done);
        let mut other = sent.clone();
        other["message"]["parts"][1]["data"]["mission"]["token_budget"] = json!(1);
        assert_eq!(client.fails("send", &other), "InvalidParamsError");
        let mut other = message(GOAL);
        other["message"]["messageId"] = sent["message"]["messageId"].clone();
        assert_eq!(client.fails("send", &other), "InvalidParamsError");
        let more = reply(&done, "and more");
        assert_eq!(client.fails("send", &more), "UnsupportedOperationError");
        assert_eq!(client.fails("cancel", &id), "TaskNotCancelableError");
        let asked = json!({"contextId": context, "status": "TASK_STATE_COMPLETED"});
        let listed = client.ok("list", &asked);
        let tasks = listed["tasks"].as_array().unwrap();
        assert_eq!((tasks.len(), &tasks[0]["id"]), (1, &done["id"]));
        let mut bob = Client::start(&server.key("bob"), binding);
        assert_eq!(bob.ok("get", &id), done);
        assert_eq!(bob.fails("cancel", &id), "TaskNotCancelableError");
        assert_eq!(bob.ok("list", &asked)["tasks"][0]["id"], done["id"]);
        for key in ["uma", "eve"] {
            let mut other = Client::start(&server.key(key), binding);
            assert_eq!(other.fails("get", &id), "TaskNotFoundError");
            assert_eq!(other.fails("cancel", &id), "TaskNotFoundError");
            let listed = other.ok("list", &json!({}));
            assert_eq!(listed.get("tasks"), None, "{listed:#}");
        }
    }
}

/// B002-13: a mission's proposal waits for another person, and the task describes it.
#[test]
fn b002_13_a_mission_waits_for_its_approval_over_a2a() {
    let (server, service) = keyed(review);
    for binding in BINDINGS {
        let mut client = Client::start(&server.key("ann"), binding);
        let waiting = task(&client.ok("send", &ordering(json!({}))));
        assert_eq!(state(&waiting), "TASK_STATE_AUTH_REQUIRED", "{waiting:#}");
        let wants = &asks(&waiting)["approvals"][0];
        assert_eq!(
            (&wants["action_type"], &wants["target_entity_id"]),
            (&json!("backup_expiry"), &json!("b-1"))
        );
        assert!(kinds(&waiting["artifacts"]).contains(&"writeback_proposal"));
        assert!(!service.was_called());
        client.order("subscribe", &json!({"id": waiting["id"]}));
        assert_eq!(client.told()["task"]["id"], waiting["id"]);
        let approval = wants["approval_id"].as_str().unwrap();
        let approval = server
            .key("ann")
            .get(&format!("/v1/approvals/{approval}"))
            .expect(200);
        decide(&server.key("bob"), &approval, "approve").expect(200);
        service.next().answer_with("{}");
        let events = client.answered();
        let (states, sorts) = told(&events);
        assert_eq!(states.last(), Some(&"TASK_STATE_COMPLETED"), "{events:#}");
        // Artifacts from before the stream are not reported again.
        assert!(!sorts.contains(&"artifactUpdate"), "{events:#}");
    }
}

#[test]
fn the_official_client_cancels_a_mission() {
    let (server, service) = keyed(held);
    for binding in BINDINGS {
        let mut client = Client::start(&server.key("ann"), binding);
        let mut sent = ordering(json!({}));
        sent["configuration"] = json!({"returnImmediately": true});
        let begun = task(&client.ok("send", &sent));
        let call = service.next();
        client.order("cancel", &json!({"id": begun["id"]}));
        let ann = server.key("ann");
        let stops = || ann.get(&path(&begun, "")).expect(200)["status"] == "stopping";
        eventually("stopping", || stops().then_some(()));
        call.answer();
        let canceled = client.answered();
        assert_eq!(state(&canceled), "TASK_STATE_CANCELED", "{canceled:#}");
        standing(&ann, begun["id"].as_str().unwrap(), "cancelled");
    }
}

/// A mission that another protocol started is also a task of its user.
#[test]
fn a_mission_that_was_begun_otherwise_is_a_task_too() {
    let (server, _service) = keyed(look_only);
    let ann = server.key("ann");
    ann.post("/v1/missions", &order("m-1")).expect(201);
    standing(&ann, "m-1", "completed");
    let mut client = Client::start(&server.key("ann"), "JSONRPC");
    let found = client.ok("get", &json!({"id": "m-1"}));
    assert_eq!(
        (
            state(&found),
            &found["contextId"],
            &found["history"][0]["parts"][0]["text"]
        ),
        ("TASK_STATE_COMPLETED", &json!("m-1"), &json!(GOAL))
    );
    let listed = client.ok("list", &json!({"contextId": "m-1"}));
    assert_eq!(listed["tasks"][0]["id"], "m-1");
}

/// An invalid command is refused with its faults, and nothing is started.
#[test]
fn an_order_that_cannot_be_is_refused() {
    let (server, _service) = keyed(look_only);
    let mut client = Client::start(&server.key("ann"), "JSONRPC");
    let part = |data: Value| {
        let mut sent = message(GOAL);
        sent["message"]["messageId"] = json!(Uuid::now_v7());
        sent["message"]["parts"]
            .as_array_mut()
            .unwrap()
            .push(json!({"data": data}));
        sent
    };
    for wrong in [
        json!({"mission": KIND}),
        json!({"mission": {"mission_type": "no_such_kind", "model": "offline"}}),
        json!({"mission": {"mission_type": KIND, "model": "offline", "mission_id": "m-1"}}),
        json!({"mission": {"mission_type": KIND, "model": "offline", "goal": "another"}}),
        json!({"mission": {"mission_type": KIND, "model": "offline"}, "skill_id": "a.b"}),
        // No model is configured, so none could answer.
        json!({"mission": {"mission_type": KIND}}),
    ] {
        assert_eq!(
            client.fails("send", &part(wrong.clone())),
            "InvalidParamsError",
            "{wrong}"
        );
    }
    let foreign =
        json!({"mission": {"mission_type": KIND, "model": "offline", "tenant_id": "umbra"}});
    assert_eq!(client.fails("send", &part(foreign)), "A2AClientError");
    let listed = server.key("ann").get("/v1/missions").expect(200);
    assert_eq!(listed["entries"], json!([]));
}
