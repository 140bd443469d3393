"""Clients on asyncio in the server's process. Only programs with such clients import this module."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..engine.protocol.unsent import SENT_AT_ONCE
from .local import LocalClient

if TYPE_CHECKING:
    from ..ticks.tick_runner import TickRunner

__all__ = ["AsyncPipe"]


class AsyncPipe(LocalClient):
    """A client with the methods of asyncio's ``StreamWriter``; its ``reader`` is the ``StreamReader``.

    It belongs to the event loop that runs when it is created. Use it on the thread that runs that loop.
    """

    def __init__(self, runner: TickRunner) -> None:
        self._loop = asyncio.get_running_loop()
        self.reader = asyncio.StreamReader(loop=self._loop)
        super().__init__(runner)

    def write(self, data: bytes) -> None:
        """Runs the requests before it returns.

        Raises:
            BrokenPipeError: the server has hung up.
        """
        self._send(data)

    def writelines(self, pieces: Iterable[bytes]) -> None:
        """As ``write``, for several pieces at once."""
        self._send(b"".join(pieces))

    async def drain(self) -> None:
        """Returns at once: ``write`` leaves nothing to send."""

    async def wait_closed(self) -> None:
        """Returns at once: ``close`` closes at once."""

    @property
    def is_silent(self) -> bool:
        """Whether the connection is open, and belongs to the event loop that runs."""
        return not self._ended and asyncio.get_running_loop() is self._loop

    def is_closing(self) -> bool:
        """Whether either side has hung up."""
        return self._ended

    def get_extra_info(self, _name: str, default: object = None) -> object:
        """Returns the default: there is no transport."""
        return default

    def _arrive(self) -> None:
        if asyncio._get_running_loop() is self._loop:
            self._deliver()
            return
        try:
            self._loop.call_soon_threadsafe(self._deliver_later)
        except RuntimeError:  # the loop is closed: no task will read the replies
            self._runner.disconnect(self._session, self._runner.clock.now())

    def _deliver_later(self) -> None:
        with self._runner.lock:
            self._deliver()

    def _deliver(self) -> None:
        while self._inbox:
            self.reader.feed_data(self._inbox.take(SENT_AT_ONCE))
        if self._ended:
            self.reader.feed_eof()
