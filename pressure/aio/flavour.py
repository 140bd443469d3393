"""The flavour for asyncio: the driver of a queue, the renewal of leases, and heartbeats."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

from pressure.aio.connection import asynchronous
from pressure.aio.driver import Driver
from pressure.aio.lease import TaskRenewer
from pressure.background import Attempts
from pressure.connections.settings import Settings
from pressure.execution.asynchronous import Asynchronous
from pressure.execution.lease import ATTEMPTS
from pressure.keys import QueueKeys
from pressure.methods.flavour import Renewal
from pressure.protocol.operation import Operation


class OnAsyncio(Asynchronous):
    """The flavour for asyncio."""

    _clients: ClassVar[tuple[str, ...]] = ("redis.asyncio.Redis", "redis.Redis")

    def _connect(
        self, where: Settings, keys: QueueKeys, lease: float | None = None, renewal: Renewal | None = None
    ) -> None:
        self._where = where
        if lease is not None and renewal is not None:
            self._renewer = TaskRenewer(
                lease, lambda holds: self._driver.aside(renewal(holds), lease / ATTEMPTS), f"queue {keys}"
            )
        self._driver = Driver(asynchronous(where), keys, self._renewer)

    @contextlib.asynccontextmanager
    async def _heartbeats(self, heartbeat: Callable[[], Operation[Any]], every: float) -> AsyncIterator[None]:
        attempts = Attempts("pressure.heartbeat", f"queue {self}: a heartbeat")

        async def run() -> None:
            while True:
                await asyncio.sleep(every)
                with attempts:
                    await self._driver.run(heartbeat())

        task = asyncio.create_task(run(), name="heartbeat")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
