"""A class for each error code, made from the server's table by generate.py. Do not edit."""

from __future__ import annotations

from charter_client.errors import ApiError


class InputFailure(ApiError):
    """What was sent is wrong."""


class ExecutionFailure(ApiError):
    """Something that was run failed."""


class ResourceFailure(ApiError):
    """Something that is needed is missing or full."""


class PermissionFailure(ApiError):
    """It is not allowed."""


class TimeoutFailure(ApiError):
    """It took too long."""


class SystemFailure(ApiError):
    """The system itself failed."""


class InvalidDocument(InputFailure):
    """The document breaks its contract.

    Correct what the message and the details name. See docs/errors/invalid_document.md.
    """

    code = "invalid_document"


class InvalidRequest(InputFailure):
    """The request is not valid.

    Correct what the message names. See docs/errors/invalid_request.md.
    """

    code = "invalid_request"


class InvalidUtf8(InputFailure):
    """The text is not valid UTF-8.

    Send UTF-8. See docs/errors/invalid_utf8.md.
    """

    code = "invalid_utf8"


class TooLarge(InputFailure):
    """The request is too large.

    Stay within the limit that the message names. See docs/errors/too_large.md.
    """

    code = "too_large"


class UnsupportedVersion(InputFailure):
    """This version of the contract is not supported.

    Use one of the versions that the message names. See docs/errors/unsupported_version.md.
    """

    code = "unsupported_version"


class UnsupportedFlow(InputFailure):
    """The requested flow does not fit this request.

    Omit `flow`; to generate a candidate anyway, request the flow `code_gen_direct`. See docs/errors/unsupported_flow.md.
    """

    code = "unsupported_flow"


class UnknownDomain(InputFailure):
    """The domain does not exist or is inactive.

    Register the domain first, or correct its name. See docs/errors/unknown_domain.md.
    """

    code = "unknown_domain"


class DeprecatedCollection(InputFailure):
    """This collection no longer exists.

    Use the successor that the message names. See docs/errors/deprecated_collection.md.
    """

    code = "deprecated_collection"


class MissingParameters(InputFailure):
    """Some parameters are missing.

    Provide the parameters that the message names. See docs/errors/missing_parameters.md.
    """

    code = "missing_parameters"


class InvalidParameters(InputFailure):
    """Some parameters are invalid.

    Correct the parameters that the message names. See docs/errors/invalid_parameters.md.
    """

    code = "invalid_parameters"


class NotFound(InputFailure):
    """Nothing has this id.

    Check the id; list the existing ids. See docs/errors/not_found.md.
    """

    code = "not_found"


class NoMatch(InputFailure):
    """Nothing in the catalogue answers this request.

    Rephrase the request, or register a skill for it. See docs/errors/no_match.md.
    """

    code = "no_match"


class AlreadyExists(InputFailure):
    """The id is already used.

    Choose another id. See docs/errors/already_exists.md.
    """

    code = "already_exists"


class VersionConflict(InputFailure):
    """The version exists with other content.

    Raise the version, or read the latest state and retry. See docs/errors/version_conflict.md.
    """

    code = "version_conflict"


class IllegalTransition(InputFailure):
    """The current state does not allow this.

    Check the current state first. See docs/errors/illegal_transition.md.
    """

    code = "illegal_transition"


class MethodNotAllowed(InputFailure):
    """This path does not support this method.

    Use one of the methods that the details name. See docs/errors/method_not_allowed.md.
    """

    code = "method_not_allowed"


class Immutable(InputFailure):
    """This cannot be changed or deleted.

    Add a new record instead. See docs/errors/immutable.md.
    """

    code = "immutable"


class StillReferenced(InputFailure):
    """Other documents still refer to this.

    Remove the references that the message names first. See docs/errors/still_referenced.md.
    """

    code = "still_referenced"


class RoutingTestFailed(InputFailure):
    """A routing test of the package failed.

    Correct the skills or the tests; the details list each test that failed. See docs/errors/routing_test_failed.md.
    """

    code = "routing_test_failed"


class SessionNotFound(InputFailure):
    """The session does not exist or has expired.

    Start a new session. See docs/errors/session_not_found.md.
    """

    code = "session_not_found"


class ModelRouteUnknown(InputFailure):
    """No usable model is configured for this route.

    Check `models` in the configuration: `charter model list` shows the routes, `charter model test` tests them. See docs/errors/model_route_unknown.md.
    """

    code = "model_route_unknown"


class Unauthenticated(PermissionFailure):
    """Please authenticate.

    Send a valid credential. See docs/errors/unauthenticated.md.
    """

    code = "unauthenticated"


class PermissionDenied(PermissionFailure):
    """This is not allowed.

    Use a credential with the access that the message names. See docs/errors/permission_denied.md.
    """

    code = "permission_denied"


class CredentialRequired(PermissionFailure):
    """This needs an account that is not connected.

    Connect the account: open the link in the message, or run `charter credential connect NAME`; then start it again. See docs/errors/credential_required.md.
    """

    code = "credential_required"


class GuardrailBlocked(PermissionFailure):
    """A guardrail does not allow this.

    Follow the guardrail's message, or ask its owner. See docs/errors/guardrail_blocked.md.
    """

    code = "guardrail_blocked"


class ApprovalRequired(PermissionFailure):
    """This needs an approval.

    Ask an approver to decide on the pending approval. See docs/errors/approval_required.md.
    """

    code = "approval_required"


class PolicyDenied(PermissionFailure):
    """A policy does not allow this.

    `charter gate explain` shows which policy denies the call, and why. See docs/errors/policy_denied.md.
    """

    code = "policy_denied"


class ApprovalRejected(PermissionFailure):
    """An approver rejected this.

    The run has the reason. See docs/errors/approval_rejected.md.
    """

    code = "approval_rejected"


class ApprovalExpired(PermissionFailure):
    """The approval expired.

    Start it again, and have it approved in time. See docs/errors/approval_expired.md.
    """

    code = "approval_expired"


class EgressDenied(PermissionFailure):
    """Access to this host is denied.

    Add the host to the tool's egress list. See docs/errors/egress_denied.md.
    """

    code = "egress_denied"


class ModelAccessDenied(PermissionFailure):
    """The model provider denied access.

    Check the provider's key, its permissions and its billing; `charter model test` tests it. See docs/errors/model_access_denied.md.
    """

    code = "model_access_denied"


class ToolFailed(ExecutionFailure):
    """A tool failed.

    Check the tool's output in the run. See docs/errors/tool_failed.md.
    """

    code = "tool_failed"


class ToolResultInvalid(ExecutionFailure):
    """A tool returned an invalid result.

    Correct the tool or its output schema. See docs/errors/tool_result_invalid.md.
    """

    code = "tool_result_invalid"


class ModelFailed(ExecutionFailure):
    """The model provider failed.

    Retry in a moment. See docs/errors/model_failed.md.
    """

    code = "model_failed"


class ModelRefused(ExecutionFailure):
    """A model declined to answer.

    Rephrase the request, or use another model for this route. See docs/errors/model_refused.md.
    """

    code = "model_refused"


class ModelAnswerInvalid(ExecutionFailure):
    """A model returned an invalid answer.

    Request less at once, or use a more capable model for this route. See docs/errors/model_answer_invalid.md.
    """

    code = "model_answer_invalid"


class TemplateMissing(ExecutionFailure):
    """No template matches this output.

    Register a template for this output type. See docs/errors/template_missing.md.
    """

    code = "template_missing"


class PlaceholderMissing(ExecutionFailure):
    """A value for the output is missing.

    Provide the values that the message names, or correct the template. See docs/errors/placeholder_missing.md.
    """

    code = "placeholder_missing"


class ExpressionFailed(ExecutionFailure):
    """An expression could not be evaluated.

    Correct the expression that the message names. See docs/errors/expression_failed.md.
    """

    code = "expression_failed"


class Cancelled(ExecutionFailure):
    """This was cancelled.

    Start it again if it is still needed. See docs/errors/cancelled.md.
    """

    code = "cancelled"


class ToolTimeout(TimeoutFailure):
    """A tool took too long.

    Retry, or raise the tool's timeout. See docs/errors/tool_timeout.md.
    """

    code = "tool_timeout"


class RequestTimeout(TimeoutFailure):
    """The request took too long.

    Retry, or follow the run instead of waiting. See docs/errors/request_timeout.md.
    """

    code = "request_timeout"


class ModelMissing(ResourceFailure):
    """The embedding model is not available.

    Fetch it with `charter model fetch`, or configure its location. See docs/errors/model_missing.md.
    """

    code = "model_missing"


class ModelMismatch(ResourceFailure):
    """The index was built with another model.

    Run `charter reindex`. See docs/errors/model_mismatch.md.
    """

    code = "model_mismatch"


class StorageFull(ResourceFailure):
    """No storage space is left.

    Free some space; nothing that was acknowledged is lost. See docs/errors/storage_full.md.
    """

    code = "storage_full"


class DataDirectoryLocked(ResourceFailure):
    """Another process uses the data directory.

    Stop the process that the message names, or use another directory. See docs/errors/data_directory_locked.md.
    """

    code = "data_directory_locked"


class RateLimited(ResourceFailure):
    """Too many requests.

    Wait for the time in the details, then retry. See docs/errors/rate_limited.md.
    """

    code = "rate_limited"


class Overloaded(ResourceFailure):
    """The server is busy.

    Retry in a moment. See docs/errors/overloaded.md.
    """

    code = "overloaded"


class Unavailable(ResourceFailure):
    """This is temporarily unavailable.

    Retry in a moment; `charter doctor` shows missing components. See docs/errors/unavailable.md.
    """

    code = "unavailable"


class Internal(SystemFailure):
    """An internal error occurred.

    Report it with the error id to the operator, who finds the cause in the log. See docs/errors/internal.md.
    """

    code = "internal"


#: The class of each type.
BY_TYPE: dict[str, type[ApiError]] = {
    "input_error": InputFailure,
    "execution_error": ExecutionFailure,
    "resource_error": ResourceFailure,
    "permission_error": PermissionFailure,
    "timeout_error": TimeoutFailure,
    "system_error": SystemFailure,
}

#: The class of each code.
BY_CODE: dict[str, type[ApiError]] = {
    "invalid_document": InvalidDocument,
    "invalid_request": InvalidRequest,
    "invalid_utf8": InvalidUtf8,
    "too_large": TooLarge,
    "unsupported_version": UnsupportedVersion,
    "unsupported_flow": UnsupportedFlow,
    "unknown_domain": UnknownDomain,
    "deprecated_collection": DeprecatedCollection,
    "missing_parameters": MissingParameters,
    "invalid_parameters": InvalidParameters,
    "not_found": NotFound,
    "no_match": NoMatch,
    "already_exists": AlreadyExists,
    "version_conflict": VersionConflict,
    "illegal_transition": IllegalTransition,
    "method_not_allowed": MethodNotAllowed,
    "immutable": Immutable,
    "still_referenced": StillReferenced,
    "routing_test_failed": RoutingTestFailed,
    "session_not_found": SessionNotFound,
    "model_route_unknown": ModelRouteUnknown,
    "unauthenticated": Unauthenticated,
    "permission_denied": PermissionDenied,
    "credential_required": CredentialRequired,
    "guardrail_blocked": GuardrailBlocked,
    "approval_required": ApprovalRequired,
    "policy_denied": PolicyDenied,
    "approval_rejected": ApprovalRejected,
    "approval_expired": ApprovalExpired,
    "egress_denied": EgressDenied,
    "model_access_denied": ModelAccessDenied,
    "tool_failed": ToolFailed,
    "tool_result_invalid": ToolResultInvalid,
    "model_failed": ModelFailed,
    "model_refused": ModelRefused,
    "model_answer_invalid": ModelAnswerInvalid,
    "template_missing": TemplateMissing,
    "placeholder_missing": PlaceholderMissing,
    "expression_failed": ExpressionFailed,
    "cancelled": Cancelled,
    "tool_timeout": ToolTimeout,
    "request_timeout": RequestTimeout,
    "model_missing": ModelMissing,
    "model_mismatch": ModelMismatch,
    "storage_full": StorageFull,
    "data_directory_locked": DataDirectoryLocked,
    "rate_limited": RateLimited,
    "overloaded": Overloaded,
    "unavailable": Unavailable,
    "internal": Internal,
}
