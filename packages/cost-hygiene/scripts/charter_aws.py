"""What every AWS tool script of this package shares.

It reads one call from standard input, opens an AWS session for it, and writes
one JSON value to standard output, or one JSON error as the last line of
standard error. It knows nothing about any single tool.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone
from functools import cached_property
from typing import Any, NoReturn

import boto3
from botocore import exceptions as boto_errors
from botocore.config import Config

JsonObject = dict[str, Any]

MAX_MESSAGE_CHARS = 500
CONNECT_TIMEOUT_S = 10
READ_TIMEOUT_S = 30
MAX_ATTEMPTS = 4

_PERMISSION_CODES = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "SignatureDoesNotMatch",
        "UnauthorizedOperation",
        "UnrecognizedClientException",
    }
)
_BUSY_CODES = frozenset(
    {
        "InternalError",
        "InternalFailure",
        "RequestLimitExceeded",
        "RequestThrottled",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
# Codes that concern the credentials and no resource.
_CREDENTIAL_CODES = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
    }
)
_CREDENTIAL_ERRORS = (
    boto_errors.CredentialRetrievalError,
    boto_errors.NoCredentialsError,
    boto_errors.PartialCredentialsError,
)
_INPUT_CODE_STARTS = ("Invalid", "Malformed", "Missing", "Validation", "NoSuch")


class ToolError(Exception):
    """A failure that the caller is told about, in the protocol's own terms."""

    def __init__(self, error_type: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.retryable = retryable

    def as_json(self) -> str:
        """The single line that ends standard error when a tool fails."""
        return json.dumps(
            {
                "error_type": self.error_type,
                "message": str(self)[:MAX_MESSAGE_CHARS],
                "retryable": self.retryable,
            }
        )


@dataclass(frozen=True)
class Call:
    """One invocation: the parameters as given, and whether to change nothing.

    Each attempt of a call has the same idempotency key. It is empty if the caller gave none.
    """

    parameters: Mapping[str, Any]
    dry_run: bool
    idempotency_key: str = ""

    def _typed(self, name: str, kind: type, label: str, default: Any) -> Any:
        value = self.parameters.get(name)
        if value is None:
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ToolError("input_error", f"parameter {name!r} must be {label}")
        return value

    def text(self, name: str, default: str = "") -> str:
        """A string parameter, stripped of surrounding blanks."""
        value: str = self._typed(name, str, "a string", default)
        return value.strip()

    def integer(self, name: str, default: int) -> int:
        """A whole number, zero or more."""
        value: int = self._typed(name, int, "a whole number", default)
        if value < 0:
            raise ToolError("input_error", f"parameter {name!r} must not be negative")
        return value

    def items(self, name: str) -> list[Any]:
        """An array parameter; absent reads as empty."""
        value: list[Any] = self._typed(name, list, "an array", [])
        return value

    def mapping(self, name: str) -> JsonObject:
        """An object parameter; absent reads as empty."""
        value: JsonObject = self._typed(name, dict, "an object", {})
        return value


class Aws:
    """An AWS session for one call.

    The profile and region come from the call's parameters. An empty profile
    means the default credential chain, an empty region the session's own.
    """

    def __init__(self, call: Call) -> None:
        self._session = boto3.Session(
            profile_name=call.text("profile") or None,
            region_name=call.text("region") or None,
        )
        region = self._session.region_name or os.environ.get("AWS_REGION")
        if not region:
            raise ToolError("input_error", "no region was given and the profile has none")
        self.region: str = region

    def client(self, service: str, region: str | None = None) -> Any:
        """A client whose retries and timeouts are bounded."""
        session: Any = self._session  # services are named at run time
        return session.client(
            service,
            region_name=region or self.region,
            config=_client_config(),
        )

    @cached_property
    def account_id(self) -> str:
        """The account that the credentials belong to."""
        identity = self.client("sts").get_caller_identity()
        return str(identity["Account"])

    def pages(self, service: str, operation: str, key: str, **arguments: Any) -> list[JsonObject]:
        """Every item of a paginated operation, in the order AWS returns them."""
        paginator = self.client(service).get_paginator(operation)
        return [item for page in paginator.paginate(**arguments) for item in page.get(key, [])]


Tool = Callable[[Call, Aws], Any]


def _client_config() -> Config:
    options: JsonObject = {
        "retries": {"mode": "standard", "total_max_attempts": MAX_ATTEMPTS},
        "connect_timeout": CONNECT_TIMEOUT_S,
        "read_timeout": READ_TIMEOUT_S,
        "user_agent_extra": "charter",
    }
    if os.environ.get("AWS_ENDPOINT_URL"):
        # A private endpoint has one host name: no bucket can stand before it.
        options["s3"] = {"addressing_style": "path"}
    return Config(**options)


def aws_filters(filters: Mapping[str, Any]) -> list[JsonObject]:
    """A plain ``{name: value or [values]}`` map in the shape EC2 asks for."""
    shaped = []
    for name in sorted(filters):
        value = filters[name]
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(item, (str, int)) for item in values):
            raise ToolError("input_error", f"filter {name!r} needs one or more plain values")
        shaped.append({"Name": name, "Values": [str(item) for item in values]})
    return shaped


def tags_of(resource: Mapping[str, Any], key: str = "Tags") -> dict[str, str]:
    """A resource's tags as a plain map."""
    return {tag["Key"]: tag.get("Value", "") for tag in resource.get(key) or []}


def by_keys(*names: str) -> Callable[[Mapping[str, Any]], tuple[str, ...]]:
    """A sort key over several fields of which any may be missing."""
    return lambda item: tuple(str(item.get(name, "")) for name in names)


def sorted_by(items: Iterable[JsonObject], *names: str) -> list[JsonObject]:
    """The items in a stable order that does not depend on the API's own."""
    return sorted(items, key=by_keys(*names))


def as_tool_error(error: Exception) -> ToolError:
    """Name an exception in the protocol's terms, without leaking internals."""
    if isinstance(error, ToolError):
        return error
    if isinstance(error, boto_errors.ClientError):
        return _client_error(error)
    if isinstance(error, (boto_errors.ConnectTimeoutError, boto_errors.ReadTimeoutError)):
        return ToolError("timeout_error", "AWS did not answer in time", retryable=True)
    if isinstance(error, (boto_errors.EndpointConnectionError, boto_errors.HTTPClientError)):
        return ToolError("resource_error", "the AWS endpoint cannot be reached", retryable=True)
    if isinstance(error, (boto_errors.NoCredentialsError, boto_errors.PartialCredentialsError)):
        return ToolError("permission_error", "no complete AWS credentials were found")
    if isinstance(error, (boto_errors.ProfileNotFound, boto_errors.ParamValidationError)):
        return ToolError("input_error", str(error))
    if isinstance(error, boto_errors.BotoCoreError):
        return ToolError("execution_error", f"the AWS SDK failed: {type(error).__name__}")
    return ToolError("system_error", f"the tool failed: {type(error).__name__}")


def _client_error(error: boto_errors.ClientError) -> ToolError:
    code = str(error.response.get("Error", {}).get("Code", "Unknown"))
    message = f"{error.operation_name}: {code}: {error.response['Error'].get('Message', '')}"
    if code in _PERMISSION_CODES:
        return ToolError("permission_error", message)
    if code in _BUSY_CODES:
        return ToolError("resource_error", message, retryable=True)
    if code.startswith(_INPUT_CODE_STARTS):
        return ToolError("input_error", message)
    return ToolError("execution_error", message)


def error_code(error: boto_errors.ClientError) -> str:
    """The service's own code of a failed call."""
    return str(error.response.get("Error", {}).get("Code", ""))


# The errors of reading one resource of many: AWS refuses it, it is gone, or its description lacks
# something.
ONE_FAILS = (
    boto_errors.BotoCoreError,
    boto_errors.ClientError,
    AttributeError,
    KeyError,
    TypeError,
    ValueError,
)


def raise_if_of_all(error: Exception) -> None:
    """Raise an error that concerns the credentials: every other resource would meet it too."""
    of_all = isinstance(error, _CREDENTIAL_ERRORS) or (
        isinstance(error, boto_errors.ClientError) and error_code(error) in _CREDENTIAL_CODES
    )
    if of_all:
        raise error


def left_out(name: str, error: Exception) -> JsonObject:
    """Names a resource that could not be read, and why."""
    raise_if_of_all(error)
    if isinstance(error, boto_errors.ClientError):
        return {"name": name, "operation": error.operation_name, "reason": error_code(error)}
    why = f"no {error.args[0]}" if isinstance(error, KeyError) else type(error).__name__
    return {"name": name, "operation": "reading", "reason": why}


def read_each(
    items: Iterable[JsonObject], key: str, read: Callable[[JsonObject], JsonObject]
) -> tuple[list[JsonObject], list[JsonObject]]:
    """What ``read`` makes of each item, and the items that it failed for, both in their order."""
    done, unreadable = [], []
    for item in items:
        try:
            done.append(read(item))
        except ONE_FAILS as error:
            unreadable.append(left_out(str(item.get(key, "unnamed")), error))
    return done, unreadable


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _read_call() -> Call:
    try:
        document = json.load(sys.stdin)
    except (ValueError, UnicodeDecodeError) as error:
        raise ToolError("input_error", "standard input is not one JSON object") from error
    if not isinstance(document, dict) or not isinstance(document.get("parameters", {}), dict):
        raise ToolError("input_error", "the call must be an object that holds parameters")
    dry_run = document.get("dry_run", False)
    if not isinstance(dry_run, bool):
        raise ToolError("input_error", "dry_run must be true or false")
    key = document.get("idempotency_key", "")
    if not isinstance(key, str):
        raise ToolError("input_error", "idempotency_key must be a string")
    return Call(document.get("parameters", {}), dry_run, key)


def run(tool: Tool) -> NoReturn:
    """Serve one call with ``tool`` and leave the process."""
    try:
        call = _read_call()
        result = json.dumps(tool(call, Aws(call)), default=_json_value, allow_nan=False)
    except Exception as error:  # the process's edge: every failure becomes one line
        print(as_tool_error(error).as_json(), file=sys.stderr)
        sys.exit(1)
    sys.stdout.write(result + "\n")
    sys.exit(0)
