"""The flavour for Trio: the driver of a queue, the renewal of leases, and heartbeats."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, ClassVar

import trio

from pressure.background import Attempts
from pressure.connections.settings import Settings
from pressure.execution.asynchronous import Asynchronous
from pressure.execution.lease import ATTEMPTS
from pressure.keys import QueueKeys
from pressure.methods.flavour import Renewal
from pressure.protocol.operation import Operation
from pressure.trio.connection import check
from pressure.trio.driver import Driver
from pressure.trio.lease import SystemTaskRenewer


class OnTrio(Asynchronous):
    """The flavour for Trio."""

    _clients: ClassVar[tuple[str, ...]] = ("redis.Redis", "redis.asyncio.Redis")

    def _connect(
        self, where: Settings, keys: QueueKeys, lease: float | None = None, renewal: Renewal | None = None
    ) -> None:
        check(where)
        self._where = where
        if lease is not None and renewal is not None:
            self._renewer = SystemTaskRenewer(
                lease, lambda holds: self._driver.aside(renewal(holds), lease / ATTEMPTS), f"queue {keys}"
            )
        self._driver = Driver(where, keys, self._renewer)

    async def _shielded(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        with trio.CancelScope(shield=True):  # each wait of an operation has its own time limit
            await function(*args)

    @contextlib.asynccontextmanager
    async def _heartbeats(self, heartbeat: Callable[[], Operation[Any]], every: float) -> AsyncIterator[None]:
        attempts = Attempts("pressure.heartbeat", f"queue {self}: a heartbeat")

        async def run() -> None:
            while True:
                await trio.sleep(every)
                with attempts:
                    await self._driver.run(heartbeat())

        error: BaseException | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            try:
                yield
            except BaseException as raised:  # raise it outside the nursery, which would wrap it in a group
                error = raised
            nursery.cancel_scope.cancel()
        if error is not None:
            raise error
