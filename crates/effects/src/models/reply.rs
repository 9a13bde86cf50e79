//! The result of one request, and the draft in it. Must not know APIs or HTTP.

use charter_contract::foreign_schema::ForeignSchema;
use charter_contract::json::{JsonFault, Profile, decode_text};
use serde_json::Value;

use super::{ModelFault, Usage};
use crate::schema_check::check_against;

/// One answer, collected piece by piece.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reply {
    /// The model's name as the provider reports it.
    pub(super) model: Option<String>,
    /// The text of the answer.
    pub(super) text: String,
    /// The tool's input as JSON text; absent unless the model called the tool.
    pub(super) tool: Option<String>,
    /// Whether the model declined.
    pub(super) declined: bool,
    /// Why the model stopped; absent while it has not.
    pub(super) stop: Option<Stop>,
    /// Tokens, as far as reported.
    pub(super) usage: Usage,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It finished.
    Done,
    /// The token limit.
    Length,
    /// The context window was full.
    ContextFull,
    /// A filter.
    Filtered,
    /// It declined.
    Refused,
    /// An unknown reason: the answer is used as it is.
    Other,
}

/// An answer without a valid draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InvalidDraft {
    pub(super) fault: ModelFault,
    pub(super) answered: String,
    /// Its faults, each with its location.
    pub(super) wrong: Vec<String>,
}

impl Reply {
    /// Appends to the tool's input.
    pub(super) fn give_tool(&mut self, json: &str) {
        self.tool.get_or_insert_default().push_str(json);
    }

    /// Returns the text that contains the draft.
    pub(super) fn written(&self) -> &str {
        self.tool.as_deref().unwrap_or(&self.text)
    }

    /// Returns the number of bytes of the model's output.
    pub(super) fn len(&self) -> usize {
        self.text.len() + self.tool.as_ref().map_or(0, String::len)
    }

    /// Returns the fault of an incomplete or refused answer.
    pub(super) fn fault(&self) -> Option<ModelFault> {
        match self.stop {
            None => Some(ModelFault::Truncated),
            Some(Stop::Refused) => Some(ModelFault::Refused),
            Some(Stop::Filtered) => Some(ModelFault::Filtered),
            Some(Stop::Length) => Some(ModelFault::CutOff),
            Some(Stop::ContextFull) => Some(ModelFault::ContextTooLong),
            Some(Stop::Done | Stop::Other) if self.declined => Some(ModelFault::Refused),
            Some(Stop::Done | Stop::Other) => None,
        }
    }

    /// Returns the draft, if it is one JSON value that conforms to the schema.
    pub(super) async fn draft(&self, schema: &ForeignSchema) -> Result<Value, InvalidDraft> {
        let answered = match self.tool.as_deref() {
            // A call without parameters.
            Some("") => "{}",
            Some(_) | None => self.written(),
        };
        let no_draft = |fault, wrong| InvalidDraft {
            fault,
            answered: answered.to_owned(),
            wrong,
        };
        let draft: Value = decode_text(unfenced(answered), Profile::DRAFT).map_err(|fault| {
            let wrong = match fault {
                JsonFault::TooMuch(much) => format!("/: it {much}"),
                JsonFault::Form(error) => format!("/: it is not one JSON value: {error}"),
            };
            no_draft(ModelFault::Malformed, vec![wrong])
        })?;
        let (draft, violations) = check_against(schema, draft).await;
        if violations.is_empty() {
            return Ok(draft);
        }
        let wrong = violations.iter().map(ToString::to_string).collect();
        Err(no_draft(ModelFault::SchemaViolated, wrong))
    }
}

/// Removes the fence that models put around code.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inside = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"))
        .and_then(|rest| rest.strip_suffix("```"));
    inside.unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply(text: &str, stop: Option<Stop>) -> Reply {
        Reply {
            text: text.to_owned(),
            stop,
            ..Reply::default()
        }
    }

    #[test]
    fn an_answer_is_used_only_if_the_model_finished() {
        let faults = [
            (None, Some(ModelFault::Truncated)),
            (Some(Stop::Done), None),
            (Some(Stop::Other), None),
            (Some(Stop::Length), Some(ModelFault::CutOff)),
            (Some(Stop::ContextFull), Some(ModelFault::ContextTooLong)),
            (Some(Stop::Filtered), Some(ModelFault::Filtered)),
            (Some(Stop::Refused), Some(ModelFault::Refused)),
        ];
        for (stop, fault) in faults {
            assert_eq!(reply("{}", stop).fault(), fault, "{stop:?}");
        }
        let mut declined = reply("", Some(Stop::Done));
        declined.declined = true;
        assert_eq!(declined.fault(), Some(ModelFault::Refused));
    }

    #[tokio::test]
    async fn a_draft_is_one_json_value_that_satisfies_the_schema() {
        let schema = json!({"type": "object", "required": ["ready"], "additionalProperties": false,
            "properties": {"ready": {"type": "boolean"}}});
        let schema = &ForeignSchema::from(schema.as_object().unwrap().clone());
        for text in [
            "{\"ready\": true}",
            " \n{\"ready\": true}\n",
            "```json\n{\"ready\": true}\n```",
            "```\n{\"ready\": true}```",
        ] {
            let draft = reply(text, Some(Stop::Done)).draft(schema).await;
            assert_eq!(draft, Ok(json!({"ready": true})), "{text:?}");
        }
        for text in ["", "yes", "{\"ready\": true", "{\"ready\": true} {}"] {
            let draft = reply(text, Some(Stop::Done)).draft(schema).await;
            assert_eq!(draft.unwrap_err().fault, ModelFault::Malformed, "{text:?}");
        }
        // Seven bytes a value, half a KiB of memory each.
        let deep = "[".repeat(49) + &"]".repeat(49);
        let heavy = format!("[{}0]", "{\"\":0},".repeat(100_000));
        for (text, wrong) in [
            (deep, "/: it nests more than 48 levels deep; flatten it"),
            (
                heavy,
                "/: it has so many values that it takes more than 16777216 bytes of memory; send fewer",
            ),
        ] {
            let none = reply(&text, Some(Stop::Done)).draft(schema).await;
            let none = none.unwrap_err();
            assert_eq!(none.fault, ModelFault::Malformed);
            assert_eq!(none.wrong, [wrong]);
        }
        let called = |given: &str| Reply {
            tool: Some(given.to_owned()),
            ..reply("{\"ready\": false}", Some(Stop::Done))
        };
        let given = called("{\"ready\": true}").draft(schema).await;
        assert_eq!(given, Ok(json!({"ready": true})));
        let nothing = called("").draft(schema).await.unwrap_err();
        assert_eq!(nothing.fault, ModelFault::SchemaViolated);
        let other = reply("{\"ready\": 1, \"x\": 2}", Some(Stop::Done));
        let other = other.draft(schema).await.unwrap_err();
        assert_eq!(other.fault, ModelFault::SchemaViolated);
        assert_eq!(other.wrong.len(), 2, "{other:?}");
    }
}
