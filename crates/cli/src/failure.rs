//! How commands fail: an error on standard error, a hint, and an exit code. With `--output json` the error is an
//! `AgentError` on one line, as the API returns it.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io;

use charter_contract::agentic::error::{
    AgentError, ErrorType, RecommendedAction, RecommendedActionType,
};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ErrorId, RequestId};
use charter_contract::violation::Violation;
use charter_domain::clock::{Clock, SystemClock};
use charter_domain::parameters::ProposedValue;
use charter_engine::{EngineError, Problem};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::messages::{self, Form};
use crate::output::{self, OutputClosed};

/// The command succeeded.
pub(crate) const EXIT_OK: u8 = 0;
/// The answer is no: a document is invalid, a package differs, a check found something.
pub(crate) const EXIT_NEGATIVE: u8 = 1;
/// The command could not do its work.
pub(crate) const EXIT_ERROR: u8 = 2;
/// The work waits for a person: for parameters, a confirmation or an approval.
pub(crate) const EXIT_WAITING: u8 = 3;
/// The reader of the output closed it before its end: 128 and SIGPIPE, as shells report it.
pub(crate) const EXIT_OUTPUT_CLOSED: u8 = 141;

/// The detail that lists the values which memories propose for missing parameters.
pub(crate) const PROPOSALS: &str = "proposals";

/// The hint for a server that does not answer.
const NO_SERVER: &str = "Start the server, or name a running one with --server.";

/// The hint for a defect.
const DEFECT: &str = "Report this message; RUST_BACKTRACE=1 adds a backtrace.";

/// The context of a request that a server did not answer.
#[derive(Debug, thiserror::Error)]
#[error("connecting to {server}")]
pub(crate) struct UnansweredRequest {
    pub(crate) server: String,
}

/// A failure that the server or engine reported, with its public code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ReportedFailure {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) details: Value,
    /// The server's `AgentError`; `None` if the failure arose in this process.
    pub(crate) sent: Option<Value>,
}

impl ReportedFailure {
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
            sent: Some(body.clone()),
        })
    }
}

impl From<EngineError> for ReportedFailure {
    fn from(error: EngineError) -> Self {
        Self {
            code: error.code.as_str().to_owned(),
            hint: Some(error.code.hint().to_owned()),
            message: error.to_string(),
            details: error.details.unwrap_or_default(),
            sent: None,
        }
    }
}

impl ReportedFailure {
    /// A failure of the command itself that has a public code.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.as_str().to_owned(),
            message: message.into(),
            hint: Some(code.hint().to_owned()),
            details: Value::Null,
            sent: None,
        }
    }

    /// Replaces the hint.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn as_json(&self) -> Value {
        let Some(mut sent) = self.sent.clone() else {
            let code: Option<ErrorCode> = self.code.parse().ok();
            let kind = code.map_or(ErrorType::InputError, ErrorCode::error_type);
            let hint = self.hint.as_deref();
            return agent_error(kind, code, &self.message, hint, &self.details);
        };
        let first = sent.pointer_mut("/recommended_actions/0/description");
        if let (Some(hint), Some(description)) = (&self.hint, first) {
            *description = json!(hint);
        }
        sent
    }

    fn as_text(&self) -> String {
        let head = format!("error[{}]: {}", self.code, self.message);
        let mut text = messages::wrapped(&head) + "\n";
        let violations: Vec<Violation> = self.listed("violations");
        // The message already contains a single violation.
        if violations.len() > 1 {
            let lines = violations.iter().map(|violation| format!("  {violation}"));
            let lines = lines.map(|line| messages::wrapped(&line) + "\n");
            text.extend(lines);
        }
        let proposals: Vec<ProposedValue> = self.listed(PROPOSALS);
        let lines = proposals.iter().map(|proposed| format!("  {proposed}"));
        text.extend(lines.map(|line| messages::wrapped(&line) + "\n"));
        let notices: Vec<String> = self.listed("notices");
        let lines = notices.iter().map(|notice| format!("  note: {notice}"));
        text.extend(lines.map(|line| messages::wrapped(&line) + "\n"));
        let problems: Vec<Problem> = self.listed("problems");
        text += &output::problems(&problems);
        let sent = self.sent.as_ref();
        let id = sent.and_then(|sent| sent["error_id"].as_str());
        if let (Some(id), true) = (id, self.code == ErrorCode::Internal.as_str()) {
            text += &format!("  error id: {id}\n");
        }
        text + &hinted(self.hint.as_deref())
    }

    /// A list among the details; empty where there is none.
    pub(crate) fn listed<T: DeserializeOwned>(&self, field: &str) -> Vec<T> {
        let list = self.details.get(field).cloned().unwrap_or_default();
        serde_json::from_value(list).unwrap_or_default()
    }
}

/// Reports a failure and returns the exit code. If only the reader of the output has gone, reports nothing.
pub(crate) fn report(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<OutputClosed>().is_some() {
        return EXIT_OUTPUT_CLOSED;
    }
    print_failure(error);
    EXIT_ERROR
}

/// Writes the error to standard error.
pub(crate) fn print_failure(error: &anyhow::Error) {
    messages::line(&match messages::form() {
        Form::Text => as_text(error),
        Form::JsonLines => as_json(error).to_string(),
    });
}

/// Reports each panic as an error. The process continues where it catches the panic.
pub(crate) fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let said = payload.downcast_ref::<&str>().copied();
        let said = said.or(payload.downcast_ref::<String>().map(String::as_str));
        let place = panic.location().map(ToString::to_string);
        let trace = Backtrace::capture();
        let trace = (trace.status() == BacktraceStatus::Captured).then(|| trace.to_string());
        let defect = defect(
            said.unwrap_or("no message"),
            &place.unwrap_or_default(),
            trace.as_deref(),
        );
        print_failure(&defect.into());
        if let (Some(trace), Form::Text) = (trace, messages::form()) {
            messages::line(&trace);
        }
    }));
}

fn defect(said: &str, place: &str, trace: Option<&str>) -> ReportedFailure {
    let message = format!("charter panicked at {place}: {said}");
    ReportedFailure {
        details: json!({"panicked_at": place, "backtrace": trace}),
        ..ReportedFailure::new(ErrorCode::Internal, message).with_hint(DEFECT)
    }
}

fn as_text(error: &anyhow::Error) -> String {
    let text = match error.downcast_ref::<ReportedFailure>() {
        Some(reported) => reported.as_text(),
        None => {
            let (_, code) = kind(error);
            let head = match code {
                Some(code) => format!("error[{code}]: {error:#}"),
                None => format!("error: {error:#}"),
            };
            messages::wrapped(&head) + "\n" + &hinted(hint(code))
        }
    };
    text.trim_end().to_owned()
}

fn as_json(error: &anyhow::Error) -> Value {
    match error.downcast_ref::<ReportedFailure>() {
        Some(reported) => reported.as_json(),
        None => {
            let (kind, code) = kind(error);
            agent_error(kind, code, &format!("{error:#}"), hint(code), &Value::Null)
        }
    }
}

fn hinted(hint: Option<&str>) -> String {
    let hint = hint.map(|hint| messages::wrapped(&format!("  hint: {hint}")));
    hint.unwrap_or_default()
}

/// The type and code of a failure of this process that has no public code.
fn kind(error: &anyhow::Error) -> (ErrorType, Option<ErrorCode>) {
    let coded = |code: ErrorCode| (code.error_type(), Some(code));
    if error.downcast_ref::<UnansweredRequest>().is_some() {
        return coded(ErrorCode::Unavailable);
    }
    let failed = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<io::Error>());
    match failed.map(io::Error::kind) {
        Some(io::ErrorKind::StorageFull) => coded(ErrorCode::StorageFull),
        Some(_) => (ErrorType::ResourceError, None),
        None => (ErrorType::InputError, None),
    }
}

fn hint(code: Option<ErrorCode>) -> Option<&'static str> {
    match code? {
        ErrorCode::Unavailable => Some(NO_SERVER),
        code => Some(code.hint()),
    }
}

/// An error of this process as an `AgentError`.
fn agent_error(
    error_type: ErrorType,
    code: Option<ErrorCode>,
    message: &str,
    hint: Option<&str>,
    details: &Value,
) -> Value {
    let Ok(clock) = SystemClock::start() else {
        return json!({"error_type": error_type, "user_message": message});
    };
    let mut details = details.as_object().cloned().unwrap_or_default();
    if let Some(code) = code {
        details.insert("documentation".to_owned(), code.documentation().into());
    }
    let action = |hint: &str| RecommendedAction {
        description: hint.to_owned(),
        action_type: RecommendedActionType::UserAction,
        details: None,
        extra: Map::new(),
    };
    json!(AgentError {
        error_id: ErrorId::from_uuid(Uuid::now_v7()),
        request_id: RequestId::from_uuid(Uuid::now_v7()),
        timestamp: clock.now(),
        error_type,
        error_code: code.map(|code| code.as_str().to_owned()),
        user_message: message.to_owned(),
        technical_details: Some(details).filter(|details| !details.is_empty()),
        recommended_actions: hint.map(|hint| vec![action(hint)]),
        extra: Map::new(),
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use charter_contract::registry::validate;
    use charter_contract::schema::SchemaName;

    use super::*;

    /// The error as JSON without the parts that vary; checked against its contract.
    fn shown(error: &anyhow::Error) -> Value {
        let mut shown = as_json(error);
        assert_eq!(validate(SchemaName::AgentError, &shown), [], "{shown:#}");
        let fields = shown.as_object_mut().unwrap();
        for field in ["error_id", "request_id", "timestamp"] {
            assert!(fields.remove(field).is_some(), "{field}");
        }
        shown
    }

    fn actions(hint: &str) -> Value {
        json!([{"description": hint, "action_type": "user_action"}])
    }

    #[test]
    fn each_failure_is_an_agent_error_in_json() {
        let own = ReportedFailure::new(ErrorCode::TooLarge, "too much").with_hint("Send less.");
        assert_eq!(
            shown(&own.into()),
            json!({
                "error_type": "input_error", "error_code": "too_large", "user_message": "too much",
                "technical_details": {"documentation": "docs/errors/too_large.md"},
                "recommended_actions": actions("Send less."),
            })
        );
        let absent = io::Error::from(io::ErrorKind::NotFound);
        let unread = anyhow::Error::new(absent).context("reading a.yaml");
        let message = "reading a.yaml: entity not found";
        assert_eq!(
            shown(&unread),
            json!({"error_type": "resource_error", "user_message": message})
        );
        assert_eq!(as_text(&unread), format!("error: {message}"));
        let wrong = anyhow::anyhow!("name a file");
        assert_eq!(
            shown(&wrong),
            json!({"error_type": "input_error", "user_message": "name a file"})
        );
    }

    #[test]
    fn a_server_that_does_not_answer_is_unavailable() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let server = "http://127.0.0.1:1".to_owned();
        let asked: Result<(), _> = Err(refused);
        let error = asked
            .with_context(|| UnansweredRequest { server })
            .unwrap_err();
        assert_eq!(shown(&error)["error_code"], "unavailable");
        assert_eq!(
            as_text(&error),
            format!(
                "error[unavailable]: connecting to http://127.0.0.1:1: connection refused\n  hint: {NO_SERVER}"
            )
        );
    }

    #[test]
    fn the_error_of_a_server_is_passed_on_with_the_hint_of_this_command() {
        let sent = agent_error(
            ErrorType::SystemError,
            Some(ErrorCode::Internal),
            "an internal error",
            Some("Report it."),
            &json!({"run_id": "run-1"}),
        );
        let mut reported = ReportedFailure::from_body(&sent).unwrap();
        let id = sent["error_id"].as_str().unwrap();
        assert_eq!(
            reported.as_text(),
            format!("error[internal]: an internal error\n  error id: {id}\n  hint: Report it.")
        );
        assert_eq!(reported.as_json(), sent);
        reported.hint = Some("Look at the log.".to_owned());
        let mut expected = sent.clone();
        expected["recommended_actions"] = actions("Look at the log.");
        assert_eq!(reported.as_json(), expected);
    }

    #[test]
    fn each_violation_is_shown_where_there_are_several() {
        let violation = |pointer: &str| json!({"stage": "schema", "pointer": pointer, "keyword": "type", "message": "must be text"});
        let mut reported =
            ReportedFailure::new(ErrorCode::InvalidRequest, "/a: must be text, and 1 more");
        reported.hint = None;
        reported.details = json!({"violations": [violation("/a"), violation("/b")]});
        assert_eq!(
            reported.as_text(),
            "error[invalid_request]: /a: must be text, and 1 more\n  /a: must be text\n  /b: must be text\n"
        );
    }

    /// A value that a memory proposes for a missing parameter is shown with its source.
    #[test]
    fn proposed_values_are_shown_with_their_memories() {
        let memory = "mem-01930000-0000-7000-8000-000000000001";
        let mut reported =
            ReportedFailure::new(ErrorCode::MissingParameters, "`region` is missing");
        reported.hint = None;
        reported.details = json!({"missing": ["region"], "proposals": [{
            "parameter": "region", "value": "us-east-1", "memory_id": memory, "title": "Where we are",
            "words": "region is us-east-1",
        }]});
        assert_eq!(
            reported.as_text(),
            format!(
                "error[missing_parameters]: `region` is missing\n  The memory \"Where we are\" ({memory}) proposes region = \
                 \"us-east-1\" (\"region is us-east-1\").\n"
            )
        );
    }

    #[test]
    fn a_panic_is_an_internal_error_with_its_place() {
        let error = defect("no entry", "crates/x.rs:1:2", None).into();
        let message = "charter panicked at crates/x.rs:1:2: no entry";
        assert_eq!(
            as_text(&error),
            format!("error[internal]: {message}\n  hint: {DEFECT}")
        );
        let shown = shown(&error);
        assert_eq!(
            (&shown["error_type"], &shown["user_message"]),
            (&json!("system_error"), &json!(message))
        );
        assert_eq!(shown["technical_details"]["panicked_at"], "crates/x.rs:1:2");
    }

    #[test]
    fn a_reader_who_has_gone_is_no_failure() {
        let gone = anyhow::Error::from(OutputClosed).context("writing the answer");
        assert_eq!(report(&gone), EXIT_OUTPUT_CLOSED);
        assert_eq!(report(&anyhow::anyhow!("wrong")), EXIT_ERROR);
    }
}
