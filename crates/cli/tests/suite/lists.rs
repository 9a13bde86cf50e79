//! One decision for a list of writes: a step that is repeated for each item of a list.

use serde_json::{Value, json};

use crate::packages::Package;
use crate::playbooks::{KEYS, PLAYBOOK, PLAYBOOK_FILE, purge, settled};
use crate::service::Service;
use crate::shared::Tenants;

/// The playbook, for each vault of a list.
fn listed(service: &Service) -> Package {
    purge(service)
        .edit(
            PLAYBOOK_FILE,
            "{name: vault, type: string, description: the vault}",
            "{name: vaults, type: array, description: the vaults}",
        )
        .edit(
            PLAYBOOK_FILE,
            "parameters: {vault: \"${user.vault}\"}",
            "for_each: {items: \"${user.vaults}\"}, parameters: {vault: \"${item}\"}",
        )
}

#[test]
fn b000_18_a_list_is_decided_once_and_exactly_the_chosen_calls_happen() {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    let [ann, bob] = ["ann", "bob"].map(|key| server.key(key));
    ann.register(&listed(&service));
    let path = format!("/v1/playbooks/{PLAYBOOK}/runs");
    let parameters = json!({"parameters": {"vaults": ["a", "b", "c"]}});
    let run = ann.post(&path, &parameters).expect(201);
    let waiting = settled(&ann, &run, "awaiting_approval");
    let approvals = waiting["approvals"].as_array().unwrap();
    assert_eq!(approvals.len(), 1, "{waiting:#}");
    let approval = &approvals[0];
    let calls = approval["list"].as_array().unwrap();
    let calls: Vec<Value> = calls
        .iter()
        .map(|call| json!([call["step"], call["parameters"]["vault"]]))
        .collect();
    assert_eq!(
        calls,
        [
            json!(["s1.1", "a"]),
            json!(["s1.2", "b"]),
            json!(["s1.3", "c"])
        ]
    );
    let path = format!(
        "/v1/approvals/{}/approve",
        approval["approval_id"].as_str().unwrap()
    );
    let choice = |excluded: &str| json!({"digest": approval["digest"], "exclude": [excluded]});
    bob.post(&path, &choice("s1.9"))
        .fails(400, "invalid_request");
    assert!(!service.was_called());
    let decided = bob.post(&path, &choice("s1.2")).expect(200);
    assert_ne!(decided["remainder"]["digest"], approval["digest"]);
    let keys = [(); 2].map(|()| {
        let call = service.next();
        let key = call.idempotency_key.clone();
        call.answer_with("{}");
        key
    });
    assert_ne!(keys[0], keys[1]);
    let done = settled(&ann, &run, "completed");
    let states: Vec<Value> = done["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| json!([step["step"], step["state"]]))
        .collect();
    assert_eq!(
        states,
        [
            json!(["s1", "succeeded"]),
            json!(["s1.1", "succeeded"]),
            json!(["s1.2", "skipped"]),
            json!(["s1.3", "succeeded"])
        ]
    );
    assert!(!service.was_called(), "the excluded call was made");
}
