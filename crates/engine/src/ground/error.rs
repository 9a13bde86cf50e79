//! The engine's single error type: a public code, a message that is safe to show, and the cause.

use std::error::Error as StdError;

use charter_contract::error_code::ErrorCode;
use charter_contract::validate::nearest;
use charter_contract::violation::Violation;
use charter_domain::parameters::ParameterFault;
use charter_domain::run::MissingAccount;
use charter_effects::ModelFailure;
use charter_search::QueryError;
use charter_store::StoreError;
use charter_store::page::PageRequest;
use serde::Deserialize;
use serde_json::{Value, json};

/// The detail that lists existing ids for an unknown one, and the detail that counts the rest.
const KNOWN: &str = "known";
const MORE: &str = "more";

/// Maximum ids that an error lists.
pub(crate) const MOST_KNOWN: usize = 20;

/// The page of the newest records that a caller sees, for an error that lists their ids.
pub(crate) fn newest_known() -> PageRequest {
    PageRequest::new(None, MOST_KNOWN)
}

/// The detail with violations.
const VIOLATIONS: &str = "violations";

/// A failed use case.
///
/// `Display` is safe to show to a client: no secrets, no internal paths. The cause is in `source()` and belongs in the
/// log.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// The kind of failure for clients.
    pub code: ErrorCode,
    /// The attempted operation and the problem.
    pub message: String,
    /// Machine-readable details: the problems of a package, the candidates of a verdict.
    pub details: Option<Value>,
    #[source]
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl EngineError {
    /// The error of an operation that the engine's shutdown cut off.
    pub(crate) fn interrupted() -> Self {
        let message = "the server is stopping; this continues after its restart";
        Self::new(ErrorCode::Unavailable, message)
    }

    /// Creates a failure with its message.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
            source: None,
        }
    }

    /// Adds machine-readable details.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Adds the account that a call lacked to the details.
    #[must_use]
    pub fn lacking(mut self, account: &MissingAccount) -> Self {
        let details = self.details.get_or_insert_with(|| json!({}));
        details["credential"] = json!(account.credential);
        if let Some(url) = &account.connect_url {
            details["connect_url"] = json!(url);
        }
        self
    }

    /// Returns the account that a call lacked, if that is the failure.
    #[must_use]
    pub fn missing_account(&self) -> Option<MissingAccount> {
        let details = self.details.as_ref();
        let details = details.filter(|_| self.code == ErrorCode::CredentialRequired);
        MissingAccount::deserialize(details?).ok()
    }

    /// Adds the cause.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(cause.into());
        self
    }

    /// Returns whether a repeat may succeed: storage did not answer, or the server is stopping or overloaded. Errors
    /// about the data that was read, damaged records for example, remain.
    pub(crate) fn is_transient(&self) -> bool {
        let mut cause = StdError::source(self);
        while let Some(error) = cause {
            if let Some(stored) = error.downcast_ref::<StoreError>() {
                return matches!(
                    stored,
                    StoreError::Full { .. }
                        | StoreError::Engine { .. }
                        | StoreError::Locked { .. }
                        | StoreError::NewerSchema { .. }
                        | StoreError::EarlierLayout { .. }
                        | StoreError::Closed
                );
            }
            cause = error.source();
        }
        matches!(self.code, ErrorCode::Unavailable | ErrorCode::Overloaded)
    }

    /// The error for a kind and id that do not exist for this caller. The details name the kind.
    #[must_use]
    pub fn not_found(what: &str, id: impl std::fmt::Display) -> Self {
        let message = format!("there is no {what} `{id}`");
        Self::new(ErrorCode::NotFound, message).with_details(json!({"what": what}))
    }

    /// Suggests the nearest visible name, if one is near enough to be a typing error. Names that are not visible to the
    /// caller are not considered. The details list the visible names.
    #[must_use]
    pub fn or_nearest<'c>(mut self, given: &str, seen: impl IntoIterator<Item = &'c str>) -> Self {
        let seen: Vec<&str> = seen.into_iter().collect();
        if let Some(meant) = nearest(given, seen.iter().copied()) {
            self.message = format!("{}; {meant}", self.message);
        }
        self.knowing(seen)
    }

    /// Lists in the details the first ids that are visible to the caller, and counts the rest.
    #[must_use]
    pub fn knowing<'c>(mut self, seen: impl IntoIterator<Item = &'c str>) -> Self {
        let mut seen = seen.into_iter().filter(|id| !id.starts_with('_'));
        let known: Vec<&str> = seen.by_ref().take(MOST_KNOWN).collect();
        if known.is_empty() {
            return self;
        }
        let more = seen.count();
        let details = self.details.get_or_insert_with(|| json!({}));
        details[KNOWN] = json!(known);
        if more > 0 {
            details[MORE] = json!(more);
        }
        self
    }

    /// Returns the ids that [`EngineError::knowing`] listed, and the number of the others.
    #[must_use]
    pub fn known_ids(&self) -> (Vec<&str>, u64) {
        let detail = |name: &str| self.details.as_ref().and_then(|of| of.get(name));
        let known = detail(KNOWN).and_then(Value::as_array);
        let known = known.into_iter().flatten().filter_map(Value::as_str);
        let more = detail(MORE).and_then(Value::as_u64);
        (known.collect(), more.unwrap_or_default())
    }

    /// The error for values that do not fit a declaration, with every fault.
    #[must_use]
    pub(crate) fn parameters(of: &str, faults: &[ParameterFault]) -> Self {
        let missing = |fault: &ParameterFault| {
            matches!(
                fault,
                ParameterFault::Missing { .. } | ParameterFault::Unclear(_)
            )
        };
        let code = if faults.iter().any(missing) {
            ErrorCode::MissingParameters
        } else {
            ErrorCode::InvalidParameters
        };
        let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let mut details = json!({"parameters": said});
        let names = faults.iter().filter_map(|fault| match fault {
            ParameterFault::Missing { name, .. } => Some(name.as_str()),
            ParameterFault::Unclear(unclear) => Some(unclear.parameter.as_str()),
            ParameterFault::Unknown { .. }
            | ParameterFault::Type { .. }
            | ParameterFault::NotAllowed { .. }
            | ParameterFault::Pattern { .. }
            | ParameterFault::LongForPattern { .. }
            | ParameterFault::Schema { .. } => None,
        });
        let names: Vec<&str> = names.collect();
        if !names.is_empty() {
            details["missing"] = json!(names);
        }
        Self::new(code, format!("{of}: {}", said.join("; "))).with_details(details)
    }

    /// The error for a document that violates its contract or cannot be executed, with every violation.
    #[must_use]
    pub fn violations(name: &str, violations: &[Violation]) -> Self {
        let message = format!("invalid {name}: {}", listed(violations));
        Self::new(ErrorCode::InvalidDocument, message).with_details(json!({VIOLATIONS: violations}))
    }

    /// The error for an input (`what`) with an invalid form or meaning, with every violation.
    #[must_use]
    pub fn unfit(what: &str, violations: &[Violation]) -> Self {
        let message = format!("{what} cannot be read: {}", listed(violations));
        Self::new(ErrorCode::InvalidRequest, message).with_details(json!({VIOLATIONS: violations}))
    }

    /// Refuses an input with violations.
    ///
    /// # Errors
    /// [`EngineError::unfit`].
    pub(crate) fn must_be_none(what: &str, violations: &[Violation]) -> Result<(), Self> {
        if violations.is_empty() {
            return Ok(());
        }
        Err(Self::unfit(what, violations))
    }

    /// Returns the error for another input, `what`, with the pointers of its violations mapped by `place`.
    #[must_use]
    pub fn as_sent(self, what: &str, place: impl Fn(&str) -> String) -> Self {
        let mut violations = self.violations_found();
        if violations.is_empty() {
            return self;
        }
        for violation in &mut violations {
            violation.pointer = place(&violation.pointer);
        }
        Self {
            code: self.code,
            ..Self::unfit(what, &violations)
        }
    }

    /// Returns the violations, if these are the cause.
    #[must_use]
    pub fn violations_found(&self) -> Vec<Violation> {
        let found = self.details.as_ref().and_then(|of| of.get(VIOLATIONS));
        let found = found.map(Vec::<Violation>::deserialize);
        found.and_then(Result::ok).unwrap_or_default()
    }

    /// The error for a failure that the caller cannot fix.
    #[must_use]
    pub fn internal(doing: &str, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(
            ErrorCode::Internal,
            format!("an internal error while {doing}"),
        )
        .caused_by(cause)
    }
}

/// Formats the first violation, and the number of further ones.
fn listed(violations: &[Violation]) -> String {
    let first = violations
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    match violations.len() {
        0 | 1 => first,
        count => format!("{first}, and {} more", count - 1),
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        let (code, message) = match &error {
            StoreError::AlreadyExists { what, id } => (
                ErrorCode::AlreadyExists,
                format!("the {what} `{id}` already exists"),
            ),
            StoreError::NotFound { what, id } => {
                return Self::not_found(what, id).caused_by(error);
            }
            StoreError::VersionConflict { what, .. } => (
                ErrorCode::VersionConflict,
                format!("conflict: the {what} was changed concurrently"),
            ),
            StoreError::Full { doing, .. } => (
                ErrorCode::StorageFull,
                format!("the storage device is full while {doing}; nothing was written"),
            ),
            StoreError::Locked { .. } => (
                ErrorCode::DataDirectoryLocked,
                "the data directory is used by another process".to_owned(),
            ),
            StoreError::Refused { what, id, detail } => (
                ErrorCode::InvalidRequest,
                format!("the {what} `{id}`: {detail}"),
            ),
            StoreError::FencedOff { .. } => {
                (ErrorCode::Overloaded, "another worker took over".to_owned())
            }
            StoreError::Corrupt { .. }
            | StoreError::NewerSchema { .. }
            | StoreError::EarlierLayout { .. }
            | StoreError::Engine { .. } => (ErrorCode::Internal, "storage failed".to_owned()),
            StoreError::Overloaded { what, waiting } => (
                ErrorCode::Overloaded,
                format!("storage is busy: {waiting} calls wait for {what}"),
            ),
            StoreError::Closed => (
                ErrorCode::Unavailable,
                "the server is shutting down".to_owned(),
            ),
        };
        Self::new(code, message).caused_by(error)
    }
}

impl From<QueryError> for EngineError {
    fn from(error: QueryError) -> Self {
        let code = match &error {
            QueryError::Empty | QueryError::NoCandidates => ErrorCode::InvalidRequest,
            QueryError::TooLong { .. } => ErrorCode::TooLarge,
            QueryError::Model { .. } | QueryError::Dims { .. } => ErrorCode::ModelMismatch,
            QueryError::Vectors { .. } => ErrorCode::Internal,
        };
        Self::new(code, error.to_string()).caused_by(error)
    }
}

impl From<ModelFailure> for EngineError {
    /// The provider's message may name the operator's account, so it is the cause, for the log.
    fn from(failure: ModelFailure) -> Self {
        let usage = failure.usage;
        let mut details = json!({
            "fault": failure.fault.as_str(),
            "attempts": failure.attempts,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cached_tokens": usage.cached_tokens,
        });
        if let Some(wait) = failure.retry_after {
            details["retry_after_ms"] = json!(wait.as_millis());
        }
        let error = Self::new(failure.code(), failure.message).with_details(details);
        match failure.detail {
            Some(said) => error.caused_by(said),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use charter_effects::{ModelFault, Usage};

    use super::*;

    #[test]
    fn not_found_errors_name_the_id() {
        let stored = EngineError::from(StoreError::NotFound {
            what: "run",
            id: "run-1".to_owned(),
        });
        for error in [EngineError::not_found("run", "run-1"), stored] {
            assert_eq!(error.code, ErrorCode::NotFound);
            assert_eq!(error.to_string(), "there is no run `run-1`");
            assert_eq!(error.details, Some(json!({"what": "run"})));
        }
    }

    #[test]
    fn not_found_errors_list_what_exists() {
        let absent = || EngineError::not_found("lens", "rota");
        let error = absent().or_nearest("rota", ["_hidden", "rotas", "runbooks"]);
        assert_eq!(
            error.to_string(),
            "there is no lens `rota`; did you mean `rotas`?"
        );
        assert_eq!(error.known_ids(), (vec!["rotas", "runbooks"], 0));
        let known = json!({"what": "lens", "known": ["rotas", "runbooks"]});
        assert_eq!(error.details, Some(known));
        assert_eq!(absent().knowing([]).details, absent().details);
        assert_eq!(absent().known_ids(), (Vec::new(), 0));
        let many: Vec<String> = (0..MOST_KNOWN + 3).map(|at| format!("l{at}")).collect();
        let error = absent().knowing(many.iter().map(String::as_str));
        assert_eq!(error.to_string(), "there is no lens `rota`");
        assert_eq!(error.known_ids().1, 3);
        let details = error.details.unwrap();
        assert_eq!(details["known"], json!(many[..MOST_KNOWN]));
        assert_eq!(details["more"], 3);
    }

    /// B003-3: a model's failure is reported with the tokens used, and without the provider's message.
    #[test]
    fn b003_3_a_models_failure_keeps_the_providers_words_for_the_log() {
        let mut failure = ModelFailure::new(ModelFault::RateLimited, "asked too often");
        failure.detail = Some("organization org-1 has no room".to_owned());
        failure.retry_after = Some(Duration::from_millis(1_500));
        failure.attempts = 2;
        failure.usage = Usage {
            input_tokens: 3,
            output_tokens: 2,
            cached_tokens: 1,
        };
        let error = EngineError::from(failure);
        assert_eq!(error.code, ErrorCode::RateLimited);
        assert_eq!(error.to_string(), "asked too often");
        let expected = json!({"fault": "rate_limited", "attempts": 2, "input_tokens": 3,
            "output_tokens": 2, "cached_tokens": 1, "retry_after_ms": 1_500});
        assert_eq!(error.details, Some(expected));
        let cause = error.source().map(ToString::to_string);
        assert_eq!(cause.as_deref(), Some("organization org-1 has no room"));
    }
}
