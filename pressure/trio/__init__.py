"""Queues for Trio: ``pressure.Queue`` with coroutines.

from pressure.trio import Queue

async with Queue("jobs", url="redis://127.0.0.1:6379/0") as queue:
    await queue.put("a line")
    async for value in queue:
        ...
"""

from __future__ import annotations

from typing import Any, TypeVar

import redis
import redis.asyncio
import trio

from pressure.arguments import settings
from pressure.asynchronous import AsyncQueue
from pressure.codecs import Codec
from pressure.protocol import Operation
from pressure.trio.connection import check
from pressure.trio.driver import Checkout, Driver
from pressure.trio.kinds import BackupQueue, ReliableQueue, RingQueue
from pressure.trio.lease import SystemTaskKeeper

__all__ = ["BackupQueue", "Queue", "ReliableQueue", "RingQueue"]

T = TypeVar("T")


class Queue(AsyncQueue):
    """``pressure.Queue`` for Trio: the same methods, as coroutines.

    ``help(pressure.Queue)`` describes arguments, attributes and errors. The settings of a ``client`` are
    used, not its connections. Several tasks may use one object at once.

    When a method is cancelled, also by Ctrl-C, it stops waiting, gives its role back and loses no value. If
    it has already succeeded, it returns its result, and the cancellation is raised at the next checkpoint.
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
            clients=(redis.Redis, redis.asyncio.Redis),
        )  # fmt: skip
        check(where)
        super().__init__(name, where, scripts, codec, lease)
        self._keeper = None if lease is None else SystemTaskKeeper(lease, self._renew)
        self._driver = Driver(where, self.keys, self._keeper)

    async def _run(self, operation: Operation[T]) -> T:
        result: T = await self._driver.run(operation)
        return result

    async def _settle(self, checkout: Checkout, operation: Operation[T]) -> T:
        with trio.CancelScope(shield=True):  # what it waits for has limits of its own
            result = await checkout.run(operation)
        return result  # noqa: RET504, what leaves a scope may be taken for nothing

    async def _disconnect(self) -> None:
        if self._keeper is not None:
            await self._keeper.stop()
        await self._driver.connections.disconnect()
