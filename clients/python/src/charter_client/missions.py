"""Missions: goals that take several hands, and what they produced."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from charter_client._operation import Awaiting, Blocking, iteration, operation
from charter_client._streams import Event, Stream
from charter_client._wire import Call, Pages, Pause, Repeat, Steps, paged, part, reading, without_nothing
from charter_client.contract import (
    MissionArtifact,
    MissionAssignment,
    MissionDiff,
    MissionEvent,
    MissionReplay,
    MissionSummary,
)
from charter_client.errors import WaitedTooLong
from charter_client.runs import FIRST_LOOK_S, LAST_LOOK_S
from charter_client.shown import Mission

_MISSION = reading(Mission)
_REPLAY = reading(MissionReplay)
_DIFF = reading(MissionDiff)
_ARTIFACT = reading(MissionArtifact)
_ASSIGNMENT = reading(MissionAssignment)
_PAGE = paged(MissionSummary)
_ARTIFACTS = paged(MissionArtifact)
_EVENTS = paged(MissionEvent)
_ASSIGNMENTS = paged(MissionAssignment)

#: Where a mission stands that waits for a person.
_WAITS = "awaiting_approval"
#: Where its run stands that was cancelled meanwhile.
_ENDING = frozenset({"stopping", "rolling_back"})


def _path(mission_id: str, rest: str = "") -> str:
    return f"/v1/missions/{part(mission_id)}{rest}"


def _assignment(assignment_id: str, rest: str = "") -> str:
    return f"/v1/mission-assignments/{part(assignment_id)}{rest}"


def _wait(mission_id: str, timeout_s: float) -> Steps[Mission]:
    deadline, pause_s = time.monotonic() + timeout_s, FIRST_LOOK_S
    while True:
        mission = yield from Call("GET", _path(mission_id), _MISSION)
        if mission.is_over or (mission.state == _WAITS and mission.status not in _ENDING):
            return mission
        if time.monotonic() + pause_s > deadline:
            raise WaitedTooLong(f"{mission_id} is still {mission.state} after {timeout_s} s")
        yield Pause(pause_s)
        pause_s = min(pause_s * 1.5, LAST_LOOK_S)


def _event(event: Event) -> MissionEvent:
    return MissionEvent.model_validate(event.data)


class MissionOperations:
    """Begin missions and look after them. Unknown ids raise `NotFound`."""

    @operation
    def start(
        self,
        goal: str | None = None,
        *,
        envelope: Mapping[str, Any] | None = None,
        mission_type: str | None = None,
        mission_id: str | None = None,
        model: Literal["offline", "routes"] | None = None,
        context_refs: Mapping[str, Any] | None = None,
        requested_outputs: Sequence[str] = (),
        time_budget_ms: int | None = None,
        token_budget: int | None = None,
    ) -> Call[Mission]:
        """Begins a mission. The same order under the same `mission_id` finds the mission that it began.

        Without an id one is made here, so that the order may be sent again when no answer comes.
        `model="offline"` asks no model. Raises `AlreadyExists` for another order under the id.
        A `mission_envelope` takes the place of all arguments but `model`.
        """
        if envelope is not None:
            return Call("POST", "/v1/missions", _MISSION, query={"model": model}, body=dict(envelope))
        body = without_nothing(
            goal=goal,
            mission_type=mission_type,
            mission_id=mission_id or f"mission-{uuid4()}",
            origin_surface="python",
            model=model,
            context_refs=dict(context_refs or {}),
            requested_outputs=[*requested_outputs],
            time_budget_ms=time_budget_ms,
            token_budget=token_budget,
        )
        return Call("POST", "/v1/missions", _MISSION, body=body)

    @iteration
    def list(self, *, state: str | None = None, page_size: int = 50) -> Pages[MissionSummary]:
        """The tenant's missions, newest first; only those in this state."""
        return Pages("/v1/missions", _PAGE, {"state": state, "limit": page_size})

    @operation
    def get(self, mission_id: str) -> Call[Mission]:
        """Where it stands, its tasks, its reviewed output, its proposals."""
        return Call("GET", _path(mission_id), _MISSION)

    @operation
    def wait(self, mission_id: str, *, timeout_s: float = 600.0) -> Steps[Mission]:
        """The mission once it is over or waits for an approval. Raises `WaitedTooLong` after `timeout_s`."""
        return _wait(mission_id, timeout_s)

    @operation
    def cancel(self, mission_id: str, *, reason: str | None = None) -> Call[Mission]:
        """Stops it; what it produced stays."""
        return Call("POST", _path(mission_id, "/cancel"), _MISSION, body={"reason": reason}, repeat=Repeat.NEVER)

    @iteration
    def list_events(self, mission_id: str, *, page_size: int = 200) -> Pages[MissionEvent]:
        """Its journal so far, oldest first."""
        return Pages(_path(mission_id, "/events"), _EVENTS, {"limit": page_size})

    @iteration
    def stream_events(self, mission_id: str, *, after: int = 0) -> Stream[MissionEvent]:
        """Its journal as it is written, from the event after `after` on, until the mission is over.

        Goes on where it stopped when the connection breaks.
        """
        return Stream("GET", _path(mission_id, "/events"), _event, lambda event: False, {"after": after})

    @iteration
    def list_artifacts(
        self, mission_id: str, *, kind: str | None = None, task_id: str | None = None, page_size: int = 50
    ) -> Pages[MissionArtifact]:
        """What it produced, in the order of writing; only of a kind (`worker_result`) or for a task."""
        query = {"kind": kind, "task": task_id, "limit": page_size}
        return Pages(_path(mission_id, "/artifacts"), _ARTIFACTS, query)

    @operation
    def get_artifact(self, mission_id: str, kind: str, artifact_id: str) -> Call[MissionArtifact]:
        """One artifact, in the present form of its contract."""
        return Call("GET", _path(mission_id, f"/artifacts/{part(kind)}/{part(artifact_id)}"), _ARTIFACT)

    @iteration
    def list_assignments(self, *, mission_id: str | None = None, page_size: int = 50) -> Pages[MissionAssignment]:
        """The tasks that this credential's agent may claim, newest first; all of a mission with its id."""
        return Pages("/v1/mission-assignments", _ASSIGNMENTS, {"mission": mission_id, "limit": page_size})

    @operation
    def get_assignment(self, assignment_id: str) -> Call[MissionAssignment]:
        """One of them; its holder also gets the lease and the input of the present turn."""
        return Call("GET", _assignment(assignment_id), _ASSIGNMENT)

    @operation
    def claim_assignment(self, assignment_id: str) -> Call[MissionAssignment]:
        """Claims a task under a lease that ends with its pass. Raises `IllegalTransition` if it is claimed already."""
        return Call("POST", _assignment(assignment_id, "/claim"), _ASSIGNMENT, repeat=Repeat.NEVER)

    @operation
    def submit_assignment(
        self,
        assignment_id: str,
        lease_id: str,
        *,
        artifacts: Sequence[Mapping[str, Any]] = (),
        calls: Sequence[Mapping[str, Any]] = (),
    ) -> Call[MissionAssignment]:
        """Submits the artifacts of a claimed task, or the calls of tools that it needs first.

        Raises `InvalidDocument` if the mission refuses the result, which can be corrected, and `IllegalTransition`
        after the end of the lease.
        """
        body = {
            "lease_id": lease_id,
            "artifacts": [dict(artifact) for artifact in artifacts],
            "calls": [dict(call) for call in calls],
        }
        path = _assignment(assignment_id, "/submissions")
        return Call("POST", path, _ASSIGNMENT, body=body, repeat=Repeat.NEVER)

    @operation
    def release_assignment(self, assignment_id: str, lease_id: str) -> Call[MissionAssignment]:
        """Gives a claimed task back to the other agents."""
        path = _assignment(assignment_id, "/release")
        return Call("POST", path, _ASSIGNMENT, body={"lease_id": lease_id}, repeat=Repeat.NEVER)

    @operation
    def replay(self, mission_id: str) -> Call[MissionReplay]:
        """Works it out again from its journal, without a model or a tool."""
        return Call("POST", _path(mission_id, "/replay"), _REPLAY)

    @operation
    def diff(self, mission_id: str, other_id: str) -> Call[MissionDiff]:
        """What two missions differ in, ids and times apart."""
        return Call("GET", _path(mission_id, f"/diff/{part(other_id)}"), _DIFF)

    @operation
    def export(self, mission_id: str, file: str | Path) -> Call[Path]:
        """Exports it into a file that proves itself; `charter mission verify` checks it. Gives the file."""
        target = Path(file)
        return Call("GET", _path(mission_id, "/bundle"), lambda _: target, file=target)

    @operation
    def import_(self, file: str | Path) -> Call[Mission]:
        """Imports a mission that has ended elsewhere from its bundle; it is read only then."""
        content = Path(file).read_bytes()
        headers = {"content-type": "application/x-ndjson"}
        return Call("POST", "/v1/missions/import", _MISSION, content=content, headers=headers)


class Missions(MissionOperations, Blocking):
    """Begin missions and look after them."""


class AsyncMissions(MissionOperations, Awaiting):
    """Begin missions and look after them; every operation is awaited."""
