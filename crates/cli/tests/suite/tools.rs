//! Tools in the form of seed 003: registered by their definitions, called by invocations and from a terminal.

use std::thread;

use charter_contract::registry::validate;
use charter_contract::schema::SchemaName;
use serde_json::{Value, json};

use crate::home::{Api, eventually};
use crate::packages::backups;
use crate::playbooks::{KEYS, decide, settled};
use crate::seeds::speaking_to;
use crate::shared::Tenants;

/// The definition of a tool that a handler carries out.
pub(crate) fn definition(id: &str) -> Value {
    json!({
        "id": id, "name": "Get the weather", "description": "Reads the weather of a city.",
        "parameters": {"city": {"type": "string", "description": "The city", "required": true}},
        "result_schema": {"type": "object"},
    })
}

/// A call of a tool; calls with other numbers have other ids.
pub(crate) fn invocation(tool: &str, number: u8) -> Value {
    json!({
        "id": format!("inv-01930000-0000-7000-8000-0000000000{number:02x}"), "tool": tool,
        "parameters": {"city": "Bern"}, "timestamp": "2026-04-14T12:00:00Z",
    })
}

/// Carries out the next call of a tool.
fn carry_out(executor: &Api, tool: &str, output: &Value) {
    let asked = json!({
        "executor": "by-hand", "wait_ms": 30_000, "handlers": [tool], "only_handlers": true,
    });
    let call = eventually("a call", || {
        let answer = executor.post("/v1/executor/leases", &asked);
        (answer.status != 204).then(|| answer.expect(200))
    });
    assert_eq!(call["parameters"], json!({"city": "Bern"}));
    let lease = call["lease_id"].as_str().unwrap();
    let path = format!("/v1/executor/leases/{lease}/outcome");
    let outcome = json!({"result": {"status": "succeeded", "output": output}, "duration_ms": 1});
    assert_eq!(executor.post(&path, &outcome).status, 204);
}

#[test]
fn b003_4_a_definition_is_registered_once_and_called_by_invocations() {
    let server = Tenants::with_keys(&KEYS);
    let [uma, ann, eve] = ["uma", "ann", "eve"].map(|key| server.key(key));
    let mut readonly = definition("tool-get-weather");
    readonly["tool_class"] = json!("readonly");
    let registered = ann.post("/v1/tools", &readonly).expect(201);
    assert_eq!(registered["tool_id"], "get-weather");
    assert_eq!(registered["tool_class"], "readonly");
    ann.post("/v1/tools", &readonly)
        .fails(409, "already_exists");
    uma.post("/v1/tools", &definition("tool-other"))
        .fails(403, "permission_denied");
    let path = "/v1/tools/tool-get-weather";
    let shown = uma.get(path).expect(200);
    assert_eq!(shown["name"], "Get the weather");
    assert_eq!(validate(SchemaName::ToolDefinition, &shown), []);
    eve.get(path).fails(404, "not_found");

    let path = format!("{path}/invoke");
    let call = invocation("tool-get-weather", 1);
    let calling = {
        let (uma, path, call) = (uma.clone(), path.clone(), call.clone());
        thread::spawn(move || uma.post(&path, &call))
    };
    carry_out(&ann, "get-weather", &json!({"degrees": 20}));
    let result = calling.join().unwrap().expect(200);
    assert_eq!(validate(SchemaName::ToolResult, &result), []);
    assert_eq!(result["status"], "success");
    assert_eq!(result["result"], json!({"degrees": 20}));
    assert_eq!(result["invocation_id"], call["id"]);
    // The same call again finds the first one: no executor waits for another.
    assert_eq!(uma.post(&path, &call).expect(200), result);

    let mut wrong = invocation("tool-get-weather", 2);
    wrong["parameters"] = json!({"town": 1});
    uma.post(&path, &wrong).fails(400, "invalid_document");
    let other = invocation("tool-other", 3);
    uma.post(&path, &other).fails(400, "invalid_request");
    let mut above = invocation("tool-get-weather", 4);
    above["permission_level"] = json!("admin");
    uma.post(&path, &above).fails(403, "permission_denied");
}

/// The same invocation answers with the run while it waits, and with the result afterwards.
#[test]
fn a_call_that_writes_answers_with_its_run_until_it_has_ended() {
    let server = Tenants::with_keys(&KEYS);
    let [uma, ann] = ["uma", "ann"].map(|key| server.key(key));
    let registered = ann.post("/v1/tools", &definition("tool-set-weather"));
    assert_eq!(registered.expect(201)["tool_class"], "write");
    let path = "/v1/tools/tool-set-weather/invoke";
    let call = invocation("tool-set-weather", 1);
    let run = uma.post(path, &call).expect(202);
    let waiting = settled(&uma, &run, "awaiting_approval");
    decide(&ann, &waiting["approvals"][0], "approve").expect(200);
    carry_out(&ann, "set-weather", &json!({"set": true}));
    settled(&uma, &run, "completed");
    let result = uma.post(path, &call).expect(200);
    assert_eq!(result["result"], json!({"set": true}));
    assert_eq!(result["metadata"]["run_id"], run["run_id"]);

    let denied = invocation("tool-set-weather", 2);
    let run = uma.post(path, &denied).expect(202);
    let waiting = settled(&uma, &run, "awaiting_approval");
    decide(&ann, &waiting["approvals"][0], "reject").expect(200);
    settled(&uma, &run, "rejected");
    let result = uma.post(path, &denied).expect(200);
    assert_eq!(validate(SchemaName::ToolResult, &result), []);
    assert_eq!(result["status"], "denied");
    assert_eq!(result["error"]["error_code"], "approval_rejected");
}

#[test]
fn a_tool_is_called_from_a_terminal_by_either_id() {
    let server = Tenants::with_keys(&KEYS);
    let uma = server.key("uma");
    server.key("ann").register(&backups());
    let home = speaking_to(&uma);
    for tool in ["vault.list_backups", "tool-vault-list-backups"] {
        let called = home.run(&["call", tool, "-p", "vault=main", "--output", "json"]);
        let result = called.json(0);
        assert_eq!(result["tool"], "tool-vault-list-backups");
        assert!(result["result"]["backups"].is_array(), "{result}");
    }
    let refused = home.run(&["call", "vault.list_backups", "-p", "days=1"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("charter resolve tool"), "{refused:?}");
}
