"""The client: one for programs that wait, one for event loops.

from charter_client import Charter

answer = Charter().requests.create("are any buckets public?", parameters={"region": "eu-west-1"})
print(answer.content)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, Self

from charter_client._drive import AsyncDriver, BlockingDriver
from charter_client._operation import Awaiting, Blocking, operation
from charter_client._settings import TIMEOUT_S, Settings
from charter_client._wire import Call, Repeat, Steps, anything
from charter_client.approvals import Approvals, AsyncApprovals
from charter_client.catalogue import AsyncCatalogue, AsyncPackages, AsyncResolve, Catalogue, Packages, Resolve
from charter_client.events import AsyncEvents, Events
from charter_client.evidence import AsyncEvidence, Evidence
from charter_client.executor import AsyncExecutor, Executor
from charter_client.gate import AsyncGate, Gate
from charter_client.keys import AsyncKeys, Keys
from charter_client.memories import AsyncMemories, Memories
from charter_client.missions import AsyncMissions, Missions
from charter_client.requests import AsyncRequests, Requests
from charter_client.routing import AsyncRouting, Routing
from charter_client.runs import AsyncRuns, Runs
from charter_client.sessions import AsyncSessions, Sessions


class CharterOperations:
    """What has no group: calls of endpoints without a method, and the steps of adapters."""

    @operation
    def send(
        self,
        method: Literal["GET", "POST", "PUT", "DELETE"],
        path: str,
        body: object = None,
        query: Mapping[str, object] | None = None,
    ) -> Call[Any]:
        """Any call of the interface (`/reference` of the server lists them) that has no method here.

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
        self.requests = Requests(driver)
        self.sessions = Sessions(driver)
        self.routing = Routing(driver)
        self.runs = Runs(driver)
        self.approvals = Approvals(driver)
        self.missions = Missions(driver)
        self.gate = Gate(driver)
        self.events = Events(driver)
        self.evidence = Evidence(driver)
        self.resolve = Resolve(driver)
        self.catalogue = Catalogue(driver)
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
        self.requests = AsyncRequests(driver)
        self.sessions = AsyncSessions(driver)
        self.routing = AsyncRouting(driver)
        self.runs = AsyncRuns(driver)
        self.approvals = AsyncApprovals(driver)
        self.missions = AsyncMissions(driver)
        self.gate = AsyncGate(driver)
        self.events = AsyncEvents(driver)
        self.evidence = AsyncEvidence(driver)
        self.resolve = AsyncResolve(driver)
        self.catalogue = AsyncCatalogue(driver)
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
