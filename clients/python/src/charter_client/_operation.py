"""Operations: written once, blocking and asynchronous.

A class of operations says what is to be done and does nothing. Its two ends say
how: below :class:`Blocking` an operation returns what it comes to, below
:class:`Awaiting` something to await. Type checkers see the same.

    class RunOperations:
        @operation
        def get(self, run_id: str) -> Call[Run]: ...

    class Runs(RunOperations, Blocking): ...         # runs.get("run-1") is a Run
    class AsyncRuns(RunOperations, Awaiting): ...    # await runs.get("run-1") is one
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from charter_client._drive import AsyncDriver, BlockingDriver
from charter_client._streams import Stream
from charter_client._wire import Call, Pages, Steps

P = ParamSpec("P")
T = TypeVar("T")


class Blocking:
    """Whose operations return when they are done."""

    def __init__(self, driver: BlockingDriver) -> None:
        self._driver = driver


class Awaiting:
    """Whose operations are awaited."""

    def __init__(self, driver: AsyncDriver) -> None:
        self._driver = driver


class operation(Generic[P, T]):  # noqa: N801 - a decorator
    """One call, or steps, that come to a value."""

    def __init__(self, build: Callable[Concatenate[Any, P], Call[T] | Steps[T]]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, holder: Blocking, owner: type | None = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, holder: Awaiting, owner: type | None = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, holder: None, owner: type | None = None) -> operation[P, T]: ...
    def __get__(self, holder: Any, owner: type | None = None) -> Any:
        if holder is None:
            return self

        def carry_out(*args: P.args, **kwargs: P.kwargs) -> Any:
            return holder._driver.run(self.build(holder, *args, **kwargs))

        return update_wrapper(carry_out, self.build)


class iteration(Generic[P, T]):  # noqa: N801 - a decorator
    """A listing or a stream: values one after the other."""

    def __init__(self, build: Callable[Concatenate[Any, P], Pages[T] | Stream[T]]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, holder: Blocking, owner: type | None = None) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, holder: Awaiting, owner: type | None = None) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, holder: None, owner: type | None = None) -> iteration[P, T]: ...
    def __get__(self, holder: Any, owner: type | None = None) -> Any:
        if holder is None:
            return self

        def iterate(*args: P.args, **kwargs: P.kwargs) -> Any:
            return holder._driver.iterate(self.build(holder, *args, **kwargs))

        return update_wrapper(iterate, self.build)
