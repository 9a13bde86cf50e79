//! The failures of operations, with the codes that each can have: those of its status, by the table that answers are
//! written with ([`crate::error::status`]). The failures that operations share stand here. A handler's annotation names those that are its own; what comes
//! of the limits, the credential, the path, the body and storage follows from the operation's shape.

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

/// The head of a request is too long. Whatever else is wrong is known only when it was read, so that the answer has
/// no body.
const LONG_HEAD: &str = "431";

/// Operations that anybody may call: what describes the server to those who have no key yet.
const PUBLIC: [&str; 5] = [
    "get_agent_card",
    "get_agent_card_keys",
    "list_schemas",
    "get_schema",
    "get_openapi",
];

/// Operations that call tools, models or other systems before they answer.
const OPERATIONS_WITH_EFFECTS: [&str; 11] = [
    "create_request",
    "start_run",
    "start_playbook_run",
    "start_mission",
    "register_package",
    "rollback_package",
    "promote_candidate",
    "accept_route_example",
    "approve",
    "confirm_run",
    "rollback_run",
];

/// Adds them to every operation, and says which operations need no credential.
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
                .map(|status| (component(&status), coded(&status))),
        );
        schemas.insert("error_codes".to_owned(), explained());
        schemas.insert(A2A_ERROR.to_owned(), of_a2a());
    }
}

/// The name of the schema of failures with a status, or a class of them.
fn component(status: &str) -> String {
    format!("error_{}", status.to_lowercase())
}

/// The codes that are answered with a status, or with one of its class.
fn codes(status: &str) -> impl Iterator<Item = ErrorCode> {
    let digits = status.trim_end_matches('X').to_owned();
    let all = ErrorCode::ALL.iter().copied();
    all.filter(move |code| error::status(*code).as_str().starts_with(&digits))
}

/// Lets each failure of an operation say which codes it can have.
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
fn coded(status: &str) -> Value {
    let codes: Vec<&str> = codes(status).map(ErrorCode::as_str).collect();
    json!({"allOf": [{"$ref": AGENT_ERROR}, {"properties": {"error_code": {"enum": codes}}}]})
}

/// Every code, with what it means and where more is said of it.
fn explained() -> Value {
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
        if !covered(answers, status) {
            answers.insert(status.to_owned(), answer);
        }
    }
}

/// A status that is described, alone or with its class.
fn covered(answers: &Map<String, Value>, status: &str) -> bool {
    let class = format!("{}XX", &status[..1]);
    answers.contains_key(status) || answers.contains_key(&class)
}

/// An `AgentError`; the HTTP+JSON binding of A2A has a form of its own, except where no caller is known.
fn body(path: &str) -> Value {
    let error = json!({"$ref": AGENT_ERROR});
    if path.starts_with(REST_PATH) {
        let of_a2a = json!({"$ref": format!("{COMPONENTS}{A2A_ERROR}")});
        let either = json!({"anyOf": [error, of_a2a]});
        return json!({"application/json": {"schema": either}});
    }
    json!({"application/json": {"schema": error}})
}

/// What the HTTP+JSON binding of A2A fails with (section 11.6).
fn of_a2a() -> Value {
    let details =
        json!({"type": "array", "items": {"type": "object", "additionalProperties": true}});
    json!({
        "description": "A failure as the HTTP+JSON binding of A2A has it.",
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["code", "status", "message", "details"],
            "properties": {
                "code": {"type": "integer", "description": "The HTTP status."},
                "status": {"type": "string", "description": "Its name in `google.rpc.Code`."},
                "message": {"type": "string", "description": "What failed."},
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
        // Each refuses query parameters that it does not take.
        (
            true,
            "400",
            "The request cannot be read, or is no valid one",
        ),
        (
            public && !read,
            LONG_HEAD,
            "The head of the request is too long",
        ),
        (!public, "401", "There is no known credential"),
        (!public, "403", "The caller may not"),
        (named, "404", "The caller sees nothing of that name"),
        (!reads, "409", "It does not fit the present state"),
        (has_body, "413", "The body is too large"),
        (reaches, "422", "It cannot be done by this server"),
        (
            !public,
            "429",
            "The tenant asks too often, or a rate limit stands against it",
        ),
        (reaches, "502", "A tool, a model or another system failed"),
        (
            true,
            "503",
            "The server is busy, or lacks something; try again",
        ),
        (true, "504", "There was no answer in time"),
        (!reads, "507", "There is no space left to store it"),
    ];
    let found = known.into_iter().filter(|(applies, ..)| *applies);
    found.map(|(_, status, said)| (status, said)).collect()
}
