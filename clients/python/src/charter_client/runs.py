"""Runs: durable executions of playbooks, plans and skills."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

from charter_client._operation import Awaiting, Blocking, iteration, operation
from charter_client._wire import Call, Pages, Pause, Repeat, Steps, moment, paged, part, reading
from charter_client.contract import RunAt, RunReplay, RunSummary
from charter_client.errors import WaitedTooLong
from charter_client.shown import Run

#: Between two looks at what goes on by itself, in seconds: short at first, then longer.
FIRST_LOOK_S = 0.05
LAST_LOOK_S = 2.0

_RUN = reading(Run)
_PAGE = paged(RunSummary)
_REPLAY = reading(RunReplay)
_AT = reading(RunAt)

Origin = Literal["skill", "playbook", "plan", "mission", "rollback", "analysis"]
PlanKind = Literal["execution_plan", "pipeline", "decision_tree"]


def get_run(run_id: str) -> Call[Run]:
    """The call that reads a run."""
    return Call("GET", f"/v1/runs/{part(run_id)}", _RUN)


def order_run(run_id: str, order: str, body: Mapping[str, object] | None = None) -> Call[Run]:
    """The call that orders a run to do something."""
    return Call("POST", f"/v1/runs/{part(run_id)}/{order}", _RUN, body=body, repeat=Repeat.NEVER)


def wait_for_run(run_id: str, timeout_s: float) -> Steps[Run]:
    """Looks at a run until nothing of it goes on by itself."""
    deadline, pause_s = time.monotonic() + timeout_s, FIRST_LOOK_S
    while (run := (yield from get_run(run_id))).is_busy:
        if time.monotonic() + pause_s > deadline:
            raise WaitedTooLong(f"{run_id} is still {run.status} after {timeout_s} s")
        yield Pause(pause_s)
        pause_s = min(pause_s * 1.5, LAST_LOOK_S)
    return run


class RunOperations:
    """Start, look at and steer runs. Unknown ids, also those of other tenants, raise `NotFound`."""

    @iteration
    def list(
        self,
        *,
        status: str | None = None,
        origin: Origin | None = None,
        title: str | None = None,
        created_from: datetime | None = None,
        created_until: datetime | None = None,
        page_size: int = 50,
    ) -> Pages[RunSummary]:
        """The tenant's runs, newest first; a page at a time is fetched, at most 1,000.

        `status` is one like `awaiting_approval`, or `open` for all that have not ended, or `ended`; `title` is a text
        in the title, in whatever case.
        """
        query = {
            "status": status,
            "origin": origin,
            "title": title,
            "created_from": moment(created_from),
            "created_until": moment(created_until),
        }
        return Pages("/v1/runs", _PAGE, {**query, "limit": page_size})

    @operation
    def get(self, run_id: str) -> Call[Run]:
        """A run with its plan, what it waits for and its journal."""
        return get_run(run_id)

    @operation
    def get_at(self, run_id: str, sequence: int) -> Call[RunAt]:
        """A run as it stood after an event of its journal, by the event's position."""
        return Call("GET", f"/v1/runs/{part(run_id)}/at/{sequence}", _AT)

    @operation
    def wait(self, run_id: str, *, timeout_s: float = 600.0) -> Steps[Run]:
        """The run once nothing of it goes on by itself: it is over, paused, or waits for a person.

        Raises `WaitedTooLong` after `timeout_s`; the run goes on.
        """
        return wait_for_run(run_id, timeout_s)

    @operation
    def start_playbook(
        self, playbook_id: str, parameters: Mapping[str, Any] | None = None, *, dry_run: bool = False
    ) -> Call[Run]:
        """Starts a run of a playbook. It waits for what it needs: parameters, a confirmation, approvals.

        Sent once: when no answer comes, look at `list` before starting another. `requests.create` with
        `playbook_id` may be repeated under the same request id.
        """
        body = {"parameters": dict(parameters or {}), "dry_run": dry_run}
        return Call("POST", f"/v1/playbooks/{part(playbook_id)}/runs", _RUN, body=body, repeat=Repeat.NEVER)

    @operation
    def start(
        self,
        plan: Mapping[str, Any],
        *,
        kind: PlanKind = "execution_plan",
        fallbacks: tuple[Mapping[str, Any], ...] = (),
        parameters: Mapping[str, Any] | None = None,
        dry_run: bool = False,
    ) -> Call[Run]:
        """Runs a plan of the caller's own over registered tools (docs/reference/plans.md).

        Each write waits for an approval, and the plan for a confirmation unless the approval shows all writes. Raises
        `InvalidDocument` with every violation.
        """
        body = {
            kind: dict(plan),
            "fallbacks": [dict(fallback) for fallback in fallbacks],
            "parameters": dict(parameters or {}),
            "dry_run": dry_run,
        }
        return Call("POST", "/v1/runs", _RUN, body=body, repeat=Repeat.NEVER)

    @operation
    def call_tool(
        self, tool_id: str, parameters: Mapping[str, Any] | None = None, *, dry_run: bool = False
    ) -> Call[Run]:
        """Calls one tool, as a plan of one step, so that the gate is asked as for everything else.

        What the tool gave is `run.output()` once the run is `completed`.
        """
        return call_tool(tool_id, parameters or {}, dry_run)

    @operation
    def set_parameters(self, run_id: str, parameters: Mapping[str, Any]) -> Call[Run]:
        """Sets values for parameters of a run that has not begun."""
        return order_run(run_id, "parameters", {"parameters": dict(parameters)})

    @operation
    def confirm(self, run_id: str, plan_digest: str, *, typed: str | None = None) -> Call[Run]:
        """Agrees to the plan with this digest, which then begins.

        `typed` is the value of the parameter that `run.typed` names, for destructive playbooks.
        Raises `IllegalTransition` when the plan is another, or the run has begun.
        """
        return order_run(run_id, "confirm", {"digest": plan_digest, "typed": typed})

    @operation
    def pause(self, run_id: str) -> Call[Run]:
        """Lets nothing new start; what is under way ends."""
        return order_run(run_id, "pause")

    @operation
    def resume(self, run_id: str) -> Call[Run]:
        """Lets a paused run go on."""
        return order_run(run_id, "resume")

    @operation
    def abort(self, run_id: str, *, reason: str | None = None, roll_back: bool = False) -> Call[Run]:
        """Ends a run early; with `roll_back` what it wrote is reversed."""
        return order_run(run_id, "abort", {"reason": reason, "roll_back": roll_back})

    @operation
    def rollback(self, run_id: str) -> Call[Run]:
        """Reverses what a run that has ended wrote, by a run of its own, which is returned."""
        return order_run(run_id, "rollback")

    @operation
    def replay(self, run_id: str) -> Call[RunReplay]:
        """Folds the journal again without any effect: where it is not what the run machine wrote, if anywhere."""
        return Call("GET", f"/v1/runs/{part(run_id)}/replay", _REPLAY)


def call_tool(tool_id: str, parameters: Mapping[str, Any], dry_run: bool) -> Call[Run]:
    """The call that runs a plan of one step."""
    id_ = uuid4()
    plan = {
        "id": f"plan-{id_}",
        "request_id": f"req-{id_}",
        "steps": [{"id": "step-001", "tool": tool_id, "parameters": dict(parameters)}],
    }
    body = {"execution_plan": plan, "dry_run": dry_run}
    return Call("POST", "/v1/runs", _RUN, body=body, repeat=Repeat.NEVER)


class Runs(RunOperations, Blocking):
    """Start, look at and steer runs."""


class AsyncRuns(RunOperations, Awaiting):
    """Start, look at and steer runs; every operation is awaited."""
