//! Questions of a server that are passed on to the client of a call: bounded, without secrets, and with the server's
//! name, because the client's user has to know who asks. Must not know how a client is reached.

use std::time::Duration;

use charter_contract::bounds::{SERVER_QUESTION_BYTES, SERVER_QUESTIONS};
use charter_contract::ids::Label;
use charter_contract::json::text_length;
use rmcp::model::InputRequests;
use serde_json::{Map, Value};

use crate::redact::Redactor;

/// Longest time in which a client's user answers.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);

/// The method of a question to the client's user.
pub(super) const ELICITATION: &str = "elicitation/create";

/// Returns the questions as the client sees them.
///
/// # Errors
/// The limit that they exceed.
pub(super) fn shown_questions(
    server: &Label,
    redactor: &Redactor,
    questions: InputRequests,
) -> Result<Map<String, Value>, String> {
    if questions.len() > SERVER_QUESTIONS {
        let count = questions.len();
        return Err(format!(
            "asked {count} questions, more than {SERVER_QUESTIONS}"
        ));
    }
    let asked = serde_json::to_value(questions)
        .map_err(|error| format!("asked questions that cannot be read: {error}"))?;
    let size = text_length(&asked);
    if size > SERVER_QUESTION_BYTES {
        return Err(format!(
            "asked questions of {size} bytes, more than {SERVER_QUESTION_BYTES}"
        ));
    }
    let Value::Object(mut shown) = redactor.apply_to(asked) else {
        return Err("asked questions that cannot be read".to_owned());
    };
    for question in shown.values_mut() {
        name_server(server, question);
    }
    Ok(shown)
}

/// Names the server in a question to the client's user.
fn name_server(server: &Label, question: &mut Value) {
    if question["method"] != ELICITATION {
        return;
    }
    if let Some(Value::String(message)) = question.pointer_mut("/params/message") {
        *message = format!("The MCP server `{server}` asks: {message}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(message: &str) -> Value {
        json!({"method": ELICITATION, "params": {
            "message": message, "requestedSchema": {"type": "object", "properties": {}},
        }})
    }

    fn shown(questions: Value) -> Result<Map<String, Value>, String> {
        let redactor = Redactor::new(&[("KEY".to_owned(), "s3cr3t-value".to_owned())]);
        let server = Label::parse("files").unwrap();
        shown_questions(
            &server,
            &redactor,
            serde_json::from_value(questions).unwrap(),
        )
    }

    #[test]
    fn a_question_names_its_server_and_has_no_secret() {
        let shown = shown(json!({"a": form("Delete s3cr3t-value?")})).unwrap();
        assert_eq!(
            shown["a"]["params"]["message"],
            "The MCP server `files` asks: Delete [redacted:KEY]?"
        );
    }

    #[test]
    fn too_many_or_too_large_questions_are_refused() {
        let many: Map<String, Value> = (0..=SERVER_QUESTIONS)
            .map(|number| (number.to_string(), form("?")))
            .collect();
        assert_eq!(
            shown(Value::Object(many)),
            Err("asked 17 questions, more than 16".to_owned())
        );
        let large = shown(json!({"a": form(&"x".repeat(SERVER_QUESTION_BYTES))}));
        assert!(large.unwrap_err().contains("more than 65536"));
    }
}
