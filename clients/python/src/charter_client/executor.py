"""Tools without an implementation of their own, carried out by functions of this program.

A *handler* is given a call and returns the tool's result. A call that was taken is leased for `lease_ms`. The first
renewal starts it, and each further renewal extends the lease (docs/reference/executor.md).
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping

from charter_client._operation import Awaiting, Blocking, operation
from charter_client._wire import Call, Steps, part, reading, unread
from charter_client.codes import IllegalTransition, InvalidDocument, TooLarge
from charter_client.contract import ExecutorCall, LeaseRenewal
from charter_client.errors import ApiError, CharterError, Unreachable

#: How long the server keeps a question open when it has no call, in seconds; at most 30.
WAIT_S = 20.0
#: Pauses after a server that gives no call: the first, and the longest, in seconds.
PAUSES_S = (0.5, 15.0)
#: Longest message of a failure that the server takes, in bytes.
MESSAGE_BYTES = 8 << 10
#: Renewals in one term of a lease.
RENEWALS = 3

Handler = Callable[[ExecutorCall], object]
AsyncHandler = Callable[[ExecutorCall], Awaitable[object]]

_LOG = logging.getLogger(__name__)
_RENEWED = reading(LeaseRenewal)


class ToolFailed(Exception):
    """Raised by a handler whose tool failed. Any other exception says the same, with nothing known about it.

    `retryable` says that the same call may succeed later. `answered` says that the tool did what it was asked,
    or may have, though there is no result.
    """

    def __init__(
        self, message: str, *, error_type: str = "execution_error", retryable: bool = False, answered: bool = False
    ) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.retryable = retryable
        self.answered = answered


def _leased(content: bytes) -> ExecutorCall | None:
    return ExecutorCall.model_validate_json(content) if content else None


def _report(lease_id: str, outcome: Mapping[str, object]) -> Call[None]:
    return Call("POST", f"/v1/executor/leases/{part(lease_id)}/outcome", unread, body=outcome)


def succeeded(call: ExecutorCall, output: object, duration_s: float) -> dict[str, object]:
    """What the server is told of a result; of one that it cannot take, that the tool answered."""
    try:
        size = len(json.dumps(output, allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError) as error:
        return failed(ToolFailed(f"the result is not JSON: {error}", answered=True), duration_s)
    if size > call.output_bytes:
        message = f"the result has {size} bytes; the limit is {call.output_bytes}"
        return failed(ToolFailed(message, error_type="resource_error", answered=True), duration_s)
    return {"result": {"status": "succeeded", "output": output}, "duration_ms": int(duration_s * 1000)}


def failed(error: Exception, duration_s: float) -> dict[str, object]:
    """What the server is told of a failure."""
    known = error if isinstance(error, ToolFailed) else ToolFailed(f"{type(error).__name__}: {error}")
    message = str(known).strip() or "it failed"
    result = {
        "status": "failed",
        "error_type": known.error_type,
        "message": message.encode(errors="replace")[:MESSAGE_BYTES].decode(errors="ignore"),
        "retryable": known.retryable,
        "answered": known.answered,
    }
    return {"result": result, "duration_ms": int(duration_s * 1000)}


def reporting(call: ExecutorCall, outcome: Mapping[str, object], duration_s: float) -> Steps[None]:
    """Reports. A result that is not taken is reported as one: the tool has done what it was asked."""
    try:
        yield from _report(call.lease_id, outcome)
    except (TooLarge, InvalidDocument) as refused:
        message = f"the server rejected the result: {refused}"
        again = failed(ToolFailed(message, error_type="resource_error", answered=True), duration_s)
        yield from _report(call.lease_id, again)


def _is_final(failure: CharterError) -> bool:
    """Whether the server will say the same next time."""
    passes = isinstance(failure, Unreachable) or (isinstance(failure, ApiError) and failure.retryable)
    return not passes


def _is_lost(call: ExecutorCall, failure: CharterError) -> bool:
    """Whether a call is not held any more; else holding it is tried again."""
    lost = isinstance(failure, IllegalTransition)
    said = "its result is no longer needed" if lost else "holding it failed and is tried again"
    _LOG.warning("a call of %s: %s: %s", call.tool_id, said, failure)
    return lost


class ExecutorOperations:
    """Take calls of tools without an implementation, and say what came of them. It takes an operator's key."""

    @operation
    def lease_call(
        self, handlers: Iterable[str], *, executor: str = "python", wait_s: float = WAIT_S
    ) -> Call[ExecutorCall | None]:
        """The next call of one of these tools, or nothing when none comes within `wait_s`.

        Nothing is begun before a `renew_lease`: without one the call is offered to another.
        """
        body = {
            "executor": executor,
            "wait_ms": int(wait_s * 1000),
            "handlers": sorted(handlers),
            "only_handlers": True,
        }
        # A call whose offer is lost on the way is offered again once its lease is over.
        return Call("POST", "/v1/executor/leases", _leased, body=body)

    @operation
    def renew_lease(self, lease_id: str) -> Call[LeaseRenewal]:
        """Begins a call, or goes on with it. Raises `IllegalTransition` when it is not this one's any more: end it."""
        return Call("POST", f"/v1/executor/leases/{part(lease_id)}/renew", _RENEWED)

    @operation
    def report_outcome(self, lease_id: str, outcome: Mapping[str, object]) -> Call[None]:
        """Says what came of a call, an `ExecutorOutcome`; it is taken once."""
        return _report(lease_id, outcome)

    @operation
    def _tell(self, steps: Steps[None]) -> Steps[None]:
        return steps


class Executor(ExecutorOperations, Blocking):
    """Carries out tools without an implementation."""

    def serve(
        self,
        handlers: Mapping[str, Handler],
        *,
        executor: str = "python",
        stop: threading.Event | None = None,
        wait_s: float = WAIT_S,
    ) -> None:
        """Carries out calls of these tools, one after the other, until `stop` is set; several threads may serve.

        A handler is given the call (`parameters`, `idempotency_key`, `dry_run`, `timeout_ms`) and returns the result,
        as JSON has it. `stop` is seen between two calls. Raises what will not pass by itself, such as
        `Unauthenticated`.
        """
        stop, pause_s = stop or threading.Event(), PAUSES_S[0]
        while not stop.is_set():
            try:
                call = self.lease_call(handlers, executor=executor, wait_s=wait_s)
            except CharterError as failure:
                if _is_final(failure):
                    raise
                _LOG.warning("polling for a call failed; retrying: %s", failure)
                stop.wait(pause_s)
                pause_s = min(pause_s * 2, PAUSES_S[1])
                continue
            pause_s = PAUSES_S[0]
            if call is not None:
                self.carry_out(call, handlers[call.tool_id])

    def carry_out(self, call: ExecutorCall, handler: Handler) -> None:
        """Begins a call that was taken, holds it while the handler works, and reports what came of it.

        A call that could not be held is given up, which is logged: the server knows that nothing was reported.
        """
        try:
            self.renew_lease(call.lease_id)
            began, ended = time.monotonic(), threading.Event()
            holding = threading.Thread(target=self._hold, args=(call, ended), daemon=True)
            holding.start()
            try:
                outcome = succeeded(call, handler(call), time.monotonic() - began)
            except Exception as error:
                outcome = failed(error, time.monotonic() - began)
            finally:
                ended.set()
            self._tell(reporting(call, outcome, time.monotonic() - began))
        except CharterError as failure:
            _LOG.warning("a call of %s was given up: %s", call.tool_id, failure)

    def _hold(self, call: ExecutorCall, ended: threading.Event) -> None:
        while not ended.wait(call.lease_ms / 1000 / RENEWALS):
            try:
                self.renew_lease(call.lease_id)
            except CharterError as failure:
                # A renewal that was on its way when the call ended is refused, and that says nothing.
                if ended.is_set() or _is_lost(call, failure):
                    return


class AsyncExecutor(ExecutorOperations, Awaiting):
    """Carries out tools without an implementation, on the event loop."""

    async def serve(
        self, handlers: Mapping[str, AsyncHandler], *, executor: str = "python", wait_s: float = WAIT_S
    ) -> None:
        """Carries out calls of these tools, one after the other, until it is cancelled; several tasks may serve.

        A handler is given the call (`parameters`, `idempotency_key`, `dry_run`, `timeout_ms`) and returns the result as
        a JSON value. It is cancelled when the result is no longer needed.
        """
        pause_s = PAUSES_S[0]
        while True:
            try:
                call = await self.lease_call(handlers, executor=executor, wait_s=wait_s)
            except CharterError as failure:
                if _is_final(failure):
                    raise
                _LOG.warning("polling for a call failed; retrying: %s", failure)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, PAUSES_S[1])
                continue
            pause_s = PAUSES_S[0]
            if call is not None:
                await self.carry_out(call, handlers[call.tool_id])

    async def carry_out(self, call: ExecutorCall, handler: AsyncHandler) -> None:
        """Begins a call that was taken, holds it while the handler works, and reports what came of it.

        A call that could not be held is given up, which is logged: the server knows that nothing was reported.
        """
        try:
            await self.renew_lease(call.lease_id)
            began = time.monotonic()
            work = asyncio.ensure_future(handler(call))
            holding = asyncio.ensure_future(self._hold(call))
            try:
                await asyncio.wait({work, holding}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                holding.cancel()
                if not work.done():
                    work.cancel()
                await asyncio.wait({work, holding})
            if work.cancelled():
                return
            error, took_s = work.exception(), time.monotonic() - began
            outcome = failed(error, took_s) if isinstance(error, Exception) else succeeded(call, work.result(), took_s)
            await self._tell(reporting(call, outcome, took_s))
        except CharterError as failure:
            _LOG.warning("a call of %s was given up: %s", call.tool_id, failure)

    async def _hold(self, call: ExecutorCall) -> None:
        while True:
            await asyncio.sleep(call.lease_ms / 1000 / RENEWALS)
            try:
                await self.renew_lease(call.lease_id)
            except CharterError as failure:
                if _is_lost(call, failure):
                    return
