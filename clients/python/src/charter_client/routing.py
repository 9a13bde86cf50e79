"""Routing: where the server would send a query."""

from __future__ import annotations

from typing import Literal

from charter_client._operation import Awaiting, Blocking, operation
from charter_client._wire import Call, reading
from charter_client.shown import Verdict

_VERDICT = reading(Verdict)


class RoutingOperations:
    """Route queries without running anything."""

    @operation
    def route_query(
        self,
        query: str,
        *,
        purpose: Literal["actions", "skills", "playbooks", "agents"] = "actions",
        top_k: int | None = None,
    ) -> Call[Verdict]:
        """Where a query would be routed, and why. Nothing is run."""
        return Call("GET", "/v1/route", _VERDICT, query={"query": query, "purpose": purpose, "top_k": top_k})


class Routing(RoutingOperations, Blocking):
    """Route queries without running anything."""


class AsyncRouting(RoutingOperations, Awaiting):
    """Route queries without running anything; every operation is awaited."""
