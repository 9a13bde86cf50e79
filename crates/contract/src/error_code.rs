//! The public error codes: stable, documented, safe to show. They know no HTTP; the server maps a code to a status.

string_enum! {
    /// The six error types (003 Error Schema).
    pub enum ErrorType {
        /// The input is invalid.
        InputError = "input_error",
        /// An execution failed.
        ExecutionError = "execution_error",
        /// A required resource is missing or exhausted.
        ResourceError = "resource_error",
        /// The operation is not permitted.
        PermissionError = "permission_error",
        /// A time limit was exceeded.
        TimeoutError = "timeout_error",
        /// The system itself failed.
        SystemError = "system_error",
    }
}

macro_rules! error_codes {
    ($( $(#[$meta:meta])* $variant:ident = $code:literal, $type:ident, $retry:ident, $message:literal, $hint:literal; )+) => {
        string_enum! {
            /// Public error code.
            pub enum ErrorCode { $( $(#[$meta])* $variant = $code ),+ }
        }

        impl ErrorCode {
            /// Returns the error type, one of the six of seed 003.
            #[must_use]
            pub const fn error_type(self) -> ErrorType {
                match self { $( Self::$variant => ErrorType::$type ),+ }
            }

            /// Whether the same call may succeed later without a change.
            #[must_use]
            pub const fn retryable(self) -> bool {
                match self { $( Self::$variant => error_codes!(@ $retry) ),+ }
            }

            /// Returns the message for users, which contains no secret and no internal path (B003-3).
            #[must_use]
            pub const fn user_message(self) -> &'static str {
                match self { $( Self::$variant => $message ),+ }
            }

            /// Returns the hint for resolving the error.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $( Self::$variant => $hint ),+ }
            }
        }
    };
    (@ retry) => { true };
    (@ no) => { false };
}

error_codes! {
    /// A document violates its contract.
    InvalidDocument = "invalid_document", InputError, no, "The document breaks its contract.", "Correct what the message and the details name.";
    /// A request violates its contract or a rule of the interface.
    InvalidRequest = "invalid_request", InputError, no, "The request is not valid.", "Correct what the message names.";
    /// The request body is not UTF-8.
    InvalidUtf8 = "invalid_utf8", InputError, no, "The text is not valid UTF-8.", "Send UTF-8.";
    /// The input exceeds a limit.
    TooLarge = "too_large", InputError, no, "The request is too large.", "Stay within the limit that the message names.";
    /// The version of the contract is unknown.
    UnsupportedVersion = "unsupported_version", InputError, no, "This version of the contract is not supported.", "Use one of the versions that the message names.";
    /// The requested flow generates a candidate, but a registered document matches the request.
    UnsupportedFlow = "unsupported_flow", InputError, no, "The requested flow does not fit this request.", "Omit `flow`; to generate a candidate anyway, request the flow `code_gen_direct`.";
    /// The domain is not in the registry, or inactive.
    UnknownDomain = "unknown_domain", InputError, no, "The domain does not exist or is inactive.", "Register the domain first, or correct its name.";
    /// The seed withdrew the collection.
    DeprecatedCollection = "deprecated_collection", InputError, no, "This collection no longer exists.", "Use the successor that the message names.";
    /// Required parameters of a skill, tool or playbook are missing.
    MissingParameters = "missing_parameters", InputError, no, "Some parameters are missing.", "Provide the parameters that the message names.";
    /// A parameter does not match its declaration.
    InvalidParameters = "invalid_parameters", InputError, no, "Some parameters are invalid.", "Correct the parameters that the message names.";
    /// No object has this id, or none visible to the caller.
    NotFound = "not_found", InputError, no, "Nothing has this id.", "Check the id; list the existing ids.";
    /// Nothing in the catalogue matches the request.
    NoMatch = "no_match", InputError, no, "Nothing in the catalogue answers this request.", "Rephrase the request, or register a skill for it.";
    /// An object with this id and other content exists.
    AlreadyExists = "already_exists", InputError, no, "The id is already used.", "Choose another id.";
    /// The version exists with other content, or the object changed since it was read.
    VersionConflict = "version_conflict", InputError, no, "The version exists with other content.", "Raise the version, or read the latest state and retry.";
    /// The present state does not allow the transition.
    IllegalTransition = "illegal_transition", InputError, no, "The current state does not allow this.", "Check the current state first.";
    /// The URL does not support the method of the request.
    MethodNotAllowed = "method_not_allowed", InputError, no, "This path does not support this method.", "Use one of the methods that the details name.";
    /// The object is append-only.
    Immutable = "immutable", InputError, no, "This cannot be changed or deleted.", "Add a new record instead.";
    /// Other documents still refer to the document.
    StillReferenced = "still_referenced", InputError, no, "Other documents still refer to this.", "Remove the references that the message names first.";
    /// A routing test of a package failed.
    RoutingTestFailed = "routing_test_failed", InputError, no, "A routing test of the package failed.", "Correct the skills or the tests; the details list each test that failed.";
    /// The session is unknown, belongs to another caller or is over.
    SessionNotFound = "session_not_found", InputError, no, "The session does not exist or has expired.", "Start a new session.";
    /// The route leads to no usable model.
    ModelRouteUnknown = "model_route_unknown", InputError, no, "No usable model is configured for this route.", "Check `models` in the configuration: `charter model list` shows the routes, `charter model test` tests them.";
    /// The credential is missing or invalid.
    Unauthenticated = "unauthenticated", PermissionError, no, "Please authenticate.", "Send a valid credential.";
    /// The credential does not permit the operation.
    PermissionDenied = "permission_denied", PermissionError, no, "This is not allowed.", "Use a credential with the access that the message names.";
    /// The user has not connected the account that a tool acts with, or the connection has ended.
    CredentialRequired = "credential_required", PermissionError, no, "This needs an account that is not connected.", "Connect the account: open the link in the message, or run `charter credential connect NAME`; then start it again.";
    /// A guardrail blocks the operation.
    GuardrailBlocked = "guardrail_blocked", PermissionError, no, "A guardrail does not allow this.", "Follow the guardrail's message, or ask its owner.";
    /// The operation needs an approval.
    ApprovalRequired = "approval_required", PermissionError, no, "This needs an approval.", "Ask an approver to decide on the pending approval.";
    /// No policy permits the call, or one forbids it.
    PolicyDenied = "policy_denied", PermissionError, no, "A policy does not allow this.", "`charter gate explain` shows which policy denies the call, and why.";
    /// An approver rejected the operation.
    ApprovalRejected = "approval_rejected", PermissionError, no, "An approver rejected this.", "The run has the reason.";
    /// The approval expired before a decision.
    ApprovalExpired = "approval_expired", PermissionError, no, "The approval expired.", "Start it again, and have it approved in time.";
    /// The server may not reach the target.
    EgressDenied = "egress_denied", PermissionError, no, "Access to this host is denied.", "Add the host to the tool's egress list.";
    /// A model's provider refused the key, its permissions or the account.
    ModelAccessDenied = "model_access_denied", PermissionError, no, "The model provider denied access.", "Check the provider's key, its permissions and its billing; `charter model test` tests it.";
    /// A tool ran and failed.
    ToolFailed = "tool_failed", ExecutionError, no, "A tool failed.", "Check the tool's output in the run.";
    /// A tool's result does not match its output schema.
    ToolResultInvalid = "tool_result_invalid", ExecutionError, no, "A tool returned an invalid result.", "Correct the tool or its output schema.";
    /// A model's provider failed, or its response was interrupted.
    ModelFailed = "model_failed", ExecutionError, retry, "The model provider failed.", "Retry in a moment.";
    /// A model declined, or a filter withheld its response.
    ModelRefused = "model_refused", ExecutionError, no, "A model declined to answer.", "Rephrase the request, or use another model for this route.";
    /// A model's answer does not match the requested form, even after repairs.
    ModelAnswerInvalid = "model_answer_invalid", ExecutionError, no, "A model returned an invalid answer.", "Request less at once, or use a more capable model for this route.";
    /// No template matches the output.
    TemplateMissing = "template_missing", ExecutionError, no, "No template matches this output.", "Register a template for this output type.";
    /// A template has a placeholder without a value.
    PlaceholderMissing = "placeholder_missing", ExecutionError, no, "A value for the output is missing.", "Provide the values that the message names, or correct the template.";
    /// An expression failed or returned a value of the wrong type.
    ExpressionFailed = "expression_failed", ExecutionError, no, "An expression could not be evaluated.", "Correct the expression that the message names.";
    /// The run was cancelled.
    Cancelled = "cancelled", ExecutionError, no, "This was cancelled.", "Start it again if it is still needed.";
    /// A tool exceeded its time limit.
    ToolTimeout = "tool_timeout", TimeoutError, retry, "A tool took too long.", "Retry, or raise the tool's timeout.";
    /// A request exceeded its time limit.
    RequestTimeout = "request_timeout", TimeoutError, retry, "The request took too long.", "Retry, or follow the run instead of waiting.";
    /// The embedding model is not available.
    ModelMissing = "model_missing", ResourceError, no, "The embedding model is not available.", "Fetch it with `charter model fetch`, or configure its location.";
    /// The index was made with another model.
    ModelMismatch = "model_mismatch", ResourceError, no, "The index was built with another model.", "Run `charter reindex`.";
    /// No storage space is left.
    StorageFull = "storage_full", ResourceError, retry, "No storage space is left.", "Free some space; nothing that was acknowledged is lost.";
    /// Another process uses the data directory.
    DataDirectoryLocked = "data_directory_locked", ResourceError, no, "Another process uses the data directory.", "Stop the process that the message names, or use another directory.";
    /// The caller exceeded its rate limit.
    RateLimited = "rate_limited", ResourceError, retry, "Too many requests.", "Wait for the time in the details, then retry.";
    /// The server has no capacity at the moment.
    Overloaded = "overloaded", ResourceError, retry, "The server is busy.", "Retry in a moment.";
    /// The server cannot work at the moment.
    Unavailable = "unavailable", ResourceError, retry, "This is temporarily unavailable.", "Retry in a moment; `charter doctor` shows missing components.";
    /// A defect in the system.
    Internal = "internal", SystemError, no, "An internal error occurred.", "Report it with the error id to the operator, who finds the cause in the log.";
}

impl ErrorCode {
    /// Returns the name of its page in `docs/errors/`, without the extension.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        self.as_str()
    }

    /// Returns the path of its page in the documentation.
    #[must_use]
    pub fn documentation(self) -> String {
        format!("docs/errors/{}.md", self.slug())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::ErrorCode;
    use crate::agentic::error::ErrorType;

    #[test]
    fn b003_3_every_type_has_a_code_and_every_code_speaks() {
        let types: BTreeSet<ErrorType> = ErrorCode::ALL
            .iter()
            .map(|code| code.error_type())
            .collect();
        assert_eq!(types.len(), ErrorType::ALL.len());
        for code in ErrorCode::ALL {
            assert!(
                code.user_message().ends_with('.') && code.hint().ends_with('.'),
                "{code}"
            );
            assert!(!code.user_message().contains('/'), "{code}");
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
    }
}
