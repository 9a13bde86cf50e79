"""Calls as values: what is sent, how the answer is read, and when it is sent again.

Nothing here sends anything. A *call* is one exchange with the server. *Steps* are
a generator that yields what is to be done (calls, pauses) and is given what came
of it, so that whatever takes several calls is written once; `_drive.py` carries
steps out, in one way for blocking clients and in another for asynchronous ones.
"""

from __future__ import annotations

import enum
import json
import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from charter_client._settings import Retry
from charter_client.codes import BY_CODE, BY_TYPE
from charter_client.errors import ApiError, CharterError, NotCharter, Unreachable

T = TypeVar("T")

#: Codes of calls that were turned away before anything was done.
TURNED_AWAY = frozenset({"overloaded", "rate_limited"})
#: Codes that pass by themselves. Others may be retryable as well, but their failure is recorded, or work
#: was done: whoever asked decides whether it is to be done again.
PASSING = TURNED_AWAY | {"unavailable", "request_timeout"}


class Repeat(enum.Enum):
    """Whether a call may be sent again when nobody knows what became of it."""

    #: It reads, or carries an id under which the server finds it again.
    HARMLESS = enum.auto()
    #: A repeat may do it twice, or be refused because it was done.
    NEVER = enum.auto()


@dataclass(frozen=True)
class Pause:
    """Do nothing for a while."""

    seconds: float


@dataclass(frozen=True)
class Call(Generic[T]):
    """One exchange: what is sent, and how a good answer is read."""

    method: str
    path: str
    read: Callable[[bytes], T]
    query: Mapping[str, object] = field(default_factory=dict)
    body: object = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeat: Repeat = Repeat.HARMLESS
    #: Where a good answer is written, whole or not at all; `read` is given nothing then.
    file: Path | None = None

    def __iter__(self) -> Generator[Act, Any, T]:
        """The call as one of several steps: `run = yield from call`."""
        answer: T = yield self
        return answer

    def request(self) -> dict[str, Any]:
        """As arguments of an HTTP client."""
        headers = {"accept": "application/json", **self.headers}
        content = self.content
        if content is None and self.body is not None:
            content = json.dumps(self.body, ensure_ascii=False).encode()
            headers["content-type"] = "application/json"
        query = {name: _text(value) for name, value in self.query.items() if value is not None}
        return {"method": self.method, "url": self.path, "params": query, "content": content, "headers": headers}


@dataclass(frozen=True)
class Attempt:
    """Send a call once. What comes of it is an answer, or why none came."""

    call: Call[Any]


Act: TypeAlias = Call[Any] | Pause | Attempt
Steps: TypeAlias = Generator[Act, Any, T]
Received: TypeAlias = httpx.Response | httpx.TransportError


def attempts(call: Call[T], retry: Retry) -> Steps[T]:
    """The attempts at a call, until one has an answer or no further one makes sense."""
    for done in range(retry.again + 1):
        received: Received = yield Attempt(call)
        try:
            return answer(call, received)
        except CharterError as failure:
            pause_s = pause(call.repeat, failure, done, retry)
            if pause_s is None:
                raise
            yield Pause(pause_s)
    raise AssertionError("the last attempt returns or raises")


def answer(call: Call[T], received: Received) -> T:
    """What the server said, or what went wrong."""
    if isinstance(received, httpx.TransportError):
        raise Unreachable(f"{call.method} {call.path}: no answer: {_said(received)}") from received
    if not received.is_success:
        raise refusal(received.status_code, received.content)
    try:
        return call.read(received.content)
    except ValidationError as error:
        raise NotCharter(f"{call.method} {call.path}: the answer is not what was expected: {error}") from error


def pause(repeat: Repeat, failure: CharterError, done: int, retry: Retry) -> float | None:
    """How long to wait before the next attempt, in seconds; nothing where there is none."""
    if done >= retry.again:
        return None
    if isinstance(failure, ApiError):
        codes = PASSING if repeat is Repeat.HARMLESS else TURNED_AWAY
        again = failure.retryable and failure.code in codes
        said_s = failure.wait_s
    else:
        # What never was connected never was sent.
        unsent = isinstance(failure.__cause__, (httpx.ConnectError, httpx.ConnectTimeout))
        again = isinstance(failure, Unreachable) and (unsent or repeat is Repeat.HARMLESS)
        said_s = None
    # Spread, so that those who were turned away together do not come back together.
    pause_s = said_s if said_s is not None else retry.first_pause_s * 2**done * random.uniform(0.5, 1.5)
    return pause_s if again and pause_s <= retry.longest_pause_s else None


def refusal(status: int, content: bytes) -> CharterError:
    """The server's refusal, in the class of its code."""
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    if not isinstance(body, dict) or "error_type" not in body:
        return NotCharter(f"the server answered {status} and not in Charter's form: {content[:200]!r}")
    return told(body, status)


def told(body: dict[str, Any], status: int = 0) -> ApiError:
    """An `AgentError` as an exception."""
    of_type = BY_TYPE.get(str(body.get("error_type")), ApiError)
    return BY_CODE.get(str(body.get("error_code")), of_type)(body, status)


def reading(form: type[T]) -> Callable[[bytes], T]:
    """How JSON is read as values of a form."""
    return TypeAdapter(form).validate_json


def anything(content: bytes) -> Any:
    """How JSON of any form is read; nothing stands for nothing."""
    try:
        return json.loads(content) if content else None
    except ValueError as error:
        raise NotCharter(f"the answer is no JSON: {content[:200]!r}") from error


def unread(content: bytes) -> None:
    """For answers that say nothing."""


def whole(content: bytes) -> bytes:
    """For answers that are no JSON."""
    return content


def moment(at: datetime | None) -> str | None:
    """A moment as a query has it."""
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError("a moment needs a time zone, for example datetime.now(timezone.utc)")
    return at.isoformat()


def part(text: str) -> str:
    """A part of a path, whatever it holds."""
    return quote(text, safe="")


def without_nothing(**fields: object) -> dict[str, object]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _said(error: httpx.TransportError) -> str:
    return str(error) or type(error).__name__


@dataclass(frozen=True)
class Page(Generic[T]):
    """Entries, and where the next ones start."""

    entries: list[T]
    next: str | int | None = None


@dataclass(frozen=True)
class Pages(Generic[T]):
    """A listing of any length: a call for each page, which says where the next one starts."""

    path: str
    read: Callable[[bytes], Page[T]]
    query: Mapping[str, object]

    def call(self, after: str | int | None) -> Call[Page[T]]:
        """The page that starts there."""
        query = self.query if after is None else {**self.query, "after": after}
        return Call("GET", self.path, self.read, query=query)


def paged(form: type[T]) -> Callable[[bytes], Page[T]]:
    """How a page of entries is read."""
    page: TypeAdapter[Page[T]] = TypeAdapter(Page[form])  # type: ignore[valid-type]
    return page.validate_json
