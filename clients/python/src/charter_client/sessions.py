"""Sessions: conversations, in which a question may depend on earlier ones."""

from __future__ import annotations

from charter_client._operation import Awaiting, Blocking, operation
from charter_client._wire import Call, Repeat, part, reading
from charter_client.contract import SessionView

_SESSION = reading(SessionView)


class SessionOperations:
    """Create sessions and read them."""

    @operation
    def create(self) -> Call[SessionView]:
        """Creates a session. Later questions with its `session_id` may depend on earlier ones."""
        return Call("POST", "/v1/sessions", _SESSION, repeat=Repeat.NEVER)

    @operation
    def get(self, session_id: str) -> Call[SessionView]:
        """A session with its newest turns."""
        return Call("GET", f"/v1/sessions/{part(session_id)}", _SESSION)


class Sessions(SessionOperations, Blocking):
    """Create sessions and read them."""


class AsyncSessions(SessionOperations, Awaiting):
    """Create sessions and read them; every operation is awaited."""
