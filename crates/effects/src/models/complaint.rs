//! A provider's error ("OpenAI API reference: Error codes"; "Claude API reference: Errors"), and its kind of failure.
//! Sends nothing.

use charter_contract::json::{Profile, decode_text};
use charter_contract::visible::clean;
use reqwest::StatusCode;
use serde_json::Value;

use super::ModelFault;
use crate::redact::Redactor;

/// Characters of a provider's message that are kept.
const KEPT_CHARACTERS: usize = 400;

/// A provider's error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) fault: ModelFault,
    /// The provider's message.
    words: String,
}

impl Complaint {
    /// Reads the body of an answer whose status is not a success.
    pub(super) fn from_response(status: StatusCode, body: &str) -> Self {
        let value = decode_text::<Value>(body, Profile::NOTICE).unwrap_or_default();
        let error = value.get("error").unwrap_or(&value);
        let fault = by_code(error)
            .or_else(|| by_message(status, error))
            .unwrap_or_else(|| by_status(status));
        let words = message(error).unwrap_or(body);
        Self {
            fault,
            words: format!("{status}: {words}"),
        }
    }

    /// Reads an error inside a stream that began successfully.
    pub(super) fn inside(error: &Value) -> Self {
        let status = error.get("code").and_then(Value::as_u64);
        let status = status.and_then(|code| StatusCode::from_u16(u16::try_from(code).ok()?).ok());
        let fault = by_code(error).or_else(|| status.map(by_status));
        Self {
            fault: fault.unwrap_or(ModelFault::Broken),
            words: message(error).map_or_else(|| error.to_string(), str::to_owned),
        }
    }

    /// Describes an answer that is not in the form of the API.
    pub(super) fn nonsense(data: &str) -> Self {
        Self {
            fault: ModelFault::Malformed,
            words: data.to_owned(),
        }
    }

    /// Returns the message for operators. Messages about keys are left out, because they may quote parts of them.
    pub(super) fn detail(&self, redactor: &Redactor) -> Option<String> {
        match self.fault {
            ModelFault::Authentication | ModelFault::Permission => None,
            _ => Some(clean(&redactor.apply(&self.words), KEPT_CHARACTERS)),
        }
    }
}

fn message(error: &Value) -> Option<&str> {
    error.get("message").and_then(Value::as_str)
}

/// Classifies by error codes that are more specific than the status. `invalid_request_error` and the like are less
/// specific: OpenAI's API also uses it for wrong keys.
fn by_code(error: &Value) -> Option<ModelFault> {
    let word = |field: &str| error.get(field).and_then(Value::as_str);
    word("code")
        .and_then(by_word)
        .or_else(|| word("type").and_then(by_word))
}

fn by_word(word: &str) -> Option<ModelFault> {
    Some(match word {
        "context_length_exceeded" | "exceed_context_size_error" | "request_too_large" => {
            ModelFault::ContextTooLong
        }
        "insufficient_quota" | "billing_error" | "billing_hard_limit_reached" => {
            ModelFault::Billing
        }
        "content_filter" | "content_policy_violation" => ModelFault::Filtered,
        "invalid_api_key" | "authentication_error" => ModelFault::Authentication,
        "permission_error" => ModelFault::Permission,
        "model_not_found" | "not_found_error" => ModelFault::UnknownModel,
        "rate_limit_exceeded" | "rate_limit_error" => ModelFault::RateLimited,
        "overloaded_error" => ModelFault::Overloaded,
        "timeout_error" => ModelFault::Timeout,
        _ => return None,
    })
}

/// Classifies by messages, for faults that some providers report only in prose.
fn by_message(status: StatusCode, error: &Value) -> Option<ModelFault> {
    if status != StatusCode::BAD_REQUEST {
        return None;
    }
    let said = message(error)?.to_ascii_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| said.contains(phrase));
    if says(&[
        "prompt is too long",
        "maximum context length",
        "context size",
    ]) {
        return Some(ModelFault::ContextTooLong);
    }
    says(&["credit balance is too low"]).then_some(ModelFault::Billing)
}

fn by_status(status: StatusCode) -> ModelFault {
    match status.as_u16() {
        300..=399 => ModelFault::Redirected,
        401 => ModelFault::Authentication,
        402 => ModelFault::Billing,
        403 => ModelFault::Permission,
        404 => ModelFault::UnknownModel,
        408 | 504 => ModelFault::Timeout,
        413 => ModelFault::ContextTooLong,
        429 => ModelFault::RateLimited,
        503 | 529 => ModelFault::Overloaded,
        500..=599 => ModelFault::Broken,
        _ => ModelFault::InvalidRequest,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_specific_message_overrides_the_status() {
        let fault = |status: u16, body: &str| {
            Complaint::from_response(StatusCode::from_u16(status).unwrap(), body).fault
        };
        let quota = r#"{"error": {"type": "insufficient_quota", "code": "insufficient_quota"}}"#;
        assert_eq!(fault(429, quota), ModelFault::Billing);
        let limit = r#"{"error": {"type": "tokens", "code": "rate_limit_exceeded"}}"#;
        assert_eq!(fault(429, limit), ModelFault::RateLimited);
        let key = r#"{"error": {"type": "invalid_request_error", "code": "invalid_api_key"}}"#;
        assert_eq!(fault(401, key), ModelFault::Authentication);
        let vague = r#"{"error": {"type": "invalid_request_error", "code": null}}"#;
        assert_eq!(fault(500, vague), ModelFault::Broken);
        let poor = r#"{"type": "error", "error": {"type": "invalid_request_error",
            "message": "Your credit balance is too low to access the API."}}"#;
        assert_eq!(fault(400, poor), ModelFault::Billing);
        for (status, expected) in [
            (302, ModelFault::Redirected),
            (400, ModelFault::InvalidRequest),
            (402, ModelFault::Billing),
            (408, ModelFault::Timeout),
            (418, ModelFault::InvalidRequest),
            (502, ModelFault::Broken),
            (504, ModelFault::Timeout),
        ] {
            assert_eq!(fault(status, "<html>no JSON</html>"), expected, "{status}");
        }
    }

    /// Inside a stream there is no status, so every code counts.
    #[test]
    fn stream_failures_are_classified_by_words_or_number() {
        let inside = |error: Value| Complaint::inside(&error).fault;
        for (word, fault) in [
            ("request_too_large", ModelFault::ContextTooLong),
            ("exceed_context_size_error", ModelFault::ContextTooLong),
            ("billing_error", ModelFault::Billing),
            ("content_filter", ModelFault::Filtered),
            ("authentication_error", ModelFault::Authentication),
            ("permission_error", ModelFault::Permission),
            ("not_found_error", ModelFault::UnknownModel),
            ("rate_limit_error", ModelFault::RateLimited),
            ("overloaded_error", ModelFault::Overloaded),
            ("timeout_error", ModelFault::Timeout),
            ("api_error", ModelFault::Broken),
        ] {
            assert_eq!(inside(json!({"type": word})), fault, "{word}");
            assert_eq!(inside(json!({"code": word})), fault, "{word}");
        }
        assert_eq!(inside(json!({"code": 503})), ModelFault::Overloaded);
        assert_eq!(inside(json!({"code": 70_000})), ModelFault::Broken);
        assert_eq!(inside(json!("what")), ModelFault::Broken);
    }

    #[test]
    fn b003_3_messages_for_operators_are_bounded_and_contain_no_key() {
        let redactor = Redactor::new(&[("THE_KEY".to_owned(), "sk-secret-value".to_owned())]);
        let body = format!("sent sk-secret-value \u{1b}[31m{}", "x".repeat(1_000));
        let complaint = Complaint::from_response(StatusCode::BAD_REQUEST, &body);
        let detail = complaint.detail(&redactor).unwrap();
        assert!(
            detail.starts_with("400 Bad Request: sent [redacted:THE_KEY] [31mxxx"),
            "{detail}"
        );
        assert_eq!(detail.chars().count(), KEPT_CHARACTERS + 1);
        let about_key = r#"{"error": {"message": "Incorrect API key provided: sk-s****lue."}}"#;
        let complaint = Complaint::from_response(StatusCode::UNAUTHORIZED, about_key);
        assert_eq!(complaint.detail(&redactor), None);
    }
}
