"""Tools without an implementation of their own: taken, held, carried out by functions, reported."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from charter_client import AsyncCharter, Charter, Run
from charter_client.codes import IllegalTransition, PermissionDenied, TooLarge
from charter_client.contract import ExecutorCall
from charter_client.errors import ApiError
from charter_client.executor import MESSAGE_BYTES, Handler, ToolFailed, failed, reporting, succeeded
from conftest import Server

PRINT = "press.print_notice"


def call_of(**fields: object) -> ExecutorCall:
    """A call as the server gives it."""
    known = {
        "lease_id": "lease-1",
        "lease_ms": 15000,
        "tool_id": PRINT,
        "implementation": {"type": "handler"},
        "parameters": {},
        "dry_run": False,
        "idempotency_key": "k",
        "timeout_ms": 60000,
        "output_bytes": 100,
    }
    return ExecutorCall.model_validate(known | fields)


@contextmanager
def serving(charter: Charter, handlers: Mapping[str, Handler]) -> Iterator[None]:
    """A thread that carries out calls, while the block runs."""
    stop = threading.Event()
    how: dict[str, Any] = {"executor": "test", "stop": stop, "wait_s": 0.5}
    serving = threading.Thread(target=charter.executor.serve, args=(handlers,), kwargs=how)
    serving.start()
    try:
        yield
    finally:
        stop.set()
        serving.join()


def printed(charter: Charter, handler: Callable[[ExecutorCall], object], text: str) -> Run:
    """The run of a call that a handler carried out."""
    with serving(charter, {PRINT: handler}):
        return charter.runs.wait(charter.runs.call_tool(PRINT, {"text": text}).run_id, timeout_s=60)


def test_a_function_carries_out_a_tool_without_an_implementation(charter: Charter) -> None:
    seen: list[ExecutorCall] = []

    def typeset(call: ExecutorCall) -> object:
        seen.append(call)
        return {"lines": len(call.parameters["text"].split("\n")), "paper": call.parameters["size"]}

    run = printed(charter, typeset, "Closed\non Monday.")
    assert (run.status, run.output()) == ("completed", {"lines": 2, "paper": "a3"})
    (call,) = seen
    assert (call.tool_id, call.parameters["text"], call.dry_run) == (PRINT, "Closed\non Monday.", False)
    assert call.idempotency_key and call.implementation.type == "handler"


def test_what_a_function_raises_is_the_failure_of_the_step(charter: Charter) -> None:
    def jammed(call: ExecutorCall) -> object:
        raise ToolFailed("the press is jammed", error_type="resource_error")

    def broken(call: ExecutorCall) -> object:
        raise KeyError("ink")

    for handler, said in [(jammed, "the press is jammed"), (broken, "KeyError: 'ink'")]:
        run = printed(charter, handler, "Sale")
        failure = next(step.failure for step in run.steps if step.failure)
        assert run.status == "failed" and said in failure.message


def test_a_call_is_taken_by_hand_and_reported_once(server: Server, charter: Charter) -> None:
    run = charter.runs.call_tool(PRINT, {"text": "Open"})
    call = charter.executor.lease_call([PRINT], wait_s=30)
    assert call is not None
    assert charter.executor.renew_lease(call.lease_id).lease_ms == call.lease_ms
    outcome = {"result": {"status": "succeeded", "output": {"lines": 1}}, "duration_ms": 3}
    charter.executor.report_outcome(call.lease_id, outcome)
    with pytest.raises(IllegalTransition):
        charter.executor.report_outcome(call.lease_id, outcome)
    assert charter.runs.wait(run.run_id).output() == {"lines": 1}
    assert charter.executor.lease_call([PRINT], wait_s=0) is None
    with Charter(server.address, server.key("uma")) as uma, pytest.raises(PermissionDenied):
        uma.executor.serve({PRINT: lambda call: None})


async def test_the_same_on_the_event_loop(async_charter: AsyncCharter) -> None:
    async def typeset(call: ExecutorCall) -> object:
        return {"lines": len(call.parameters["text"])}

    serving = asyncio.create_task(async_charter.executor.serve({PRINT: typeset}, wait_s=0.5))
    run = await async_charter.runs.call_tool(PRINT, {"text": "Hi"})
    run = await async_charter.runs.wait(run.run_id, timeout_s=60)
    serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving
    assert run.output() == {"lines": 2}


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (object(), "not JSON"),
        (float("nan"), "not JSON"),
        ("x" * 99, "101 bytes; the limit is 100"),
    ],
)
def test_a_result_that_cannot_be_sent_is_told_as_one_that_is_there(output: object, said: str) -> None:
    result: Any = succeeded(call_of(), output, 0.1)["result"]
    assert (result["status"], result["answered"]) == ("failed", True)
    assert said in result["message"]


def test_a_result_that_fits_is_sent_as_it_is() -> None:
    assert succeeded(call_of(), ["é"], 0.25) == {
        "result": {"status": "succeeded", "output": ["é"]},
        "duration_ms": 250,
    }


def test_a_long_message_is_cut_at_a_character() -> None:
    result: Any = failed(ToolFailed("é" * MESSAGE_BYTES, retryable=True), 0)["result"]
    assert (result["message"], result["retryable"]) == ("é" * (MESSAGE_BYTES // 2), True)
    empty: Any = failed(ToolFailed(""), 0)["result"]
    assert empty["message"] == "it failed"


@pytest.mark.parametrize(("refusal", "reports"), [(TooLarge, 2), (IllegalTransition, 1)])
def test_what_the_server_does_not_take_for_its_size_is_reported_as_a_failure(
    refusal: type[ApiError], reports: int
) -> None:
    steps = reporting(call_of(), {"result": {"status": "succeeded", "output": 1}, "duration_ms": 1}, 0.001)
    sent: list[Any] = [next(steps)]
    with suppress(StopIteration, refusal):
        sent.append(steps.throw(refusal({}, 413)))
        steps.send(None)
    assert [one.body["result"]["status"] for one in sent] == ["succeeded", "failed"][:reports]
    assert all(one.path == "/v1/executor/leases/lease-1/outcome" for one in sent)
