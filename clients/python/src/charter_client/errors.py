"""What can go wrong.

Every failure is a :class:`CharterError`. What the server answers is an
:class:`ApiError`, of a class of its own for each error code (see
:mod:`charter_client.codes`), below the class of its type:

    CharterError
        Unreachable            no answer came
        NotCharter             an answer came that is none of Charter's
        WaitedTooLong          something did not come about in the time given
        ApiError               the server says no
            InputFailure       ... because of what was sent: NotFound, NoMatch, ...
            PermissionFailure  ... because it is not allowed: ApprovalRejected, ...
            ...
"""

from __future__ import annotations

from typing import Any


class CharterError(Exception):
    """Anything that this client raises on purpose."""


class Unreachable(CharterError):
    """The server gave no answer: it is not there, or the connection broke, or time ran out.

    Whether a call that changes something was carried out is not known then.
    """


class NotCharter(CharterError):
    """The answer is none that Charter gives: look at the address, and at proxies before it."""


class WaitedTooLong(CharterError, TimeoutError):
    """What was waited for did not come about in time. It goes on on the server."""


class ApiError(CharterError):
    """The server's refusal, an `AgentError` of its contract."""

    #: The code that the class stands for; of an instance the one that came, known or not.
    code: str = ""

    def __init__(self, body: dict[str, Any], status: int) -> None:
        self.code = str(body.get("error_code") or type(self).code)
        #: What happened, safe to show.
        self.message = str(body.get("user_message") or "the server gave no message")
        actions: list[dict[str, Any]] = body.get("recommended_actions") or []
        #: What to do, or nothing.
        self.hint: str | None = next(
            (str(action["description"]) for action in actions if "description" in action), None
        )
        #: What whoever mends it needs: violations, missing parameters, a wait in milliseconds, the page of the code.
        self.details: dict[str, Any] = body.get("technical_details") or {}
        #: Whether the same call may succeed later without a change.
        self.retryable = any(action.get("action_type") == "system_retry" for action in actions)
        #: By which the server's operator finds it, `err-...`.
        self.error_id: str | None = body.get("error_id")
        #: The request that it belongs to, `req-...`.
        self.request_id: str | None = body.get("request_id")
        #: The HTTP status; of a failure in a stream 0.
        self.status = status
        super().__init__(self.message)

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"[{self.code}] {self.message}{hint}"

    @property
    def wait_s(self) -> float | None:
        """How long to wait before another try, in seconds, where the server says so."""
        wait_ms = self.details.get("wait_ms")
        return wait_ms / 1000 if isinstance(wait_ms, (int, float)) else None
