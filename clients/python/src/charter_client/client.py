"""The client: one for programs that wait, one for event loops.

from charter_client import Charter

answer = Charter().ask("are any buckets public?", parameters={"region": "eu-west-1"})
print(answer.content)
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, Self
from uuid import uuid4

from charter_client._drive import AsyncDriver, BlockingDriver
from charter_client._operation import Awaiting, Blocking, iteration, operation
from charter_client._settings import TIMEOUT_S, Settings
from charter_client._streams import Event as Sent
from charter_client._streams import Stream
from charter_client._wire import Call, Repeat, Steps, anything, part, reading, told, without_nothing
from charter_client.approvals import Approvals, AsyncApprovals
from charter_client.catalogue import AsyncPackages, AsyncResolve, Packages, Resolve
from charter_client.contract import SessionView
from charter_client.errors import NotCharter
from charter_client.evidence import AsyncEvidence, Evidence
from charter_client.executor import AsyncExecutor, Executor
from charter_client.keys import AsyncKeys, Keys
from charter_client.memories import AsyncMemories, Memories
from charter_client.missions import AsyncMissions, Missions
from charter_client.runs import AsyncRuns, Runs
from charter_client.shown import Answer, Event, Explanation, Progress, Request, Verdict

_ANSWER = reading(Answer)
_REQUEST = reading(Request)
_VERDICT = reading(Verdict)
_EXPLANATION = reading(Explanation)
_SESSION = reading(SessionView)


def request_body(
    question: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    skill_id: str | None = None,
    playbook_id: str | None = None,
    dry_run: bool = False,
    persona: str | None = None,
    session_id: str | None = None,
    request_id: str | None = None,
) -> dict[str, object]:
    """An `AgentRequest`. Sent again as it is, it gets the answer that was recorded."""
    metadata = without_nothing(
        parameters=dict(parameters or {}),
        skill_id=skill_id,
        playbook_id=playbook_id,
        dry_run=True if dry_run else None,
        persona=persona,
    )
    return without_nothing(
        id=request_id or f"req-{uuid4()}",
        timestamp=datetime.now(UTC).isoformat(),
        input=question,
        session_id=session_id,
        metadata=metadata,
    )


def ask(body: Mapping[str, object]) -> Call[Answer]:
    """The call that asks. It carries an id, so that it may be sent again."""
    return Call("POST", "/v1/requests", _ANSWER, body=body)


def recorded(request_id: str) -> Call[Request]:
    """The call that shows a request."""
    return Call("GET", f"/v1/requests/{part(request_id)}", _REQUEST)


def _on_the_way(event: Sent) -> Progress | Answer:
    if event.name == "progress":
        return Progress.model_validate(event.data)
    if event.name == "response":
        return Answer.model_validate(event.data)
    if event.name == "error" and isinstance(event.data, dict):
        raise told(event.data)
    raise NotCharter(f"the stream of an answer brought the event {event.name!r}")


def _announced(event: Sent) -> Event:
    return Event.model_validate({"id": event.id, "topic": event.name, **event.data})


class CharterOperations:
    """What there is to ask of Charter itself; what it keeps has operations of its own (`runs`, `approvals`, ...)."""

    @operation
    def ask(
        self,
        question: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        skill_id: str | None = None,
        playbook_id: str | None = None,
        dry_run: bool = False,
        persona: str | None = None,
        session_id: str | None = None,
        request_id: str | None = None,
    ) -> Call[Answer]:
        """Asks, and gives the answer.

        The question is routed, unless a skill or playbook is named. A question is answered once its
        skills ran; a request to change something once its run waits for a person
        (`answer.waits_for`, `answer.run_id`). Everything is asked of the gate on the server.

        The request carries an id, so it is sent again by itself when no answer came, and gets what is
        recorded: the answer, or of a change whose run has ended its result. Raises `NoMatch` when nothing
        fits, `MissingParameters` with their names in `details`, `ApprovalRequired` while a skill waits for a
        person, and what its tools fail with.
        """
        return ask(
            request_body(
                question,
                parameters,
                skill_id=skill_id,
                playbook_id=playbook_id,
                dry_run=dry_run,
                persona=persona,
                session_id=session_id,
                request_id=request_id,
            )
        )

    @iteration
    def stream(
        self,
        question: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        skill_id: str | None = None,
        playbook_id: str | None = None,
        dry_run: bool = False,
        persona: str | None = None,
        session_id: str | None = None,
        request_id: str | None = None,
    ) -> Stream[Progress | Answer]:
        """Asks, and tells what happens on the way: any number of `Progress`, then one `Answer`, the last.

        Raises what :meth:`ask` does. A connection that breaks is made again with the same request.
        """
        body = request_body(
            question,
            parameters,
            skill_id=skill_id,
            playbook_id=playbook_id,
            dry_run=dry_run,
            persona=persona,
            session_id=session_id,
            request_id=request_id,
        )
        return Stream(
            "POST", "/v1/requests", _on_the_way, lambda event: event.name != "progress", body=body, ends=False
        )

    @operation
    def request(self, request_id: str) -> Call[Request]:
        """A request as it is recorded, with its answer, and its result once the run of a change has ended."""
        return recorded(request_id)

    @operation
    def route(
        self,
        query: str,
        *,
        purpose: Literal["actions", "skills", "playbooks", "agents"] = "actions",
        top_k: int | None = None,
    ) -> Call[Verdict]:
        """Where a query would be routed, and why. Nothing is run."""
        return Call("GET", "/v1/route", _VERDICT, query={"query": query, "purpose": purpose, "top_k": top_k})

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
        """What the gate would say to the caller about a call of a tool, or said to a run; nothing is called.

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

    @iteration
    def watch(self, *, topic: str | None = None, after: int | None = None) -> Stream[Event]:
        """What happens to the tenant's runs and approvals, as it happens; it does not end by itself.

        Only of a topic (`approval.requested`) or of those below it (`approval`); after the event of
        this id, else from now on. Goes on where it stopped when the connection breaks.
        """
        query = {"topic": topic, "after": after}
        return Stream("GET", "/v1/events", _announced, lambda event: False, query, ends=False)

    @operation
    def open_session(self) -> Call[SessionView]:
        """Opens a conversation: give its `session_id` to `ask`, and later questions may lean on earlier ones."""
        return Call("POST", "/v1/sessions", _SESSION, repeat=Repeat.NEVER)

    @operation
    def session(self, session_id: str) -> Call[SessionView]:
        """A session with its newest turns."""
        return Call("GET", f"/v1/sessions/{part(session_id)}", _SESSION)

    @operation
    def send(
        self,
        method: Literal["GET", "POST", "PUT", "DELETE"],
        path: str,
        body: object = None,
        query: Mapping[str, object] | None = None,
    ) -> Call[Any]:
        """Any call of the interface (`/reference` of the server lists them) that has no operation here.

        `GET` is sent again when no answer comes, the others are not. Gives the answer's JSON.
        """
        repeat = Repeat.HARMLESS if method == "GET" else Repeat.NEVER
        return Call(method, path, anything, query=query or {}, body=body, repeat=repeat)

    @operation
    def carry_out(self, steps: Steps[Any]) -> Steps[Any]:
        """Steps of an adapter's own. See `charter_client.offered`."""
        return steps


class Charter(CharterOperations, Blocking):
    """A Charter server, for programs that wait for its answers. Threads may share one.

    `server` and `api_key` come from `CHARTER_SERVER` and `CHARTER_API_KEY` when absent, as for the
    command line, and else the server is that of this machine, `http://127.0.0.1:7407`. A call waits
    `timeout_s` seconds for its answer. Calls that may be repeated are, `retries` times at most, when
    no answer came or the server was too busy.

    Failures are those of :mod:`charter_client.errors`.
    """

    def __init__(
        self,
        server: str | None = None,
        api_key: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: int = 2,
    ) -> None:
        self.settings = Settings.of(server, api_key, timeout_s, retries)
        driver = BlockingDriver(self.settings)
        super().__init__(driver)
        self.runs = Runs(driver)
        self.approvals = Approvals(driver)
        self.missions = Missions(driver)
        self.evidence = Evidence(driver)
        self.resolve = Resolve(driver)
        self.packages = Packages(driver)
        self.memories = Memories(driver)
        self.keys = Keys(driver)
        self.executor = Executor(driver)

    def close(self) -> None:
        """Gives the connections back."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Charter({self.settings.server!r})"


class AsyncCharter(CharterOperations, Awaiting):
    """A Charter server, for event loops: the same operations as :class:`Charter`, awaited.

    Listings and streams are iterated over with `async for`.
    """

    def __init__(
        self,
        server: str | None = None,
        api_key: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: int = 2,
    ) -> None:
        self.settings = Settings.of(server, api_key, timeout_s, retries)
        driver = AsyncDriver(self.settings)
        super().__init__(driver)
        self.runs = AsyncRuns(driver)
        self.approvals = AsyncApprovals(driver)
        self.missions = AsyncMissions(driver)
        self.evidence = AsyncEvidence(driver)
        self.resolve = AsyncResolve(driver)
        self.packages = AsyncPackages(driver)
        self.memories = AsyncMemories(driver)
        self.keys = AsyncKeys(driver)
        self.executor = AsyncExecutor(driver)

    async def close(self) -> None:
        """Gives the connections back."""
        await self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncCharter({self.settings.server!r})"
