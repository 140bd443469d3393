"""Renewal of leases on asyncio, in a task."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from pressure.execution.lease import LeaseRenewer


class TaskRenewer(LeaseRenewer):
    """Renews leases in a task of the event loop on which the queue is used.

    Args:
        seconds: How long a lease lasts.
        renew: Renews the leases of some holds; takes at most ``pause`` seconds.
        owner: As in the base.
    """

    def __init__(
        self, seconds: float, renew: Callable[[Collection[bytes]], Awaitable[None]], owner: str
    ) -> None:
        super().__init__(seconds, owner)
        self._renew = renew
        self._task: asyncio.Task[None] | None = None
        self._home: tuple[int, Any] = (0, None)

    def begin(self, hold_id: bytes) -> None:
        """Renew the lease of a hold from now on."""
        home = (os.getpid(), asyncio.get_running_loop())
        if self._home != home:  # on another loop, or in a forked child, the old holds are not ours
            self._holds.clear()
            self._home, self._task = home, None
        super().begin(hold_id)

    async def stop(self) -> None:
        """End the task if there are no holds; otherwise it ends by itself after the last hold."""
        task = self._task
        if self._holds or task is None or self._home != (os.getpid(), asyncio.get_running_loop()):
            return
        self._task = None  # a hold that begins before the task has ended starts another
        task.cancel()
        await asyncio.wait((task,))

    def _go_on(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work(), name="pressure-lease")

    async def _work(self) -> None:
        pause = self.pause
        while True:
            await asyncio.sleep(pause)
            if not self._holds:
                self._task = None
                return
            began = time.monotonic()
            with self.attempts:
                await self._renew(frozenset(self._holds))
            pause = self.pause_after(began)
