"""A mission from its order to its bundle, without a model."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from charter_client import AsyncCharter, Charter, Mission
from charter_client.codes import AlreadyExists, IllegalTransition, NotFound
from conftest import Server

GOAL = "What does the internet reach in our account, and what is to be fixed first?"
BRIEF = "security.account_brief"
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture(scope="module")
def mission(server: Server) -> Mission:
    """A brief on the account, as far as it goes without a person. The guide and an example order the same one."""
    with Charter(server.address, server.key("ann")) as charter:
        started = charter.missions.start(
            GOAL, mission_type=BRIEF, mission_id="brief-1", model="offline", context_refs={"region": "us-east-1"}
        )
        assert started.offline and not started.is_over
        return charter.missions.wait(started.mission_id, timeout_s=120)


def test_a_mission_comes_to_a_reviewed_output_and_proposals(charter: Charter, mission: Mission) -> None:
    assert mission.output is not None and mission.output["claims"]
    assert all(task.state == "succeeded" for task in mission.tasks)
    assert mission.state == ("awaiting_approval" if mission.proposals else "completed")
    assert mission.mission_id in [found.mission_id for found in charter.missions.list(page_size=1)]
    assert charter.missions.get(mission.mission_id).goal == GOAL


def test_the_same_order_finds_the_mission_and_another_is_refused(charter: Charter, mission: Mission) -> None:
    refs = {"region": "us-east-1"}
    again = charter.missions.start(GOAL, mission_type=BRIEF, mission_id="brief-1", model="offline", context_refs=refs)
    assert again.created_at == mission.created_at
    with pytest.raises(AlreadyExists):
        charter.missions.start("Another goal", mission_type=BRIEF, mission_id="brief-1", model="offline")
    with pytest.raises(NotFound):
        charter.missions.get("brief-unknown")


def test_its_journal_and_artifacts_are_paged(charter: Charter, mission: Mission) -> None:
    events = list(charter.missions.list_events(mission.mission_id, page_size=7))
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert len(events) == charter.missions.get(mission.mission_id).events
    artifacts = list(charter.missions.list_artifacts(mission.mission_id, page_size=3))
    assert [artifact.place for artifact in artifacts] == list(range(1, len(artifacts) + 1))
    results = list(charter.missions.list_artifacts(mission.mission_id, kind="worker_result"))
    assert results and {artifact.kind for artifact in results} == {"worker_result"}
    one = charter.missions.get_artifact(mission.mission_id, "worker_result", results[0].artifact_id)
    assert one == results[0]


async def test_the_same_is_awaited(async_charter: AsyncCharter, mission: Mission, tmp_path: Path) -> None:
    assert (await async_charter.missions.wait(mission.mission_id)).state == mission.state
    first = await anext(async_charter.missions.stream_events(mission.mission_id))
    assert (first.sequence, first.event) == (1, "started")
    found = [found.mission_id async for found in async_charter.missions.list(state=mission.state)]
    assert mission.mission_id in found
    artifacts = [artifact async for artifact in async_charter.missions.list_artifacts(mission.mission_id, page_size=3)]
    assert len(artifacts) == mission.artifacts
    bundle = await async_charter.missions.export(mission.mission_id, tmp_path / "brief.jsonl")
    assert bundle.stat().st_size > 1000


def test_a_mission_is_watched_to_its_end_replayed_compared_and_taken_away(
    server: Server, charter: Charter, mission: Mission, tmp_path: Path
) -> None:
    charter.missions.cancel(mission.mission_id, reason="seen enough")
    watched = list(charter.missions.stream_events(mission.mission_id))
    assert [event.sequence for event in watched] == list(range(1, len(watched) + 1))
    assert watched[-1].mission_state == "cancelled" and charter.missions.get(mission.mission_id).is_over
    rest = charter.missions.stream_events(mission.mission_id, after=watched[-2].sequence)
    assert [event.sequence for event in rest] == [len(watched)]

    replayed = charter.missions.replay(mission.mission_id)
    assert replayed.identical and replayed.artifacts > 10
    assert charter.missions.diff(mission.mission_id, mission.mission_id).same

    bundle = charter.missions.export(mission.mission_id, tmp_path / "brief.jsonl")
    assert server.command("mission", "verify", str(bundle)).returncode == 0
    assert charter.missions.import_(bundle).mission_id == mission.mission_id


OUTSIDE = """
mission_type: outside.brief
domain: reliability
title: Brief by an outside agent
description: What is known about a notice.
sensitivity_class: internal
requested_outputs: [reviewed_summary]
roles: {worker: {by: external}}
outline:
  - {task_id: tell, role_type: worker, objective: "Tell about: ${goal}"}
"""


def test_a_worker_with_the_client_carries_out_two_missions(
    server: Server, charter: Charter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "outside"
    (package / "missions").mkdir(parents=True)
    manifest = "name: outside\nversion: 1.0.0\ntitle: Outside\ndescription: Outside agents.\nscope: tenant\n"
    (package / "package.yaml").write_text(manifest, encoding="utf-8")
    (package / "missions" / "brief.yaml").write_text(OUTSIDE, encoding="utf-8")
    charter.packages.register(package)
    monkeypatch.setenv("CHARTER_SERVER", server.address)
    monkeypatch.setenv("CHARTER_API_KEY", server.key("bob"))
    started = [
        charter.missions.start(
            f"What does notice {number} say?",
            mission_type="outside.brief",
            model="offline",
            context_refs={"notice_id": f"notice_{number}"},
        )
        for number in (1, 2)
    ]
    assert example("mission_worker").main(idle_s=4.0) == len(started)
    for mission in started:
        over = charter.missions.wait(mission.mission_id, timeout_s=60)
        assert over.state == "completed"
        [result] = charter.missions.list_artifacts(mission.mission_id, kind="worker_result")
        assert (result.artifact["producer"], result.artifact["result_id"]) == ("bob", "outside.tell")
        assert charter.missions.replay(mission.mission_id).identical
        [assignment] = charter.missions.list_assignments(mission_id=mission.mission_id)
        assert assignment.state == "accepted"
        with pytest.raises(IllegalTransition):
            charter.missions.claim_assignment(assignment.assignment_id)
    charter.packages.unregister("outside")


def example(name: str) -> Any:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
