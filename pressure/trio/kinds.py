"""The other kinds of queues for Trio; see ``pressure.kinds``."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import redis
import redis.asyncio
import trio

from pressure.arguments import settings
from pressure.errors import PressureError
from pressure.kinds.backup import BackupMethods
from pressure.kinds.flavours import Asynchronous
from pressure.kinds.kind import Place
from pressure.kinds.reliable import ReliableMethods
from pressure.kinds.ring import RingMethods
from pressure.protocol.steps import Operation
from pressure.trio.connection import check
from pressure.trio.driver import Driver

__all__ = ["BackupQueue", "ReliableQueue", "RingQueue"]

T = TypeVar("T")


class OnTrio(Asynchronous):
    """The flavour for Trio."""

    def _connect(self, place: Place, **where: Any) -> None:
        self._where = settings(**where, clients=(redis.Redis, redis.asyncio.Redis))
        check(self._where)
        self._driver = Driver(self._where, place)

    async def _run(self, operation: Operation[T]) -> T:
        return await self._driver.run(operation)

    async def _settle(self, operation: Operation[T]) -> T:
        with trio.CancelScope(shield=True):  # what it waits for has limits of its own
            result = await self._driver.run(operation)
        return result  # noqa: RET504, what leaves a scope may be taken for nothing

    @contextlib.asynccontextmanager
    async def _beating(self, beat: Callable[[], Operation[Any]], every: float) -> AsyncIterator[None]:
        async def run() -> None:
            while True:
                await trio.sleep(every)
                with contextlib.suppress(PressureError):  # the next may do better
                    await self._driver.run(beat())

        error: BaseException | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            try:
                yield
            except BaseException as raised:  # raised outside, where no group is made of it
                error = raised
            nursery.cancel_scope.cancel()
        if error is not None:
            raise error

    async def _disconnect(self) -> None:
        await self._driver.connections.disconnect()


class BackupQueue(OnTrio, BackupMethods):  # noqa: D101, that of the kind
    __doc__ = BackupMethods.__doc__


class RingQueue(OnTrio, RingMethods):  # noqa: D101, that of the kind
    __doc__ = RingMethods.__doc__


class ReliableQueue(OnTrio, ReliableMethods):  # noqa: D101, that of the kind
    __doc__ = ReliableMethods.__doc__
