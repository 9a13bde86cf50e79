//! The failures of operations, with the codes of each: those of its status, by the table of statuses
//! ([`crate::error::status`]). This module defines the shared failures, and a handler's annotation names its own.
//! Failures of limits, credential, path, body and storage follow from the operation's properties.

use std::collections::BTreeSet;

use axum::http::Method;
use charter_contract::error_code::ErrorCode;
use serde_json::{Map, Value, json};

use super::COMPONENTS;
use crate::agent_card::REST_PATH;
use crate::error;

/// The component of every failure.
const AGENT_ERROR: &str = "#/components/schemas/agent_error";

/// The component of failures of the HTTP+JSON binding of A2A.
const A2A_ERROR: &str = "a2a_error";

/// The status for a too long request head. The response has no body, because the server cannot know whether other
/// faults exist.
const LONG_HEAD: &str = "431";

/// Operations without a credential: they describe the server to clients that have no key yet, have a signature, or sign a
/// user in.
const PUBLIC: [&str; 10] = [
    "decide_in_slack",
    "get_agent_card",
    "get_agent_card_keys",
    "list_schemas",
    "get_schema",
    "get_openapi",
    "receive_webhook",
    "get_sign_in_options",
    "start_sign_in",
    "complete_sign_in",
];

/// Operations that call tools, models or other systems before they answer.
const OPERATIONS_WITH_EFFECTS: [&str; 13] = [
    "create_request",
    "start_run",
    "invoke_tool",
    "start_playbook_run",
    "start_mission",
    "register_package",
    "rollback_package",
    "promote_candidate",
    "accept_route_example",
    "approve",
    "confirm_run",
    "rollback_run",
    "decide_in_slack",
];

/// Adds the failures to every operation, and marks the operations that need no credential.
pub(super) fn describe(document: &mut Value) {
    let Some(paths) = document["paths"].as_object_mut() else {
        return;
    };
    for (path, operations) in paths {
        let Some(operations) = operations.as_object_mut() else {
            continue;
        };
        for (method, operation) in operations {
            add(path, method, operation);
        }
    }
    let mut named: BTreeSet<String> = BTreeSet::new();
    for operation in super::operations(document) {
        name_codes(operation, &mut named);
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.extend(
            named
                .into_iter()
                .map(|status| (component(&status), error_with_codes(&status))),
        );
        schemas.insert("error_codes".to_owned(), error_codes_schema());
        schemas.insert(A2A_ERROR.to_owned(), of_a2a());
    }
}

/// The name of the schema of failures with a status, or a class of them.
fn component(status: &str) -> String {
    format!("error_{}", status.to_lowercase())
}

/// The codes with a status, or with one of its class.
fn codes(status: &str) -> impl Iterator<Item = ErrorCode> {
    let digits = status.trim_end_matches('X').to_owned();
    let all = ErrorCode::ALL.iter().copied();
    all.filter(move |code| error::status(*code).as_str().starts_with(&digits))
}

/// Restricts each failure of an operation to its possible codes.
fn name_codes(operation: &mut Value, named: &mut BTreeSet<String>) {
    let Some(answers) = operation["responses"].as_object_mut() else {
        return;
    };
    for (status, answer) in answers {
        let Some(schema) = answer.pointer_mut("/content/application~1json/schema") else {
            continue;
        };
        if schema["$ref"] == AGENT_ERROR && codes(status).next().is_some() {
            schema["$ref"] = json!(format!("{COMPONENTS}{}", component(status)));
            named.insert(status.clone());
        }
    }
}

/// An `AgentError` with one of the codes of a status.
fn error_with_codes(status: &str) -> Value {
    let codes: Vec<&str> = codes(status).map(ErrorCode::as_str).collect();
    json!({"allOf": [{"$ref": AGENT_ERROR}, {"properties": {"error_code": {"enum": codes}}}]})
}

/// Every code, with its meaning and a link to its page.
fn error_codes_schema() -> Value {
    let codes = ErrorCode::ALL.iter().map(|code| {
        json!({
            "const": code.as_str(),
            "title": code.user_message(),
            "description": code.hint(),
            "x-status": error::status(*code).as_u16(),
            "x-retryable": code.retryable(),
            "x-help": format!("docs/errors/{code}.md"),
        })
    });
    json!({"type": "string", "oneOf": codes.collect::<Vec<_>>()})
}

fn add(path: &str, method: &str, operation: &mut Value) {
    let public = operation["operationId"]
        .as_str()
        .is_some_and(|id| PUBLIC.contains(&id));
    if public {
        operation["security"] = json!([{}]);
    }
    let found = statuses(method, public, operation);
    let Some(answers) = operation["responses"].as_object_mut() else {
        return;
    };
    for (status, description) in found {
        let answer = match status {
            LONG_HEAD => json!({"description": description}),
            _ => json!({"description": description, "content": body(path)}),
        };
        if !is_described(answers, status) {
            answers.insert(status.to_owned(), answer);
        }
    }
}

/// Whether a status is described, alone or with its class.
fn is_described(answers: &Map<String, Value>, status: &str) -> bool {
    let class = format!("{}XX", &status[..1]);
    answers.contains_key(status) || answers.contains_key(&class)
}

/// The schema of a failure: an `AgentError`, or under the HTTP+JSON binding of A2A also that binding's error.
fn body(path: &str) -> Value {
    let error = json!({"$ref": AGENT_ERROR});
    if path.starts_with(REST_PATH) {
        let of_a2a = json!({"$ref": format!("{COMPONENTS}{A2A_ERROR}")});
        let either = json!({"anyOf": [error, of_a2a]});
        return json!({"application/json": {"schema": either}});
    }
    json!({"application/json": {"schema": error}})
}

/// The error of the HTTP+JSON binding of A2A (section 11.6).
fn of_a2a() -> Value {
    let details =
        json!({"type": "array", "items": {"type": "object", "additionalProperties": true}});
    json!({
        "description": "A failure in the HTTP+JSON binding of A2A.",
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["code", "status", "message", "details"],
            "properties": {
                "code": {"type": "integer", "description": "The HTTP status."},
                "status": {"type": "string", "description": "Its name in `google.rpc.Code`."},
                "message": {"type": "string", "description": "The failure."},
                "details": details,
            },
        }},
    })
}

fn statuses(method: &str, public: bool, operation: &Value) -> Vec<(&'static str, &'static str)> {
    let parameters = operation["parameters"].as_array();
    let places = parameters.map(|all| all.iter().filter_map(|one| one["in"].as_str()));
    let places: Vec<&str> = places.map(Iterator::collect).unwrap_or_default();
    let has_body = operation.get("requestBody").is_some();
    let reads = method.eq_ignore_ascii_case(Method::GET.as_str());
    let named = places.contains(&"path") || places.contains(&"query") || has_body;
    let read = named || places.contains(&"header");
    let reaches = operation["operationId"]
        .as_str()
        .is_some_and(|id| OPERATIONS_WITH_EFFECTS.contains(&id));
    let known = [
        // Each refuses unknown query parameters.
        (true, "400", "The request is malformed or invalid"),
        (
            public && !read,
            LONG_HEAD,
            "The head of the request is too long",
        ),
        (!public, "401", "The credential is missing or unknown"),
        (!public, "403", "The caller lacks permission"),
        (named, "404", "No such resource is visible to the caller"),
        (!reads, "409", "The current state does not allow this"),
        (has_body, "413", "The body is too large"),
        (reaches, "422", "The server cannot process the request"),
        (
            !public,
            "429",
            "The tenant exceeds its quota of calls or a rate limit",
        ),
        (reaches, "502", "A tool, a model or another system failed"),
        (
            true,
            "503",
            "The server is busy, or a component is unavailable; retry",
        ),
        (true, "504", "The request timed out"),
        (!reads, "507", "No storage space is left"),
    ];
    let found = known.into_iter().filter(|(applies, ..)| *applies);
    found.map(|(_, status, said)| (status, said)).collect()
}
