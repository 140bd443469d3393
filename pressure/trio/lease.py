"""Renewal of leases on Trio, in a system task, since a queue object has no nursery."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import trio

from pressure.execution.lease import LeaseRenewer


class SystemTaskRenewer(LeaseRenewer):
    """Renews leases in a system task of the run in which the queue is used.

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
        self._home: tuple[int, Any] = (0, None)
        self._running: _Running | None = None

    def begin(self, hold_id: bytes) -> None:
        """Renew the lease of a hold from now on."""
        home = (os.getpid(), trio.lowlevel.current_trio_token())
        if self._home != home:  # in another run, or in a forked child, the old holds are not ours
            self._holds.clear()
            self._home, self._running = home, None
        super().begin(hold_id)

    async def stop(self) -> None:
        """End the task if there are no holds; otherwise it ends by itself after the last hold."""
        running = self._running
        if self._holds or running is None or self._home[1] != trio.lowlevel.current_trio_token():
            return
        self._running = None  # a hold that begins before the task has ended starts another
        running.scope.cancel()
        with trio.CancelScope(shield=True):
            await running.is_over.wait()

    def _go_on(self) -> None:
        if self._running is None:
            self._running = _Running()
            trio.lowlevel.spawn_system_task(self._work, self._running, name="pressure-lease")

    async def _work(self, running: _Running) -> None:
        pause = self.pause
        try:
            with running.scope:
                while await self._has_holds_after(pause):
                    began = time.monotonic()
                    with self.attempts:  # an error in a system task would end the whole run
                        await self._renew(frozenset(self._holds))
                    pause = self.pause_after(began)
        finally:
            if self._running is running:
                self._running = None
            running.is_over.set()

    async def _has_holds_after(self, pause: float) -> bool:
        await trio.sleep(pause)
        if not self._holds:
            self._running = None
        return bool(self._holds)


class _Running:
    """The state of the task that renews leases."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.is_over = trio.Event()
