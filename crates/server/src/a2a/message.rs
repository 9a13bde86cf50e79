//! Reads a client's message into a task's input: its text, and the options in its data parts.
//!
//! Files are refused, whether sent inline or by URL: nothing is fetched for a client.

use charter_contract::validate::nearest;
use charter_engine::{Confirmation, TaskMessage};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::assignment;
use super::error::{A2aError, Kind, Violations};
use super::params::Message;

/// Parts of one message.
const MAX_PARTS: usize = 64;

/// Longest text of a message, over all its parts, in bytes.
const MAX_TEXT: usize = 256 << 10;

/// The allowed fields of a data part: the fields of a request's `metadata` that select and parameterize the work, a
/// mission command, or an action on assignments.
const OPTION_FIELDS: [&str; 10] = [
    "parameters",
    "skill_id",
    "playbook_id",
    "flow",
    "dry_run",
    "persona",
    "tier",
    "use_memory",
    "mission",
    assignment::FIELD,
];

/// The field of a data part that confirms a plan.
const CONFIRM: &str = "confirm";

/// The possible contents of a part, exactly one of them (section 4.1.6).
const CONTENTS: [&str; 4] = ["text", "raw", "url", "data"];

/// A confirmation of the plan that a task shows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirm {
    digest: String,
    #[serde(default)]
    typed: Option<String>,
}

/// Reads a client's message; an error lists all its faults.
pub(super) fn read(message: &Message) -> Result<TaskMessage, A2aError> {
    let mut violations = Violations::default();
    if message.role.as_deref() != Some("ROLE_USER") {
        violations.add("message.role", "must be ROLE_USER");
    }
    if message.message_id.is_empty() {
        violations.add("message.messageId", "must not be empty");
    }
    let count = message.parts.len();
    if !(1..=MAX_PARTS).contains(&count) {
        let wrong = format!("must be 1 to {MAX_PARTS}, not {count}");
        violations.add("message.parts", wrong);
    }
    let mut read = TaskMessage {
        message_id: message.message_id.clone(),
        context: message.context_id.clone().filter(|id| !id.is_empty()),
        ..TaskMessage::default()
    };
    for (at, part) in message.parts.iter().take(MAX_PARTS).enumerate() {
        take(
            &mut read,
            part,
            &format!("message.parts[{at}]"),
            &mut violations,
        );
    }
    violations.unless_any(Some(read))
}

fn take(read: &mut TaskMessage, part: &Map<String, Value>, here: &str, wrong: &mut Violations) {
    let held: Vec<(&str, &Value)> = CONTENTS
        .into_iter()
        .filter_map(|name| Some((name, part.get(name)?)))
        .collect();
    let &[(name, content)] = held.as_slice() else {
        return wrong.add(here, "must hold exactly one of text, raw, url and data");
    };
    let media = part.get("mediaType").or_else(|| part.get("media_type"));
    let media = media.and_then(Value::as_str).unwrap_or_default();
    match (name, content) {
        ("text", Value::String(text)) => {
            let fits = expect(media, media.starts_with("text/"), here);
            if wrong.keep(fits).is_some() {
                wrong.keep(add_text(read, text, here));
            }
        }
        ("data", Value::Object(data)) => {
            let is_json = media == "application/json" || media.ends_with("+json");
            if wrong.keep(expect(media, is_json, here)).is_some() {
                for (field, value) in data {
                    wrong.keep(add(read, field, value, here));
                }
            }
        }
        ("raw" | "url", _) => {
            let refused = "files are not accepted, and links are not fetched; send text or data";
            wrong.keep::<()>(Err(not_taken(here, refused)));
        }
        _ => {
            let kind = if name == "text" { "text" } else { "an object" };
            wrong.add(&format!("{here}.{name}"), format!("must be {kind}"));
        }
    }
}

/// The error for unsupported content of a part.
fn not_taken(here: &str, message: impl Into<String>) -> A2aError {
    A2aError::of_field(Kind::ContentTypeNotSupported, here, message)
}

/// Checks a part's media type. An absent media type is that of the content.
fn expect(media: &str, fits: bool, here: &str) -> Result<(), A2aError> {
    if media.is_empty() || fits {
        return Ok(());
    }
    let shown: String = media.chars().take(80).collect();
    let message = format!("`{shown}` is not supported; send text/plain or application/json");
    Err(not_taken(&format!("{here}.mediaType"), message))
}

fn add_text(read: &mut TaskMessage, text: &str, here: &str) -> Result<(), A2aError> {
    if read.text.len() + text.len() > MAX_TEXT {
        let wrong = format!("the message's text is longer than {MAX_TEXT} bytes");
        return Err(A2aError::param(here, wrong));
    }
    if !read.text.is_empty() {
        read.text.push('\n');
    }
    read.text.push_str(text);
    Ok(())
}

fn add(read: &mut TaskMessage, field: &str, value: &Value, here: &str) -> Result<(), A2aError> {
    let shown: String = field.chars().take(80).collect();
    let there = format!("{here}.data.{shown}");
    let twice = || Err(A2aError::param(&there, "is duplicated"));
    if field == CONFIRM {
        let confirm: Confirm = serde_json::from_value(value.clone())
            .map_err(|_| A2aError::param(&there, "must be {\"digest\": …, \"typed\": …}"))?;
        let confirmation = Confirmation {
            digest: confirm.digest,
            typed: confirm.typed,
        };
        return match read.confirmation.replace(confirmation) {
            None => Ok(()),
            Some(_) => twice(),
        };
    }
    if !OPTION_FIELDS.contains(&field) {
        let known = OPTION_FIELDS.join(", ");
        let meant = nearest(field, OPTION_FIELDS.into_iter().chain([CONFIRM]));
        let meant = meant.map_or_else(String::new, |meant| format!(" ({meant})"));
        let wrong = format!("is unknown; a data part has {known} or {CONFIRM}{meant}");
        return Err(A2aError::param(&there, wrong));
    }
    match read.wishes.insert(field.to_owned(), value.clone()) {
        None => Ok(()),
        Some(_) => twice(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::a2a::params;

    fn parts(parts: impl serde::Serialize) -> Result<TaskMessage, A2aError> {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": parts});
        read(&params::read::<Message>(message)?)
    }

    fn code(parts_of: impl serde::Serialize) -> i64 {
        parts(parts_of).unwrap_err().rpc()["code"].as_i64().unwrap()
    }

    #[test]
    fn texts_are_joined_and_data_is_merged() {
        let read = parts(json!([
            {"text": "check the backups"}, {"data": {"skill_id": "a.b"}},
            {"text": "of today", "mediaType": "text/plain"},
            {"data": {"parameters": {"vault": "main"}}, "mediaType": "application/json"},
        ]))
        .unwrap();
        let wishes = json!({"skill_id": "a.b", "parameters": {"vault": "main"}});
        assert_eq!(read.text, "check the backups\nof today");
        assert_eq!(Value::Object(read.wishes), wishes);
    }

    #[test]
    fn inline_and_referenced_files_are_refused() {
        for file in [
            json!({"url": "http://169.254.169.254/latest", "mediaType": "text/plain"}),
            json!({"raw": "aGVsbG8=", "filename": "a.txt"}),
            json!({"text": "x", "mediaType": "image/png"}),
            json!({"data": {}, "mediaType": "application/pdf"}),
        ] {
            assert_eq!(
                code(json!([{"text": "x"}, file.clone()])),
                -32_005,
                "{file}"
            );
        }
    }

    #[test]
    fn a_part_has_exactly_one_known_content() {
        for part in [
            json!({}),
            json!({"text": "x", "data": {}}),
            json!({"text": 7}),
            json!({"text": null}),
            json!({"data": [1]}),
            json!({"data": null}),
            json!({"data": {"tenant_id": "umbra"}}),
            json!({"data": {"task": {"of": "req-x"}}}),
            json!({"data": {"confirm": "yes"}}),
        ] {
            assert_eq!(code(json!([part.clone()])), -32_602, "{part}");
        }
        assert_eq!(code(json!([])), -32_602);
        let many = vec![json!({"text": "x"}); MAX_PARTS + 1];
        assert_eq!(code(json!(many)), -32_602);
        assert_eq!(code(json!([{"text": "x".repeat(MAX_TEXT + 1)}])), -32_602);
        let twice = json!([{"data": {"dry_run": true}}, {"data": {"dry_run": false}}]);
        assert_eq!(code(twice), -32_602);
    }

    #[test]
    fn every_violation_of_a_message_is_reported() {
        let message = json!({"messageId": "", "role": "ROLE_AGENT", "parts": [
            {"data": {"skil_id": "a.b", "dry_run": true}}, {"text": 7}, {"url": "http://x/"},
        ]});
        let error = read(&params::read::<Message>(message).unwrap()).unwrap_err();
        let error = error.rpc();
        assert_eq!(error["code"], -32_602);
        let found = error["data"][1]["fieldViolations"].as_array().unwrap();
        let fields: Vec<_> = found.iter().map(|one| one["field"].clone()).collect();
        assert_eq!(
            json!(fields),
            json!([
                "message.role",
                "message.messageId",
                "message.parts[0].data.skil_id",
                "message.parts[1].text",
                "message.parts[2]",
            ])
        );
        let advice = found[2]["description"].as_str().unwrap();
        assert!(advice.ends_with("(did you mean `skill_id`?)"), "{advice}");
    }
}
