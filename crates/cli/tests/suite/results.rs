//! The result of a change that was not executed: nothing changed, with the undone writes and the reasons.

use serde_json::{Value, json};

use crate::home::{Api, eventually, request};
use crate::packages::guardrail;
use crate::playbooks::{confirm, decide, path_of, purge, settled, shared};
use crate::service::Service;
use crate::shared::Tenants;

/// Requests the change in a session and confirms its plan. Returns the request, its session and its run.
fn confirmed(api: &Api) -> (Value, Value, Value) {
    let session = api.post("/v1/sessions", &json!({})).expect(201)["session_id"].clone();
    let mut asked = request("purge the vault for good");
    asked["metadata"] = json!({"parameters": {"vault": "main"}});
    asked["session_id"] = session.clone();
    let plan = api.ask(&asked).expect(200);
    let metadata = &plan["metadata"];
    let run = json!({"run_id": metadata["run_ids"][0], "plan_digest": metadata["plan_digest"]});
    confirm(api, &run).expect(200);
    (asked, session, run)
}

/// The result of a request, which is also the answer of its turn in the session.
fn result_of(api: &Api, asked: &Value, session: &Value) -> Value {
    let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
    let result = eventually("the result", || {
        let shown = api.get(&path).expect(200);
        (!shown["result"].is_null()).then(|| shown["result"].clone())
    });
    let path = format!("/v1/sessions/{}", session.as_str().unwrap());
    let shown = api.get(&path).expect(200);
    assert_eq!(shown["turns"][0]["output"], result["content"]);
    result
}

/// The only write was left undone, for this reason, and nothing was changed.
fn check_undone(result: &Value, why: &str) {
    let metadata = &result["metadata"];
    assert_eq!(metadata["changes"], json!([]), "{result:#}");
    let undone = &metadata["undone"];
    assert_eq!(undone.as_array().map(Vec::len), Some(1), "{result:#}");
    let step = (
        &undone[0]["step_id"],
        &undone[0]["tool_id"],
        &undone[0]["writes"],
    );
    assert_eq!(step, (&json!("s1"), &json!("vault.purge"), &json!(true)));
    assert_eq!(undone[0]["reason"], why, "{result:#}");
    let content = result["content"].as_str().unwrap();
    assert!(content.contains("Nothing was changed."), "{content}");
    assert!(content.contains("Left undone:"), "{content}");
}

#[test]
fn b000_18_a_change_that_a_person_rejects_ends_with_what_was_left_undone() {
    let (server, service) = shared();
    // A user confirms, who does not decide on approvals.
    let uma = server.key("uma");
    let (asked, session, run) = confirmed(&uma);
    let waits = settled(&uma, &run, "awaiting_approval");
    decide(&server.key("bob"), &waits["approvals"][0], "reject").expect(200);
    check_undone(&result_of(&uma, &asked, &session), "failed");
    assert!(!service.was_called());
}

#[test]
fn b000_18_a_change_that_is_aborted_ends_with_what_was_left_undone() {
    let (server, service) = shared();
    let uma = server.key("uma");
    let (asked, session, run) = confirmed(&uma);
    settled(&uma, &run, "awaiting_approval");
    uma.post(&path_of(&run, "/abort"), &json!({"reason": "not today"}))
        .expect(200);
    check_undone(&result_of(&uma, &asked, &session), "not_begun");
    assert!(!service.was_called());
}

/// B000-13: the message of the guardrail that blocks the write is in the result.
#[test]
fn b000_18_a_change_that_a_guardrail_blocks_ends_with_its_message() {
    let (server, service) = (Tenants::one(), Service::start());
    let when = "when: 'flow == \"write\"'";
    let rule = guardrail("on.write", "global", "*", "hard_block", when);
    let package = purge(&service).with("guardrails/write.yaml", &rule);
    server.api.register(&package);
    let (asked, session, _) = confirmed(&server.api);
    let result = result_of(&server.api, &asked, &session);
    check_undone(&result, "failed");
    let content = result["content"].as_str().unwrap();
    assert!(content.contains("The message of on.write."), "{content}");
    assert!(!service.was_called());
}
