"""Server-sent events: read piece by piece, and taken up again where they broke off.

Nothing here sends anything: a :class:`Watch` says what to send next and is told
what came of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import httpx

from charter_client._settings import Retry
from charter_client._wire import Call, Repeat, pause, refusal, unread
from charter_client.errors import CharterError, NotCharter, Unreachable

T = TypeVar("T")

#: Largest event that is read, in bytes: an answer with all its findings fits.
MAX_EVENT = 64 << 20


@dataclass(frozen=True)
class Event:
    """One event as it came: its name, its id where it has one, and its JSON."""

    name: str
    data: Any
    id: str | None = None


class Reader:
    """Cuts a stream of bytes into events. Comments, which keep connections alive, are left out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that are whole with this piece."""
        # Charter ends lines with a line feed alone.
        self._rest += piece
        while (end := self._rest.find(b"\n\n")) >= 0:
            block, self._rest = self._rest[:end], self._rest[end + 2 :]
            event = _event(block)
            if event is not None:
                yield event
        if len(self._rest) > MAX_EVENT:
            raise NotCharter(f"the server sent an event of more than {MAX_EVENT} bytes")


def _event(block: bytes) -> Event | None:
    fields: dict[str, list[str]] = {}
    for line in block.decode("utf-8", errors="replace").split("\n"):
        name, _, value = line.partition(":")
        fields.setdefault(name, []).append(value.removeprefix(" "))
    if "data" not in fields:
        return None
    try:
        data = json.loads("\n".join(fields["data"]))
    except ValueError as error:
        raise NotCharter(f"the server sent an event that is no JSON: {error}") from error
    last = {name: values[-1] for name, values in fields.items()}
    return Event(last.get("event", "message"), data, last.get("id"))


@dataclass(frozen=True)
class Stream(Generic[T]):
    """A stream of events: where it is, and what each event means."""

    method: str
    path: str
    #: The value that an event stands for; `None` for one that is of no interest.
    read: Callable[[Event], T | None]
    #: Whether nothing comes after this event.
    is_last: Callable[[Event], bool]
    query: Mapping[str, object] = field(default_factory=dict)
    body: object = None
    #: Whether the server closes the stream when there is nothing more to tell.
    ends: bool = True

    def call(self, last_id: str | None) -> Call[None]:
        """The opening of the stream, after the event that was seen last."""
        headers = {"accept": "text/event-stream"}
        if last_id is not None:
            headers["last-event-id"] = last_id
        return Call(self.method, self.path, unread, query=self.query, body=self.body, headers=headers)


class Watch(Generic[T]):
    """One stream under way. It is opened again, at most so often in a row, when it breaks off."""

    def __init__(self, stream: Stream[T], retry: Retry) -> None:
        self._stream, self._retry = stream, retry
        self._last_id: str | None = None
        self._failed = 0
        self._pause_s = 0.0
        self._over = False
        self._reader = Reader()

    def opening(self) -> tuple[float, dict[str, Any]] | None:
        """How long to wait and what to send; nothing when the stream is over."""
        if self._over:
            return None
        self._reader = Reader()
        return self._pause_s, self._stream.call(self._last_id).request()

    def feed(self, piece: bytes) -> Iterator[T]:
        """What a piece tells."""
        for event in self._reader.feed(piece):
            if event.id is not None:
                # It got further. What has no ids starts over, and that not for ever.
                self._failed, self._last_id = 0, event.id
            self._over = self._stream.is_last(event)
            value = self._stream.read(event)
            if value is not None:
                yield value
            if self._over:
                return

    @property
    def is_over(self) -> bool:
        """Whether the last event was seen."""
        return self._over

    def refused(self, response: httpx.Response) -> None:
        """The server did not open the stream."""
        self._again(refusal(response.status_code, response.content))

    def broke_off(self, cause: httpx.TransportError | None) -> None:
        """The connection ended; with a cause, or because the server closed it."""
        if cause is None and self._stream.ends:
            self._over = True
            return
        what = str(cause) or type(cause).__name__ if cause is not None else "the server closed it"
        failure = Unreachable(f"{self._stream.method} {self._stream.path}: the stream broke off: {what}")
        failure.__cause__ = cause
        self._again(failure)

    def _again(self, failure: CharterError) -> None:
        pause_s = pause(Repeat.HARMLESS, failure, self._failed, self._retry)
        if pause_s is None:
            raise failure
        self._failed, self._pause_s = self._failed + 1, pause_s
