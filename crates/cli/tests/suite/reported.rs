//! B000-18: a write happened, but the run did not learn its result because its process was killed in between. A person
//! who sees that it happened reports it.

use serde_json::{Value, json};

use crate::home::{Answer, Api, Home, Server};
use crate::playbooks::{KEYS, decide, path_of, purge, settled, shared, waiting, waiting_run_of};
use crate::service::Service;

const TOOL: &str = "tools/purge.yaml";
/// The write declares its output and its evidence.
const DECLARED: &str = "description: Purges a vault.\n\
    output_schema: {type: object, required: [purged], properties: {purged: {type: integer}}}\n\
    evidence: {type: api_call, system: aws.backup, native_id: .parameters.vault, \
    summary: \"Purged {{output.purged}}.\"}\n";

/// A run whose write was running when the server was killed, in its state after the next start.
fn killed() -> (Home, Server, Service, Value) {
    let home = Home::with_keys(&KEYS).with("CHARTER_API_KEY", "bob");
    let server = home.serve();
    let service = Service::start();
    let package = purge(&service).edit(TOOL, "description: Purges a vault.\n", DECLARED);
    server.key("ann").register(&package);
    let run = waiting(&server);
    decide(&server.key("bob"), &run["approvals"][0], "approve").expect(200);
    // It arrived; its answer will be lost.
    let call = service.next();
    server.kill();
    drop(call);
    let server = home.serve();
    let run = settled(&server.key("bob"), &run, "awaiting_approval");
    assert_eq!(run["in_doubt"], json!(["s1"]));
    (home, server, service, run)
}

fn told(api: &Api, approval: &Value, output: Value) -> Answer {
    let path = format!(
        "/v1/approvals/{}/report",
        approval["approval_id"].as_str().unwrap()
    );
    let body =
        json!({"digest": approval["digest"], "reason": "the vault is empty", "output": output});
    api.post(&path, &body)
}

fn last_success(run: &Value) -> &Value {
    let events = run["events"].as_array().unwrap();
    events
        .iter()
        .rev()
        .find(|event| event["event"] == "step_succeeded")
        .unwrap()
}

/// An approver reports it once, with an output that the tool could have returned; the run continues with it, without
/// another call, and its evidence names the approver.
#[test]
fn b000_18_a_killed_write_that_happened_is_reported_and_not_repeated() {
    let (_home, server, service, run) = killed();
    let approval = &run["approvals"][0];
    let (ann, bob, uma) = (server.key("ann"), server.key("bob"), server.key("uma"));
    let output = json!({"purged": 3});
    told(&uma, approval, output.clone()).fails(403, "permission_denied");
    told(&ann, approval, output.clone()).fails(403, "permission_denied");
    let message = told(&bob, approval, json!({"purged": "all"})).fails(400, "invalid_document");
    assert!(message.contains("the output of `vault.purge`"), "{message}");
    let mut unseen = approval.clone();
    unseen["digest"] = json!("sha256:other");
    told(&bob, &unseen, output.clone()).fails(409, "version_conflict");
    let decided = told(&bob, approval, output.clone()).expect(200);
    assert_eq!(decided["reported_result"], json!({"output": output}));
    told(&bob, approval, output.clone()).fails(409, "illegal_transition");
    let done = settled(&bob, &run, "completed");
    assert!(!service.was_called());
    let event = last_success(&done);
    assert_eq!(event["output"], output);
    assert_eq!(
        event["source"],
        json!({"reported": {"by": "bob", "approval": approval["approval_id"], "reason": "the vault is empty"}})
    );
    assert_eq!(done["in_doubt"], json!([]));
    let path = format!(
        "/v1/approvals/{}",
        approval["approval_id"].as_str().unwrap()
    );
    let used = bob.get(&path).expect(200);
    assert_eq!(
        (&used["state"], &used["reported_result"]["output"]),
        (&json!("consumed"), &output)
    );
    let replayed = bob.get(&path_of(&run, "/replay")).expect(200);
    assert_eq!(replayed["divergence"], Value::Null);
    let id = done["evidence"][0]["evidence_id"].as_str().unwrap();
    let record = bob.get(&format!("/v1/evidence/{id}")).expect(200);
    assert_eq!(
        record["summary"],
        "Reported by `bob`, not observed: Purged 3."
    );
    assert_eq!(
        record["payload"]["run"]["reported"],
        json!({"by": "bob", "reason": "the vault is empty"})
    );
}

/// Also by command, where the output is optional.
#[test]
fn b000_18_a_killed_write_is_reported_by_command() {
    let (home, server, service, run) = killed();
    let approval = &run["approvals"][0];
    let (id, digest) = (
        approval["approval_id"].as_str().unwrap(),
        approval["digest"].as_str().unwrap(),
    );
    let happened = ["approvals", "report", id, "--digest", digest];
    let file = home.path("output.json");
    std::fs::write(&file, r#"{"purged": "all"}"#).unwrap();
    let refused = home.run(&[&happened[..], &["--result", file.to_str().unwrap()]].concat());
    assert!(refused.err.contains("invalid_document"), "{refused:?}");
    let done = home
        .run(&[&happened[..], &["--output", "json"]].concat())
        .json(0);
    assert_eq!(done["status"], "completed", "{done:#}");
    assert_eq!(last_success(&done)["output"], Value::Null);
    assert!(!service.was_called());
    drop(server);
}

/// A write that was never started cannot have happened.
#[test]
fn b000_18_what_was_not_begun_cannot_be_reported() {
    let (server, service) = shared();
    let run = waiting_run_of(&server.key("ann"));
    let bob = server.key("bob");
    let message = told(&bob, &run["approvals"][0], Value::Null).fails(409, "illegal_transition");
    assert!(message.contains("this was never started"), "{message}");
    assert_eq!(
        bob.get(&path_of(&run, "")).expect(200)["status"],
        "awaiting_approval"
    );
    assert!(!service.was_called());
}

/// A run that ended with a write in doubt reports that on a rollback.
#[test]
fn b000_18_a_run_in_doubt_does_not_claim_that_nothing_was_written() {
    let (_home, server, _service, run) = killed();
    let bob = server.key("bob");
    decide(&bob, &run["approvals"][0], "reject").expect(200);
    let ended = settled(&bob, &run, "rollback_failed");
    assert_eq!(ended["in_doubt"], json!(["s1"]));
    let refused = bob.post(&path_of(&run, "/rollback"), &json!({}));
    let message = refused.fails(409, "illegal_transition");
    assert!(
        message.contains("the outcome of the write of `s1` is unknown"),
        "{message}"
    );
}
