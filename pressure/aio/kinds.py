"""The other kinds of queues for asyncio; see ``pressure.kinds``."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import redis
import redis.asyncio

from pressure.aio.connection import asynchronous
from pressure.aio.driver import Driver
from pressure.arguments import settings
from pressure.errors import PressureError
from pressure.kinds.backup import BackupMethods
from pressure.kinds.flavours import Asynchronous
from pressure.kinds.kind import Place
from pressure.kinds.reliable import ReliableMethods
from pressure.kinds.ring import RingMethods
from pressure.protocol.steps import Operation

__all__ = ["BackupQueue", "ReliableQueue", "RingQueue"]

T = TypeVar("T")


class OnAsyncio(Asynchronous):
    """The flavour for asyncio."""

    def _connect(self, place: Place, **where: Any) -> None:
        self._where = settings(**where, clients=(redis.asyncio.Redis, redis.Redis))
        self._driver = Driver(asynchronous(self._where), place)

    async def _run(self, operation: Operation[T]) -> T:
        return await self._driver.run(operation)

    @contextlib.asynccontextmanager
    async def _beating(self, beat: Callable[[], Operation[Any]], every: float) -> AsyncIterator[None]:
        async def run() -> None:
            while True:
                await asyncio.sleep(every)
                with contextlib.suppress(PressureError):  # the next may do better
                    await self._driver.run(beat())

        task = asyncio.create_task(run(), name="heartbeat")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _disconnect(self) -> None:
        await self._driver.connections.disconnect()


class BackupQueue(OnAsyncio, BackupMethods):  # noqa: D101, that of the kind
    __doc__ = BackupMethods.__doc__


class RingQueue(OnAsyncio, RingMethods):  # noqa: D101, that of the kind
    __doc__ = RingMethods.__doc__


class ReliableQueue(OnAsyncio, ReliableMethods):  # noqa: D101, that of the kind
    __doc__ = ReliableMethods.__doc__
