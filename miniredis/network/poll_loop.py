"""The poll loop: one Trio task serves all sockets, through one poller.

A tick reads every readable socket once, lets the engine run all requests that arrived, and then sends the
replies. A tick is cheap because Trio waits for the poller alone: it wakes one task, however many clients have
sent something.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import trio

from ..clock import Machine
from .connection import ClientConnection, Source
from .descriptors import PAUSE, Rejection, Spare
from .forks import close_copy
from .listeners import addresses_of
from .pollers import READ, new_poller
from .spinning_poller import SpinningPoller

if TYPE_CHECKING:
    from ..engine import Instant
    from ..ticks.tick_runner import TickRunner
    from .listeners import Listener

__all__ = ["PollLoop"]

ACCEPTED_AT_ONCE: Final = 1000
"""The most connections that one tick accepts from one listener."""

TURN: Final = 0.01
"""Seconds for which a loop on a thread of its own runs ticks before it returns to Trio."""

PATIENCE: Final = 0.001
"""Seconds without any event after which such a loop returns to Trio earlier."""


class PollLoop:
    """Connects the clients of some listeners to an engine.

    Args:
        runner: runs the engine's ticks.
        listeners: listening sockets, which the caller closes.
        alone: whether nothing else runs on this thread. If so, the loop keeps the thread for a while, because
            returning to Trio costs as much as many commands.
    """

    def __init__(self, runner: TickRunner, listeners: Sequence[Listener], *, alone: bool) -> None:
        self._runner = runner
        self._turn = TURN if alone else 0
        self._patience = PATIENCE if alone else 0
        self._poller = new_poller()
        self._wait = SpinningPoller(self._poller).wait if alone else self._poller.wait
        self._sources: dict[int, Source] = {}
        self._acceptors = [Acceptor(listener, self) for listener in listeners]
        self._out_of_files = trio.Event()
        self._spare = Spare(runner.engine)
        runner.loops.append(self)

    async def run(self) -> None:
        """Serves until cancelled."""
        with self._runner.lock:
            self.refuse(self._runner.engine.rules.refuse_all)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._accept_again)
            nursery.start_soon(self._serve)

    def close(self) -> None:
        """Closes the descriptors of the loop, after all clients are disconnected."""
        self._poller.close()
        self._spare.close()

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copies of descriptors, first the poller, which the parent shares."""
        self.close()
        for acceptor in self._acceptors:
            acceptor.leave_to_parent()

    async def _serve(self) -> None:
        descriptor = self._poller.fileno()
        while True:
            await trio.lowlevel.wait_readable(descriptor)
            until = Machine.monotonic() + self._turn
            while self._tick(self._patience) and Machine.monotonic() < until:
                pass

    def read_arrived(self) -> None:
        """Runs all requests that have arrived."""
        self._tick(0)

    def _tick(self, patience: float) -> bool:
        """Runs a tick for all sockets that are ready; returns whether there were any.

        Args:
            patience: seconds to wait for the first event.
        """
        events = self._wait(patience)
        if not events:
            return False
        runner, sources = self._runner, self._sources
        with runner.lock:
            if runner.before_tick is not None:
                runner.before_tick()
            now = runner.clock.now()
            runner.in_tick = True
            try:
                for descriptor, what in events:
                    if source := sources.get(descriptor):
                        source.on_ready(what, now)
                runner.end_tick(now)
            finally:
                runner.in_tick = False
        return True

    def serve_during_script(self) -> None:
        """Serves the other clients, in a tick inside the tick in which a script runs for too long."""
        runner, now = self._runner, self._runner.clock.now()
        for descriptor, what in self._poller.wait(0):
            source = self._sources.get(descriptor)
            if source is not None and not source.waits_for_script:
                source.on_ready(what, now)
        runner.settle(now)

    # Accepting

    def welcome(self, accepted: socket.socket, listener: Listener, now: Instant) -> None:
        """Connects the client of a socket that was accepted."""
        accepted.setblocking(False)
        runner, descriptor = self._runner, accepted.fileno()
        try:
            address, local_address = addresses_of(accepted, listener, runner.engine.config)
            session = runner.connect(now, address=address, local_address=local_address, descriptor=descriptor)
        except OSError:  # the client has disconnected already, or the server has stopped
            accepted.close()
            return

        connection = ClientConnection(accepted, session, runner, self._sources, self._poller)
        runner.attach(session, connection)
        self._sources[descriptor] = connection
        self._poller.add(descriptor, READ)

    def reject_connection(self, listener: Listener, trouble: OSError) -> bool:
        """Rejects a client that could not be accepted; returns whether the client got the error.

        If the client still waits, the loop accepts no more for ``PAUSE`` seconds.
        """
        rejection = self._spare.reject_connection(listener.socket, trouble)
        if rejection is Rejection.FAILED:
            self._pause_accepting()
        return rejection is Rejection.TOLD

    def refuse(self, refuses: bool) -> None:
        """Has the system refuse new clients, where it can, or ends that. With the lock held."""
        for acceptor in self._acceptors:
            if not refuses:
                acceptor.listener.listen_again(self._runner.engine.config.integer("tcp-backlog"))
            elif acceptor.listener.refuse():
                self._accept_no_more(acceptor)
        self._accept_on()

    def _pause_accepting(self) -> None:
        for acceptor in self._acceptors:
            self._accept_no_more(acceptor)
        self._out_of_files.set()

    def _accept_no_more(self, acceptor: Acceptor) -> None:
        if self._sources.pop(acceptor.descriptor, None):
            self._poller.remove(acceptor.descriptor)

    def _accept_on(self) -> None:
        for acceptor in self._acceptors:
            if acceptor.descriptor not in self._sources and not acceptor.listener.refuses:
                self._sources[acceptor.descriptor] = acceptor
                self._poller.add(acceptor.descriptor, READ)

    async def _accept_again(self) -> None:
        while True:
            await self._out_of_files.wait()
            await trio.sleep(PAUSE)
            self._out_of_files = trio.Event()
            with self._runner.lock:
                self._accept_on()


class Acceptor:
    """A listener in the poll loop."""

    waits_for_script = False

    def __init__(self, listener: Listener, loop: PollLoop) -> None:
        self.descriptor = listener.socket.fileno()
        self.listener = listener
        self._loop = loop

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copy of the listening socket."""
        close_copy(self.listener.socket)

    def on_ready(self, _events: int, now: Instant) -> None:
        """Accepts the clients that have connected."""
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, _ = self.listener.socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if not self._loop.reject_connection(self.listener, error):
                    return
            else:
                self._loop.welcome(accepted, self.listener, now)
