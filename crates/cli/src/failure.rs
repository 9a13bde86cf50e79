//! How commands fail: a message on stderr, what to do, and an exit code.

use std::process::ExitCode;

use charter_contract::error_code::ErrorCode;
use charter_engine::{EngineError, Problem};
use serde_json::Value;

use crate::output;

/// Everything went as asked.
pub(crate) const EXIT_OK: u8 = 0;
/// The answer is no: a document is invalid, a package differs, a check found something.
pub(crate) const EXIT_NEGATIVE: u8 = 1;
/// The command could not do its work.
pub(crate) const EXIT_ERROR: u8 = 2;

/// A failure that the server or engine reported, with its public code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Reported {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) details: Value,
}

impl Reported {
    /// Reads an `AgentError`.
    pub(crate) fn from_body(body: &Value) -> Option<Self> {
        let text = |field: &str| body.get(field).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            code: text("error_code")?,
            message: text("user_message")?,
            hint: body
                .pointer("/recommended_actions/0/description")
                .and_then(Value::as_str)
                .map(str::to_owned),
            details: body.get("technical_details").cloned().unwrap_or_default(),
        })
    }
}

impl From<EngineError> for Reported {
    fn from(error: EngineError) -> Self {
        Self {
            code: error.code.as_str().to_owned(),
            hint: Some(error.code.hint().to_owned()),
            message: error.to_string(),
            details: error.details.unwrap_or_default(),
        }
    }
}

impl Reported {
    /// A failure of the command itself that has a public code.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.as_str().to_owned(),
            message: message.into(),
            hint: Some(code.hint().to_owned()),
            details: Value::Null,
        }
    }
}

/// Says what failed and gives the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<Reported>() {
        Some(reported) => {
            eprintln!("error[{}]: {}", reported.code, reported.message);
            if let Some(problems) = problems(&reported.details) {
                eprint!("{}", output::problems(&problems));
            }
            if let Some(hint) = &reported.hint {
                eprintln!("  hint: {hint}");
            }
        }
        None => eprintln!("error: {error:#}"),
    }
    ExitCode::from(EXIT_ERROR)
}

fn problems(details: &Value) -> Option<Vec<Problem>> {
    serde_json::from_value(details.get("problems")?.clone()).ok()
}
