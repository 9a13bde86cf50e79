//! Notices about the routing of a request, in its answer: the model of the route `gateway` was asked and failed.

use charter_contract::agentic::response::AgentResponse;
use serde_json::{Map, Value, json};

use super::classification::Classification;
use crate::EngineError;

/// The metadata field of an answer that lists warnings.
pub(super) const WARNINGS: &str = "warnings";
/// The error detail that lists notices.
const NOTICES: &str = "notices";

impl Classification {
    /// Returns the notice about the routing, if there is one.
    fn notice(&self) -> Option<String> {
        self.verdict.gateway.as_ref()?.notice()
    }

    /// Adds the notice of the routing to an answer: to its warnings, and to its text.
    pub(super) fn note_in_answer(&self, response: &mut AgentResponse) {
        let Some(notice) = self.notice() else {
            return;
        };
        response.content.push_str("\n\nWarning: ");
        response.content.push_str(&notice);
        let metadata = &mut response.metadata.get_or_insert_default().extra;
        push(metadata, WARNINGS, &notice);
    }

    /// Adds the notice of the routing to an error's details.
    pub(super) fn note_in_error(&self, mut error: EngineError) -> EngineError {
        let Some(notice) = self.notice() else {
            return error;
        };
        let mut details = match error.details.take() {
            Some(Value::Object(details)) => details,
            Some(_) | None => Map::new(),
        };
        push(&mut details, NOTICES, &notice);
        error.with_details(Value::Object(details))
    }
}

/// Adds a text to a list field, creating the list if absent.
fn push(fields: &mut Map<String, Value>, name: &str, text: &str) {
    let list = fields.entry(name).or_insert_with(|| json!([]));
    match list {
        Value::Array(list) => list.push(json!(text)),
        other => *other = json!([text]),
    }
}

#[cfg(test)]
mod tests;
