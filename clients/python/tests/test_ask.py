"""Asking: an answer with findings and proof, on the way to it, and again."""

from __future__ import annotations

import pytest

from charter_client import Answer, AsyncCharter, Charter, Progress
from charter_client.codes import AlreadyExists, NoMatch, NotFound
from charter_client.errors import ApiError

OPEN_GROUPS = "Which of my security groups are open to the internet?"


def test_an_answer_has_its_findings_evidence_verdict_and_run(charter: Charter) -> None:
    answer = charter.requests.create(OPEN_GROUPS, parameters={"region": "us-east-1"})
    assert isinstance(answer, Answer)
    assert " ways in from the internet" in answer.content
    assert answer.verdict is not None and answer.verdict.kind == "narrow"
    assert {finding.severity for finding in answer.findings} >= {"critical", "high"}
    assert all(charter.evidence.get(id_).id == id_ for id_ in answer.evidence_ids[:3])
    assert answer.waits_for is None
    run = charter.runs.get(answer.run_id or "")
    assert (run.status, run.waits_for, run.is_busy) == ("completed", None, False)


def test_a_stream_tells_the_way_and_ends_with_the_answer(charter: Charter) -> None:
    *progress, answer = charter.requests.stream(OPEN_GROUPS, {"region": "us-east-1"})
    assert all(isinstance(event, Progress) for event in progress)
    stages = [event.stage for event in progress if isinstance(event, Progress)]
    assert stages[0] == "routed" and stages[-1] == "analysed" and "step_finished" in stages
    assert isinstance(answer, Answer) and answer.findings


def test_a_request_sent_again_gets_the_recorded_answer(charter: Charter) -> None:
    first = charter.requests.create(OPEN_GROUPS)
    recorded = charter.requests.get(first.request_id)
    again = Answer.model_validate(charter.send("POST", "/v1/requests", recorded.received["request"]))
    assert again == first
    with pytest.raises(AlreadyExists):
        charter.requests.create("something else", request_id=first.request_id)


def test_nothing_that_fits_is_an_error_of_its_own_class(charter: Charter) -> None:
    with pytest.raises(NoMatch) as refused:
        charter.requests.create("which cakes have cherries?")
    assert (refused.value.status, refused.value.retryable) == (404, False)
    assert refused.value.hint and "register a skill" in refused.value.hint
    with pytest.raises(NoMatch):
        list(charter.requests.stream("which cakes have cherries?"))


def test_errors_carry_what_the_server_says(charter: Charter) -> None:
    with pytest.raises(NotFound) as refused:
        charter.runs.get("run-01930000-0000-7000-8000-000000000001")
    error = refused.value
    assert isinstance(error, ApiError)
    assert (error.code, error.status, error.retryable) == ("not_found", 404, False)
    assert error.error_id is not None and error.error_id.startswith("err-")
    assert error.details["documentation"] == "docs/errors/not_found.md"
    assert str(error).startswith("[not_found] ")


def test_routing_explains_itself_and_runs_nothing(charter: Charter) -> None:
    before = [run.run_id for run in charter.runs.list()]
    verdict = charter.routing.route_query("are any buckets public?")
    assert verdict.kind == "narrow"
    assert verdict.candidates[0].id == "security.detect_public_storage_access"
    assert verdict.thresholds.narrow > verdict.thresholds.floor
    assert [run.run_id for run in charter.runs.list()] == before


def test_a_session_is_created_and_remembers_its_turns(charter: Charter) -> None:
    session = charter.sessions.create()
    charter.requests.create(OPEN_GROUPS, {"region": "us-east-1"}, session_id=session.session_id)
    assert [turn.input for turn in charter.sessions.get(session.session_id).turns] == [OPEN_GROUPS]


async def test_the_same_is_awaited(async_charter: AsyncCharter) -> None:
    answer = await async_charter.requests.create(OPEN_GROUPS, parameters={"region": "us-east-1"})
    assert answer.findings
    events = [event async for event in async_charter.requests.stream(OPEN_GROUPS)]
    assert isinstance(events[-1], Answer) and len(events) > 3
    with pytest.raises(NoMatch):
        await async_charter.requests.create("which cakes have cherries?")
