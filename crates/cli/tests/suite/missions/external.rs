//! Missions that are open to other agents: a role that an outside agent carries out over REST, MCP and A2A, an envelope
//! as the order, and requested outputs.

use serde_json::{Value, json};

use super::{GOAL, KIND, KIND_FILE, look_only, order, path_of, shared, standing};
use crate::home::{Answer, Api, eventually};
use crate::packages::Package;
use crate::service::Service;

/// The task that the offline planner makes.
const TASK: &str = "look_1";

/// A mission type whose workers are outside agents.
fn external(service: &Service) -> Package {
    let kind = "mission_type: backup_review";
    let roles = format!("{kind}\nroles: {{worker: {{by: external}}}}");
    look_only(service).edit(KIND_FILE, kind, &roles)
}

fn assignment_path(id: &str, what: &str) -> String {
    format!("/v1/mission-assignments/{id}{what}")
}

/// Starts a mission and waits for its assignment.
fn offered(api: &Api, mission: &str) -> String {
    api.post("/v1/missions", &order(mission)).expect(201);
    eventually("the assignment", || {
        let path = format!("/v1/mission-assignments?mission={mission}");
        let found = api.get(&path).expect(200);
        let id = &found["entries"][0]["assignment_id"];
        id.as_str().map(str::to_owned)
    })
}

fn submit(api: &Api, assignment: &Value, body: Value) -> Answer {
    let mut body = body;
    body["lease_id"] = assignment["lease_id"].clone();
    let id = assignment["assignment_id"].as_str().unwrap();
    api.post(&assignment_path(id, "/submissions"), &body)
}

fn result(reference: &str) -> Value {
    json!({
        "schema_name": "worker_result", "result_id": "outside.1",
        "output_text": "The backup b-1 is 40 days old.",
        "citations": [{"kind": "internal", "ref": reference}], "confidence": 0.9,
    })
}

/// The assignment in its second turn, after the recommended calls.
fn called(api: &Api, claimed: &Value) -> Value {
    let calls = &claimed["brief"]["context"]["recommended_calls"];
    assert!(!calls.as_array().unwrap().is_empty(), "{claimed:#}");
    submit(api, claimed, json!({"calls": calls})).expect(200);
    let id = claimed["assignment_id"].as_str().unwrap();
    eventually("the next turn", || {
        let shown = api.get(&assignment_path(id, "")).expect(200);
        (shown["turn"] == 2).then_some(shown)
    })
}

/// Claim, calls, a refused result, the accepted result; a second claim and a late result are conflicts; the mission
/// replays.
#[test]
fn an_outside_agent_carries_out_a_worker() {
    let (server, _service) = shared(external);
    let [ann, bob, uma] = ["ann", "bob", "uma"].map(|key| server.key(key));
    let id = offered(&ann, "m-1");
    // A user is neither an operator nor one of the role's agents.
    uma.get(&assignment_path(&id, "")).fails(404, "not_found");
    let claim = assignment_path(&id, "/claim");
    let claimed = bob.post(&claim, &Value::Null).expect(200);
    assert_eq!(
        (&claimed["state"], &claimed["holder"]),
        (&json!("claimed"), &json!("bob"))
    );
    let brief = &claimed["brief"];
    assert_eq!(brief["accepts"], json!(["worker_result"]));
    assert_eq!(brief["prompt_package"]["task_id"], TASK);
    assert_eq!(brief["librarian_pass"]["expires_at"], claimed["expires_at"]);
    for again in [&ann, &bob] {
        again
            .post(&claim, &Value::Null)
            .fails(409, "illegal_transition");
    }
    let shown = ann.get(&assignment_path(&id, "")).expect(200);
    assert_eq!(
        (&shown["lease_id"], &shown["brief"]),
        (&Value::Null, &Value::Null)
    );

    let second = called(&bob, &claimed);
    let call = &second["brief"]["context"]["calls"][0];
    let reference = call["ref"].as_str().unwrap();
    let made_up = submit(&bob, &second, json!({"artifacts": [result("made.up")]}));
    let said = made_up.fails(400, "invalid_document");
    assert!(said.contains("made.up"), "{said}");
    let mut foreign = result(reference);
    foreign["tenant_id"] = json!("umbra");
    submit(&bob, &second, json!({"artifacts": [foreign]})).fails(400, "invalid_document");
    let stolen = json!({"lease_id": "lease-00000000-0000-4000-8000-000000000000", "artifacts": [result(reference)]});
    let submissions = assignment_path(&id, "/submissions");
    bob.post(&submissions, &stolen)
        .fails(409, "illegal_transition");
    let accepted = submit(&bob, &second, json!({"artifacts": [result(reference)]}));
    assert_eq!(accepted.expect(200)["state"], "accepted");
    let late = submit(&bob, &second, json!({"artifacts": [result(reference)]}));
    late.fails(409, "illegal_transition");

    standing(&ann, "m-1", "completed");
    let stored = path_of("m-1", "/artifacts/worker_result/outside.1");
    let stored = ann.get(&stored).expect(200)["artifact"].clone();
    assert_eq!(
        (&stored["producer"], &stored["task_id"]),
        (&json!("bob"), &json!(TASK))
    );
    let replayed = ann
        .post(&path_of("m-1", "/replay"), &Value::Null)
        .expect(200);
    assert_eq!(replayed["identical"], true, "{replayed:#}");
}

/// A released assignment is claimed by another agent; the end of the mission closes it.
#[test]
fn an_assignment_is_released_and_closed_with_its_mission() {
    let (server, _service) = shared(external);
    let [ann, bob] = ["ann", "bob"].map(|key| server.key(key));
    let id = offered(&ann, "m-1");
    let claim = assignment_path(&id, "/claim");
    let claimed = bob.post(&claim, &Value::Null).expect(200);
    let lease = json!({"lease_id": claimed["lease_id"]});
    let release = assignment_path(&id, "/release");
    ann.post(&release, &lease).fails(409, "illegal_transition");
    bob.post(&release, &lease).expect(200);
    let claimed = ann.post(&claim, &Value::Null).expect(200);
    ann.post(&path_of("m-1", "/cancel"), &json!({})).expect(200);
    standing(&ann, "m-1", "cancelled");
    let late = submit(&ann, &claimed, json!({"artifacts": [result("x")]}));
    late.fails(409, "illegal_transition");
    let open = ann.get("/v1/mission-assignments").expect(200);
    assert_eq!(open["entries"], json!([]));
}

/// An abort of the mission's run ends its wait for an agent at once, as a cancellation of the mission does.
#[test]
fn an_assignment_is_closed_when_the_run_of_its_mission_is_aborted() {
    let (server, _service) = shared(external);
    let ann = server.key("ann");
    let id = offered(&ann, "m-1");
    let claim = assignment_path(&id, "/claim");
    let claimed = ann.post(&claim, &Value::Null).expect(200);
    let mission = ann.get(&path_of("m-1", "")).expect(200);
    let run = mission["run_id"].as_str().unwrap();
    let abort = format!("/v1/runs/{run}/abort");
    ann.post(&abort, &json!({"reason": "not now"})).expect(200);
    standing(&ann, "m-1", "cancelled");
    let late = submit(&ann, &claimed, json!({"artifacts": [result("x")]}));
    late.fails(409, "illegal_transition");
    let closed = ann.get(&assignment_path(&id, "")).expect(200);
    assert_eq!(closed["state"], "closed", "{closed:#}");
}

/// The same over the Model Context Protocol and A2A.
#[test]
fn an_outside_agent_works_over_mcp_and_a2a() {
    let (server, _service) = shared(external);
    let ann = server.key("ann");
    let id = offered(&ann, "m-1");
    let tool = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        ann.mcp(&json!({}), "tools/call", Some(name), params)["result"].clone()
    };
    let claimed = tool("claim_assignment", json!({"mission_id": "m-1"}));
    let claimed = &claimed["structuredContent"]["assignment"];
    assert_eq!(claimed["assignment_id"], json!(id));
    let again = tool("claim_assignment", json!({"assignment_id": id}));
    assert_eq!(again["isError"], true, "{again:#}");
    let second = called(&ann, claimed);
    let reference = second["brief"]["context"]["calls"][0]["ref"]
        .as_str()
        .unwrap();
    let submitted = tool(
        "submit_assignment",
        json!({"assignment_id": id, "lease_id": claimed["lease_id"], "artifacts": [result(reference)]}),
    );
    let submitted = &submitted["structuredContent"]["assignment"];
    assert_eq!(submitted["state"], "accepted", "{submitted:#}");
    standing(&ann, "m-1", "completed");

    let id = offered(&ann, "m-2");
    let send = |action: Value| {
        let message = json!({
            "messageId": "a", "role": "ROLE_USER", "parts": [{"data": {"assignment": action}}],
        });
        let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
        let body = json!({"message": message}).to_string().into_bytes();
        let (status, text) = ann.raw("POST", "/a2a/v1/message:send", &headers, body);
        (status, serde_json::from_str::<Value>(&text).unwrap())
    };
    let claim = json!({"action": "claim", "assignment_id": id});
    let (status, answer) = send(claim.clone());
    assert_eq!(status, 200, "{answer:#}");
    let claimed = answer["message"]["parts"][0]["data"].clone();
    assert_eq!(claimed["state"], "claimed", "{answer:#}");
    assert_eq!(send(claim).0, 409);
    let second = called(&ann, &claimed);
    let reference = second["brief"]["context"]["calls"][0]["ref"]
        .as_str()
        .unwrap();
    let (status, answer) = send(json!({
        "action": "submit", "assignment_id": id, "lease_id": claimed["lease_id"],
        "artifacts": [result(reference)],
    }));
    assert_eq!(status, 200, "{answer:#}");
    standing(&ann, "m-2", "completed");
}

fn envelope(mission: &str) -> Value {
    json!({
        "schema_name": "mission_envelope", "schema_version": "v1", "mission_id": mission,
        "mission_type": KIND, "origin_surface": "oracle", "tenant_id": "set below",
        "actor_id": "ann", "actor_role": "operator", "user_goal": GOAL,
        "normalized_goal": "Name every stale backup.", "risk_level": "high",
        "sensitivity_class": "confidential", "requested_outputs": ["reviewed_summary"],
        "created_at": "2026-04-14T12:00:00Z", "producer": "gateway",
    })
}

/// An envelope is an order: it may raise risk and sensitivity, and claims only what the credential has.
#[test]
fn a_mission_envelope_is_an_order() {
    let (server, _service) = shared(look_only);
    let ann = server.key("ann");
    let start = |change: Value| {
        let mut envelope = envelope("m-1");
        envelope["tenant_id"] = json!(server.id("acme"));
        for (field, value) in change.as_object().unwrap() {
            envelope[field] = value.clone();
        }
        ann.post("/v1/missions?model=offline", &envelope)
    };
    for claim in [
        json!({"tenant_id": "umbra"}),
        json!({"actor_id": "bob"}),
        json!({"actor_role": "admin"}),
    ] {
        start(claim).fails(403, "permission_denied");
    }
    for lowered in [
        json!({"risk_level": "low"}),
        json!({"sensitivity_class": "public"}),
        json!({"sensitivity_class": "internal_business"}),
        json!({"requested_outputs": ["reviewed_summaries"]}),
        json!({"user_goal": ""}),
    ] {
        start(lowered).fails(400, "invalid_request");
    }
    start(json!({})).expect(201);
    start(json!({})).expect(200);
    start(json!({"risk_level": "critical"})).fails(409, "already_exists");
    standing(&ann, "m-1", "completed");
    let stored = path_of("m-1", "/artifacts/mission_envelope/m-1");
    let stored = &ann.get(&stored).expect(200)["artifact"];
    for (field, expected) in [
        ("normalized_goal", "Name every stale backup."),
        ("risk_level", "high"),
        ("sensitivity_class", "confidential"),
        ("origin_surface", "oracle"),
        ("actor_role", "operator"),
        ("producer", "charter"),
    ] {
        assert_eq!(stored[field], expected, "{field}");
    }
}

/// A requested output that was not produced is a coverage gap; an unknown name is refused.
#[test]
fn a_requested_output_that_is_not_produced_is_a_coverage_gap() {
    let (server, _service) = shared(look_only);
    let ann = server.key("ann");
    let mut asked = order("m-1");
    asked["requested_outputs"] = json!(["reviewed_summary", "writeback_proposal", "poem"]);
    let said = ann
        .post("/v1/missions", &asked)
        .fails(400, "invalid_request");
    assert!(said.contains("`poem`"), "{said}");
    asked["requested_outputs"] = json!([
        "reviewed_summary",
        "writeback_proposal",
        "research_artifact"
    ]);
    ann.post("/v1/missions", &asked).expect(201);
    let mission = standing(&ann, "m-1", "completed");
    let packet = path_of("m-1", "/artifacts/aggregation_packet/agg");
    let packet = &ann.get(&packet).expect(200)["artifact"];
    for gaps in [&packet["coverage_gaps"], &mission["coverage_gaps"]] {
        let gaps = gaps.as_array().unwrap().iter();
        let refs: Vec<&Value> = gaps.map(|gap| &gap["refs"][0]).collect();
        for output in ["writeback_proposal", "research_artifact"] {
            assert!(refs.contains(&&json!(output)), "{packet:#}");
        }
        assert!(!refs.contains(&&json!("reviewed_summary")), "{packet:#}");
    }
}
