"""Events of the tenant: changes of its runs, approvals, requests, catalogue and keys."""

from __future__ import annotations

from charter_client import _streams
from charter_client._operation import Awaiting, Blocking, iteration
from charter_client._streams import Stream
from charter_client.shown import Event


def _event(sent: _streams.Event) -> Event:
    return Event.model_validate({"id": sent.id, "topic": sent.name, **sent.data})


class EventOperations:
    """Stream the tenant's events."""

    @iteration
    def stream(self, *, topic: str | None = None, after: int | None = None) -> Stream[Event]:
        """The tenant's events as they happen; the stream does not end by itself.

        Only those of a topic (`approval.requested`) or of the topics below it (`approval`); after the event
        with the id `after`, or from now on. Resumes after the last event when the connection breaks.
        """
        query = {"topic": topic, "after": after}
        return Stream("GET", "/v1/events", _event, lambda event: False, query, ends=False)


class Events(EventOperations, Blocking):
    """Stream the tenant's events."""


class AsyncEvents(EventOperations, Awaiting):
    """Stream the tenant's events, with `async for`."""
