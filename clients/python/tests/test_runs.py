"""Runs that change something: what they wait for, who says it, and how they are steered."""

from __future__ import annotations

import pytest

from charter_client import Answer, AsyncCharter, Charter, Run, WaitedTooLong
from charter_client.codes import IllegalTransition, InvalidDocument, PermissionDenied, VersionConflict
from conftest import Server

REMEDIATE, PUBLISH = "security.remediate_public_exposure", "reliability.publish_notice"
REGION = {"region": "us-east-1", "profile": ""}
TEXT = {"text": "Closed on Monday."}


def ended(charter: Charter, *runs: Run) -> None:
    """Aborts runs, so that later ones with the same call do not wait for them."""
    for run in runs:
        charter.runs.abort(run.run_id)
        assert charter.runs.wait(run.run_id).status == "aborted"


def awaiting_approval(charter: Charter) -> Run:
    """A run whose approval is the only decision."""
    run = charter.runs.start_playbook(PUBLISH, TEXT)
    run = charter.runs.wait(run.run_id)
    assert run.waits_for == "approval"
    return run


def test_a_change_waits_for_parameters_confirmation_and_approval(
    server: Server, charter: Charter, bob: Charter
) -> None:
    answer = charter.requests.create("put a notice on the site of the shop")
    assert answer.waits_for == "parameters"
    assert answer.run_id is not None and answer.metadata.missing_parameters == ["text"]

    run = charter.runs.set_parameters(answer.run_id, TEXT)
    assert run.waits_for == "confirmation" and all(step.state == "pending" for step in run.steps)
    with pytest.raises(IllegalTransition, match="read the plan again"):
        charter.runs.confirm(run.run_id, "sha256:another")

    charter.runs.confirm(run.run_id, run.plan_digest)
    run = charter.runs.wait(run.run_id)
    (approval,) = run.approvals
    assert (approval.call.tool, approval.requested_by, approval.four_eyes) == ("charter.fs.write", "ann", True)
    assert approval.call.parameters["content"] == "Closed on Monday."
    with pytest.raises(PermissionDenied):
        charter.approvals.approve(approval.approval_id, approval.digest)
    with pytest.raises(VersionConflict):
        bob.approvals.approve(approval.approval_id, "sha256:another")

    seen = bob.approvals.get(approval.approval_id)
    assert (seen.call, seen.digest, seen.run_title) == (approval.call, approval.digest, run.title)
    assert list(bob.approvals.list(state="pending", run_id=run.run_id)) == [seen]
    assert [found.run_id for found in charter.runs.list(status="awaiting_approval", origin="playbook")] == [run.run_id]
    assert list(charter.runs.list(title="no such title")) == []
    assert charter.runs.get_at(run.run_id, 1).status == "awaiting_parameters"
    rejected = bob.approvals.reject(approval.approval_id, seen.digest, reason="not on a Friday")
    assert (rejected.state, rejected.by, rejected.reason) == ("rejected", "bob", "not on a Friday")
    with pytest.raises(IllegalTransition):
        bob.approvals.approve(approval.approval_id, seen.digest)

    run = charter.runs.wait(run.run_id)
    assert run.status == "rejected" and server.notice.read_text(encoding="utf-8") == "Open every day."
    failure = next(step.failure for step in run.steps if step.failure)
    assert failure.code == "approval_rejected"
    replay = charter.runs.replay(run.run_id)
    assert replay.divergence is None and replay.events == len(run.events)


def test_what_was_approved_is_done_proved_and_taken_back(server: Server, charter: Charter, bob: Charter) -> None:
    run = awaiting_approval(charter)
    (approval,) = run.approvals
    bob.approvals.approve(approval.approval_id, approval.digest, reason="agreed")
    run = charter.runs.wait(run.run_id)
    assert run.status == "completed" and server.notice.read_text(encoding="utf-8") == "Closed on Monday."
    assert run.output("look")["content"] == "Open every day." and run.output() == run.output("publish")
    decisions = {step.step: step.approvals for step in charter.gate.explain(run=run.run_id).steps}
    assert decisions["publish"][0].by == "bob"

    back = charter.runs.wait(charter.runs.rollback(run.run_id).run_id)
    for asked in bob.approvals.list(state="pending", run_id=back.run_id):
        bob.approvals.approve(asked.approval_id, asked.digest)
    back = charter.runs.wait(back.run_id)
    assert server.notice.read_text(encoding="utf-8") == "Open every day." and not back.is_busy


def test_a_request_has_the_result_of_its_change(server: Server, charter: Charter, bob: Charter) -> None:
    answer = charter.requests.create("put a notice on the site of the shop", TEXT)
    run_id, digest = answer.run_id, answer.metadata.plan_digest
    assert answer.waits_for == "confirmation" and run_id is not None and digest is not None
    assert charter.requests.get(answer.request_id).result is None
    charter.runs.confirm(run_id, digest)
    (approval,) = charter.runs.wait(run_id).approvals
    bob.approvals.approve(approval.approval_id, approval.digest)
    charter.runs.wait(run_id)

    recorded = charter.requests.get(answer.request_id)
    result = recorded.result
    assert result is not None and result.id != answer.id and recorded.answer["id"] == answer.id
    assert (result.metadata.status, result.waits_for, result.metadata.undone) == ("completed", None, [])
    (change,) = result.metadata.changes
    assert (change.step_id, change.tool_id, change.reversed) == ("publish", "charter.fs.write", False)
    # The server has no page that a record could link to, so the write leaves none (B000-19).
    assert change.before != change.after and change.evidence_ids == []
    assert Answer.model_validate(charter.send("POST", "/v1/requests", recorded.received["request"])).id == result.id

    back = charter.runs.wait(charter.runs.rollback(run_id).run_id)
    (asked,) = back.approvals
    bob.approvals.approve(asked.approval_id, asked.digest)
    charter.runs.wait(back.run_id)
    assert server.notice.read_text(encoding="utf-8") == "Open every day."


def test_a_dry_run_changes_nothing_and_asks_nobody(server: Server, charter: Charter) -> None:
    run = charter.runs.wait(charter.runs.start_playbook(PUBLISH, TEXT, dry_run=True).run_id)
    assert (run.dry_run, run.waits_for, run.is_busy) == (True, None, False)
    assert server.notice.read_text(encoding="utf-8") == "Open every day."


def test_runs_are_paused_resumed_and_aborted(charter: Charter) -> None:
    run = awaiting_approval(charter)
    assert charter.runs.pause(run.run_id).status == "paused"
    assert charter.runs.resume(run.run_id).status == "awaiting_approval"
    charter.runs.abort(run.run_id, reason="enough")
    assert charter.runs.wait(run.run_id).status == "aborted"
    (lapsed,) = charter.approvals.list(run_id=run.run_id)
    assert lapsed.state == "lapsed"


def test_a_tool_is_called_through_the_gate(charter: Charter) -> None:
    run = charter.runs.wait(charter.runs.call_tool("aws.describe_security_groups", REGION).run_id)
    assert run.status == "completed" and run.output()[0]["GroupId"].startswith("sg-")
    assert charter.gate.explain(run=run.run_id).steps[0].decisions
    opened = {"group_id": "sg-0a1b2c3d", "protocol": "tcp", "from_port": 22, "to_port": 22, "cidr": "0.0.0.0/0"}
    rules = {"region": "us-east-1", "rules": [opened]}
    said = charter.gate.explain(tool="aws.lock_security_group", playbook=REMEDIATE, step="step_2", parameters=rules)
    assert said.verdict == "needs_approval" and said.rules


def test_a_plan_that_cannot_be_run_is_refused_with_every_violation(charter: Charter) -> None:
    with pytest.raises(InvalidDocument) as refused:
        charter.runs.start({"id": "plan-1", "steps": []})
    assert len(refused.value.details["violations"]) > 1


def test_listings_go_over_all_pages(charter: Charter) -> None:
    started = [charter.runs.start_playbook(PUBLISH, TEXT) for _ in range(3)]
    few, all_ = charter.runs.list(page_size=2), charter.runs.list(page_size=1000)
    assert [run.run_id for run in few] == [run.run_id for run in all_]
    ended(charter, *started)


def test_a_run_waits_for_another_one_with_the_same_call(charter: Charter) -> None:
    first = awaiting_approval(charter)
    second = charter.runs.wait(charter.runs.start_playbook(PUBLISH, TEXT).run_id)
    assert (second.status, second.waits_for, second.approvals) == ("paused", None, [])
    assert second.awaited_run is not None and second.awaited_run.run_id == first.run_id
    assert first.run_id in second.awaited_run.reason
    ended(charter, second, first)


def test_waiting_ends(charter: Charter, monkeypatch: pytest.MonkeyPatch) -> None:
    run = awaiting_approval(charter)
    assert charter.runs.wait(run.run_id, timeout_s=0).waits_for == "approval"
    monkeypatch.setattr("charter_client.shown.BUSY", frozenset({run.status}))
    with pytest.raises(WaitedTooLong, match="still awaiting_approval"):
        charter.runs.wait(run.run_id, timeout_s=0.1)
    monkeypatch.undo()
    ended(charter, run)


def test_what_happens_is_announced(charter: Charter) -> None:
    run = charter.runs.start_playbook(PUBLISH, TEXT)
    told = charter.events.stream(topic="run.status", after=0)
    announced = next(event for event in told if event.data.get("run_id") == run.run_id)
    assert announced.topic == "run.status" and announced.data["status"] == "working"
    ended(charter, run)


async def test_the_same_is_awaited(async_charter: AsyncCharter) -> None:
    run = await async_charter.runs.start_playbook(PUBLISH, TEXT)
    run = await async_charter.runs.wait(run.run_id)
    (approval,) = run.approvals
    with pytest.raises(PermissionDenied):
        await async_charter.approvals.approve(approval.approval_id, approval.digest)
    asked = [found.approval_id async for found in async_charter.approvals.list(run_id=run.run_id)]
    assert asked == [approval.approval_id]
    await async_charter.runs.abort(run.run_id)
    assert (await async_charter.runs.wait(run.run_id)).status == "aborted"
    announced = await anext(async_charter.events.stream(topic="run.status", after=0))
    assert announced.topic == "run.status"
