"""Carry out the workers' tasks of missions whose type leaves them to outside agents (`by: external`).

The worker has no model: it requests the calls that the task's skills recommend, and reports their outcomes. Put your
own agent in the place of `report`. It ends when no task has come for some seconds: `python mission_worker.py 60`.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from charter_client import Charter
from charter_client.codes import IllegalTransition, InvalidDocument
from charter_client.contract import AssignmentBrief, MissionAssignment

IDLE_S = 2.0
PAUSE_S = 0.2


def calls_first(brief: AssignmentBrief) -> list[dict[str, Any]]:
    """The calls that the task needs before its result."""
    if not brief.may_call or brief.context["calls"]:
        return []
    return list(brief.context["recommended_calls"])


def report(brief: AssignmentBrief) -> dict[str, Any]:
    """The result: what is known, with its sources. A real agent answers `brief.task_prompt` here."""
    outcomes = [f"{call['tool']}: {call.get('output', call.get('failed'))}" for call in brief.context["calls"]]
    findings = [f"finding: {found['finding']}" for found in brief.context["findings"]]
    sources = [{"kind": source["kinds"][0], "ref": source["ref"]} for source in brief.context["citable"]]
    return {
        "schema_name": "worker_result",
        "result_id": f"outside.{brief.prompt_package.task_id if brief.prompt_package else 'task'}",
        "output_text": "\n".join([*outcomes, *findings])[:8000] or f"Nothing new on: {brief.objective}",
        "citations": sources[:50],
        "confidence": 0.7,
    }


def next_turn(charter: Charter, assignment: MissionAssignment) -> MissionAssignment:
    """The assignment once Charter has made the requested calls."""
    while True:
        shown = charter.missions.get_assignment(assignment.assignment_id)
        if shown.turn > assignment.turn or shown.state == "closed":
            return shown
        time.sleep(PAUSE_S)


def carry_out(charter: Charter, assignment: MissionAssignment) -> str:
    """Carries out a claimed task; returns what became of it."""
    missions = charter.missions
    while assignment.brief is not None and assignment.lease_id is not None:
        calls = calls_first(assignment.brief)
        if not calls:
            artifacts = [report(assignment.brief)]
            return missions.submit_assignment(assignment.assignment_id, assignment.lease_id, artifacts=artifacts).state
        missions.submit_assignment(assignment.assignment_id, assignment.lease_id, calls=calls)
        assignment = next_turn(charter, assignment)
    return assignment.state


def main(idle_s: float = IDLE_S) -> int:
    """Works until no task has come for `idle_s`; returns the number of finished tasks."""
    done, last = 0, time.monotonic()
    with Charter() as charter:
        while time.monotonic() - last < idle_s:
            for found in list(charter.missions.list_assignments()):
                if found.role_type != "worker" or found.state != "offered":
                    continue
                try:
                    claimed = charter.missions.claim_assignment(found.assignment_id)
                except IllegalTransition:
                    continue  # Another agent was quicker.
                last = time.monotonic()
                try:
                    state = carry_out(charter, claimed)
                except InvalidDocument as refused:
                    print(f"{found.assignment_id} was refused: {refused}")
                    if claimed.lease_id is not None:
                        charter.missions.release_assignment(found.assignment_id, claimed.lease_id)
                    return done
                print(f"{found.mission_id} {found.task_id}: {state}")
                done += 1
            time.sleep(PAUSE_S)
    print(f"{done} tasks")
    return done


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else IDLE_S)
