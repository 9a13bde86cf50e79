//! Two runs of the same write: the later one waits for the first, and then requests approval again.

use serde_json::{Value, json};

use crate::playbooks::{decide, path_of, settled, shared, start_on, waiting_run_on};

/// Starts a second run of the call that a run waits to have approved, and returns it once it waits for that run.
fn second_of(server: &crate::shared::Tenants, first: &Value) -> Value {
    let second = settled(
        &server.key("bob"),
        &start_on(&server.key("bob"), "main"),
        "paused",
    );
    assert_eq!(second["awaited_run"]["run_id"], first["run_id"]);
    assert_eq!(second["approvals"], json!([]));
    second
}

/// The rule that names the other run, in the approval that a run requests after its wait.
fn naming(run: &Value, other: &Value) -> String {
    let rules = run["approvals"][0]["rules"].as_array().unwrap();
    let mut same = rules.iter().filter(|rule| rule["kind"] == "same_call");
    let rule = same.next().unwrap_or_else(|| panic!("{run:#}"));
    assert_eq!(rule["id"], other["run_id"]);
    rule["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_later_run_of_the_same_write_waits_and_asks_again() {
    let (server, service) = shared();
    let (ann, bob) = (server.key("ann"), server.key("bob"));
    let first = waiting_run_on(&ann, "main");
    let second = second_of(&server, &first);
    let refused = bob.post(&path_of(&second, "/resume"), &json!({}));
    refused.fails(409, "illegal_transition");
    decide(&bob, &first["approvals"][0], "approve").expect(200);
    service.next().answer_with("{}");
    settled(&ann, &first, "completed");
    let second = settled(&bob, &second, "awaiting_approval");
    assert_eq!(second.get("awaited_run"), None);
    assert!(naming(&second, &first).contains("ended as completed"));
    decide(&ann, &second["approvals"][0], "reject").expect(200);
    settled(&bob, &second, "rejected");
    assert!(!service.was_called());
}

#[test]
fn a_rejected_call_lets_the_later_run_ask() {
    let (server, service) = shared();
    let (ann, bob) = (server.key("ann"), server.key("bob"));
    let first = waiting_run_on(&ann, "main");
    let second = second_of(&server, &first);
    decide(&bob, &first["approvals"][0], "reject").expect(200);
    let second = settled(&bob, &second, "awaiting_approval");
    assert!(naming(&second, &first).contains("ended as rejected"));
    decide(&ann, &second["approvals"][0], "approve").expect(200);
    service.next().answer_with("{}");
    settled(&bob, &second, "completed");
    let replay = bob.get(&path_of(&second, "/replay")).expect(200);
    assert_eq!(replay["divergence"], json!(null));
}
