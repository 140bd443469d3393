"""Queues for asyncio: ``pressure.Queue`` with coroutines.

from pressure.aio import Queue

async with Queue("jobs", url="redis://127.0.0.1:6379/0") as queue:
    await queue.put("a line")
    async for value in queue:
        ...
"""

from __future__ import annotations

import asyncio
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
from pressure.identity import task_client_id
from pressure.protocol import Operation

__all__ = ["BackupQueue", "Queue", "ReliableQueue", "RingQueue"]

T = TypeVar("T")


class Queue(AsyncQueue):
    """``pressure.Queue`` for asyncio: the same methods, as coroutines.

    Arguments, attributes and errors are described there. ``client`` may be a ``redis.asyncio.Redis``, too.
    One object may be used by several tasks at once. A task that is cancelled in a method leaves no role taken
    and drops no value: what it waits for is ended, and a method that has succeeded by then returns its
    result; the cancellation is raised when the task next waits.

    ``disconnect``, or leaving an ``async with`` block, closes its connections; do so before the loop ends.
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
        self._driver = Driver(asynchronous(where), self.keys)
        self._keeper = None if lease is None else TaskKeeper(lease, self._renew)
        self._define.keeper = self._keeper

    @staticmethod
    def _client_id() -> bytes:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a queue of pressure.aio is used by a task of asyncio")
        return task_client_id(task, task.get_name())

    async def _run(self, operation: Operation[T]) -> T:
        return await self._driver.run(operation)

    async def _disconnect(self) -> None:
        if self._keeper is not None:
            await self._keeper.stop()
        await self._driver.connections.disconnect()
