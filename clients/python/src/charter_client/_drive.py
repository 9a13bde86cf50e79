"""Carrying steps out: blocking, or on an event loop. The only code that there is twice; none of it decides.

What to send, when to try again and what an answer means is said by the steps
(`_wire.py`) and watches (`_streams.py`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

import httpx

from charter_client._settings import Settings
from charter_client._streams import Stream, Watch
from charter_client._wire import Act, Attempt, Call, Pages, Pause, Received, Steps, attempts
from charter_client.errors import CharterError

T = TypeVar("T")


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that gets its name once it is written: the name never stands for a part."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


class Going(Generic[T]):
    """Steps that are being carried out: what is to be done next, and what they come to."""

    value: T

    def __init__(self, steps: Generator[Act, Any, T]) -> None:
        self._steps = steps
        self._on: Callable[[], Act] = lambda: next(steps)

    def act(self) -> Act | None:
        """What is to be done next; nothing once `value` is there."""
        try:
            return self._on()
        except StopIteration as end:
            self.value = end.value
            return None

    def tell(self, answer: Any) -> None:
        """What the last act came to."""
        self._on = lambda: self._steps.send(answer)

    def fail(self, failure: CharterError) -> None:
        """Why the last act came to nothing."""
        self._on = lambda: self._steps.throw(failure)


class BlockingDriver:
    """Carries steps out in the thread that asks."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._http = httpx.Client(base_url=settings.server, headers=settings.headers(), timeout=settings.timeout())

    def close(self) -> None:
        """Gives the connections back."""
        self._http.close()

    def run(self, steps: Call[T] | Steps[T]) -> T:
        """What the steps come to."""
        going = Going(iter(steps))
        while (act := going.act()) is not None:
            try:
                going.tell(self._do(act))
            except CharterError as failure:
                going.fail(failure)
        return going.value

    def _do(self, act: Act) -> Any:
        match act:
            case Pause():
                return time.sleep(act.seconds)
            case Attempt():
                return self._attempt(act.call)
            case Call():
                return self.run(attempts(act, self.settings.retry))

    def _attempt(self, call: Call[Any]) -> Received:
        try:
            if call.file is None:
                return self._http.request(**call.request())
            with self._http.stream(**call.request()) as response:
                if response.is_success:
                    with whole_file(call.file) as file:
                        for piece in response.iter_bytes():
                            file.write(piece)
                    return httpx.Response(response.status_code)
                response.read()
                return response
        except httpx.TransportError as error:
            return error

    def iterate(self, source: Pages[T] | Stream[T]) -> Iterator[T]:
        """The entries of a listing, page after page; or what a stream tells, as it comes."""
        return self._paged(source) if isinstance(source, Pages) else self._followed(source)

    def _paged(self, pages: Pages[T]) -> Iterator[T]:
        after: str | int | None = None
        while True:
            page = self.run(pages.call(after))
            yield from page.entries
            if (after := page.next) is None:
                return

    def _followed(self, stream: Stream[T]) -> Iterator[T]:
        watch = Watch(stream, self.settings.retry)
        while (opening := watch.opening()) is not None:
            pause_s, request = opening
            time.sleep(pause_s)
            try:
                with self._http.stream(**request) as response:
                    if not response.is_success:
                        response.read()
                        watch.refused(response)
                        continue
                    for piece in response.iter_bytes():
                        yield from watch.feed(piece)
                        if watch.is_over:
                            return
                watch.broke_off(None)
            except httpx.TransportError as error:
                watch.broke_off(error)


class AsyncDriver:
    """Carries steps out on the event loop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._http = httpx.AsyncClient(base_url=settings.server, headers=settings.headers(), timeout=settings.timeout())

    async def close(self) -> None:
        """Gives the connections back."""
        await self._http.aclose()

    async def run(self, steps: Call[T] | Steps[T]) -> T:
        """What the steps come to."""
        going = Going(iter(steps))
        while (act := going.act()) is not None:
            try:
                going.tell(await self._do(act))
            except CharterError as failure:
                going.fail(failure)
        return going.value

    async def _do(self, act: Act) -> Any:
        match act:
            case Pause():
                return await asyncio.sleep(act.seconds)
            case Attempt():
                return await self._attempt(act.call)
            case Call():
                return await self.run(attempts(act, self.settings.retry))

    async def _attempt(self, call: Call[Any]) -> Received:
        try:
            if call.file is None:
                return await self._http.request(**call.request())
            async with self._http.stream(**call.request()) as response:
                if response.is_success:
                    with whole_file(call.file) as file:
                        async for piece in response.aiter_bytes():
                            file.write(piece)
                    return httpx.Response(response.status_code)
                await response.aread()
                return response
        except httpx.TransportError as error:
            return error

    def iterate(self, source: Pages[T] | Stream[T]) -> AsyncIterator[T]:
        """The entries of a listing, page after page; or what a stream tells, as it comes."""
        return self._paged(source) if isinstance(source, Pages) else self._followed(source)

    async def _paged(self, pages: Pages[T]) -> AsyncIterator[T]:
        after: str | int | None = None
        while True:
            page = await self.run(pages.call(after))
            for entry in page.entries:
                yield entry
            if (after := page.next) is None:
                return

    async def _followed(self, stream: Stream[T]) -> AsyncIterator[T]:
        watch = Watch(stream, self.settings.retry)
        while (opening := watch.opening()) is not None:
            pause_s, request = opening
            await asyncio.sleep(pause_s)
            try:
                async with self._http.stream(**request) as response:
                    if not response.is_success:
                        await response.aread()
                        watch.refused(response)
                        continue
                    async for piece in response.aiter_bytes():
                        for value in watch.feed(piece):
                            yield value
                        if watch.is_over:
                            return
                watch.broke_off(None)
            except httpx.TransportError as error:
                watch.broke_off(error)
