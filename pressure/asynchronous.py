"""The methods of ``pressure.Queue`` as coroutines, for every flavour that has them.

A flavour says how an operation is run (``_run``). Signatures and docstrings are
those of ``pressure.Queue``; tests/pressure/test_flavours.py holds it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from types import TracebackType
from typing import Any, Self, TypeVar

from pressure.codecs import Codec
from pressure.definition import Definition
from pressure.errors import QueueClosedError
from pressure.keys import Keys
from pressure.lease import ATTEMPTS
from pressure.protocol import Diagnosis, Operation, RepairReport, Stats
from pressure.queue import Queue
from pressure.receiving import AsyncReceiving
from pressure.settings import Settings

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def _like(method: Callable[..., Any]) -> Callable[[F], F]:
    """A method with the docstring of its synchronous twin."""

    def documented(function: F) -> F:
        function.__doc__ = method.__doc__
        return function

    return documented


class AsyncQueue(ABC):
    """What the flavours with coroutines share."""

    _driver: Any

    def __init__(
        self,
        name: bytes | str,
        where: Settings,
        scripts: bool,
        codec: Codec | str | None,
        lease: float | None,
    ) -> None:
        self.keys = Keys.of(name, where.prefix)
        self._where = where
        self._define = Definition(self.keys, scripts=scripts, codec=codec, lease=lease)

    @abstractmethod
    async def _run(self, operation: Operation[T]) -> T:
        """Run an operation to its end."""

    async def _settle(self, checkout: Any, operation: Operation[T]) -> T:
        """Run an operation that is to be run although the task is cancelled."""
        result: T = await checkout.run(operation)
        return result

    async def _renew(self, names: Collection[bytes]) -> None:
        await self._driver.aside(self._define.renew(names), (self._define.lease or 0) / ATTEMPTS)

    @abstractmethod
    async def _disconnect(self) -> None:
        """Close the idle connections."""

    @property
    def name(self) -> bytes:
        """The queue's name."""
        return self.keys.name

    def __repr__(self) -> str:
        flavour = type(self).__module__.removeprefix("pressure.")
        return f"<{flavour}.{type(self).__qualname__} {self.keys} at {self._where.address}>"

    @_like(Queue.create)
    async def create(self, bound: int = 0) -> None:
        await self._run(self._define.create(bound))

    @_like(Queue.exists)
    async def exists(self) -> bool:
        return await self._run(self._define.exists())

    @_like(Queue.length)
    async def length(self) -> int:
        return await self._run(self._define.length())

    @_like(Queue.closed)
    async def closed(self) -> bool:
        return await self._run(self._define.closed())

    @_like(Queue.put)
    async def put(
        self, value: Any, block: bool = True, timeout: float | None = None, *, overfill: bool = False
    ) -> None:
        await self._run(self._define.put(value, block, timeout, overfill))

    @_like(Queue.put_nowait)
    async def put_nowait(self, value: Any, *, overfill: bool = False) -> None:
        await self.put(value, block=False, overfill=overfill)

    @_like(Queue.put_many)
    async def put_many(
        self,
        values: Iterable[Any],
        block: bool = True,
        timeout: float | None = None,
        *,
        overfill: bool = False,
    ) -> None:
        await self._run(self._define.put_many(values, block, timeout, overfill))

    @_like(Queue.get)
    async def get(self, block: bool = True, timeout: float | None = None) -> Any:
        return await self._run(self._define.get(block, timeout))

    @_like(Queue.get_nowait)
    async def get_nowait(self) -> Any:
        return await self.get(block=False)

    @_like(Queue.get_many)
    async def get_many(
        self,
        max: int,  # noqa: A002
        block: bool = True,
        timeout: float | None = None,
    ) -> list[Any]:
        return await self._run(self._define.get_many(max, block, timeout))

    @_like(Queue.receive)
    def receive(self, block: bool = True, timeout: float | None = None) -> AsyncReceiving:
        return AsyncReceiving(
            lambda: self._define.receive(block, timeout), lambda: self._driver.checkout(), self._settle
        )

    @_like(Queue.rejected)
    async def rejected(self, max: int) -> list[bytes]:  # noqa: A002
        return await self._run(self._define.rejected(max))

    @_like(Queue.redrive)
    async def redrive(self, max: int, block: bool = True, timeout: float | None = None) -> int:  # noqa: A002
        return await self._run(self._define.redrive(max, block, timeout))

    @_like(Queue.peek)
    async def peek(self) -> Any:
        return await self._run(self._define.peek())

    @_like(Queue.peek_many)
    async def peek_many(self, max: int) -> list[Any]:  # noqa: A002
        return await self._run(self._define.peek_many(max))

    @_like(Queue.stats)
    async def stats(self) -> Stats:
        return await self._run(self._define.stats())

    @_like(Queue.holder)
    async def holder(self, role: str) -> bytes | None:
        return await self._run(self._define.holder(role))

    async def __aiter__(self) -> AsyncIterator[Any]:
        while True:
            try:
                value = await self.get()
            except QueueClosedError:
                return
            yield value

    @_like(Queue.close)
    async def close(self, timeout: float | None = None) -> None:
        await self._run(self._define.close(timeout))

    @_like(Queue.wait_closed)
    async def wait_closed(self, timeout: float | None = None) -> bool:
        return await self._run(self._define.wait_closed(timeout))

    @_like(Queue.delete)
    async def delete(self, timeout: float | None = None) -> None:
        await self._run(self._define.delete(timeout))

    @_like(Queue.repair)
    async def repair(self, force: bool = False, role: str | None = None) -> RepairReport:
        return await self._run(self._define.repair(force, role))

    @_like(Queue.doctor)
    async def doctor(self) -> Diagnosis:
        return await self._run(self._define.doctor())

    @_like(Queue.qsize)
    async def qsize(self) -> int:
        return await self.length()

    @_like(Queue.empty)
    async def empty(self) -> bool:
        return await self.length() == 0

    @_like(Queue.full)
    async def full(self) -> bool:
        count, bound = await self._run(self._define.length_and_bound())
        return 0 < bound <= count

    @_like(Queue.disconnect)
    async def disconnect(self) -> None:
        await self._disconnect()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.disconnect()
