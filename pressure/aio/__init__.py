"""Queues for asyncio: ``pressure.Queue`` with coroutines.

from pressure.aio import Queue

async with Queue("jobs", url="redis://127.0.0.1:6379/0") as queue:
    await queue.put("a line")
    async for value in queue:
        ...
"""

from __future__ import annotations

from typing import Any, TypeVar

import redis
import redis.asyncio

from pressure.aio.connection import asynchronous
from pressure.aio.driver import Driver
from pressure.aio.kinds import BackupQueue, ReliableQueue, RingQueue
from pressure.aio.lease import TaskKeeper
from pressure.arguments import settings
from pressure.asynchronous import AsyncQueue
from pressure.codecs import Codec
from pressure.protocol import Operation

__all__ = ["BackupQueue", "Queue", "ReliableQueue", "RingQueue"]

T = TypeVar("T")


class Queue(AsyncQueue):
    """``pressure.Queue`` for asyncio: the same methods, as coroutines.

    ``help(pressure.Queue)`` describes arguments, attributes and errors. ``client`` may also be a
    ``redis.asyncio.Redis``. Several tasks may use one object at once.

    When a task is cancelled in a method, the method stops waiting, gives its role back and loses no value. If
    the method has already succeeded, it returns its result, and the cancellation is raised at the task's next
    wait.

    Close the connections before the event loop ends: with ``disconnect``, or with an ``async with`` block.
    """

    def __init__(
        self,
        name: bytes | str,
        *,
        url: str | None = None,
        client: Any = None,
        host: str | None = None,
        port: int | None = None,
        db: int | None = None,
        prefix: bytes | str | None = None,
        scripts: bool = True,
        codec: Codec | str | None = None,
        lease: float | None = None,
    ) -> None:
        where = settings(
            url=url, client=client, host=host, port=port, db=db, prefix=prefix,
            clients=(redis.asyncio.Redis, redis.Redis),
        )  # fmt: skip
        super().__init__(name, where, scripts, codec, lease)
        self._keeper = None if lease is None else TaskKeeper(lease, self._renew)
        self._driver = Driver(asynchronous(where), self.keys, self._keeper)

    async def _run(self, operation: Operation[T]) -> T:
        result: T = await self._driver.run(operation)
        return result

    async def _disconnect(self) -> None:
        if self._keeper is not None:
            await self._keeper.stop()
        await self._driver.connections.disconnect()
