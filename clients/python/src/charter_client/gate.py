"""The gate: what it decides on calls of tools, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from charter_client._operation import Awaiting, Blocking, operation
from charter_client._wire import Call, reading, without_nothing
from charter_client.shown import Explanation

_EXPLANATION = reading(Explanation)


class GateOperations:
    """Explain decisions of the gate."""

    @operation
    def explain(
        self,
        *,
        tool: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        skill: str | None = None,
        playbook: str | None = None,
        step: str | None = None,
        dry_run: bool | None = None,
        persona: str | None = None,
        run: str | None = None,
    ) -> Call[Explanation]:
        """The gate's decision on a call that the caller might make, or its decisions on a run. No tool is called.

        Give exactly one of `tool` and `run`; with `tool` a `skill` or `playbook`, or neither for a plan.
        """
        body = without_nothing(
            tool=tool,
            parameters=dict(parameters) if parameters is not None else None,
            skill=skill,
            playbook=playbook,
            step=step,
            dry_run=dry_run,
            persona=persona,
            run=run,
        )
        return Call("POST", "/v1/gate/explain", _EXPLANATION, body=body)


class Gate(GateOperations, Blocking):
    """Explain decisions of the gate."""


class AsyncGate(GateOperations, Awaiting):
    """Explain decisions of the gate; every operation is awaited."""
