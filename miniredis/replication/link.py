"""The connection of a replica to its master: moves bytes between a socket and the engine, in a Trio task.

``Upstream`` in ``miniredis/engine/replication`` decides what is said and what becomes of it. It calls
``open``, ``send`` and ``close`` in the middle of a tick, on any thread, with the lock of the ``TickRunner``
held; the task does what they ask for as soon as it runs. The engine is told nothing of a connection that it
has closed meanwhile.

Each tick begins with what has arrived of the master's stream (``read_arrived``): a master sends that before
it replies to the client that wrote, so whoever has the reply finds the write at a replica, too. Therefore any
thread may read the socket, but only with the lock held: else one part of the stream could overtake another.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from ..clock import Machine
from ..network.forks import close_copy, leave_to_parent_on_fork
from ..ticks.loading import SLICE
from ..ticks.tick_runner import TickRunner

if TYPE_CHECKING:
    from ..engine import Instant
    from ..engine.replication.upstream import Upstream

__all__ = ["MasterLink"]

READ_SIZE: Final = 1 << 18
CUT: Final = "the link is cut"
CLOSED: Final = "the master has closed the connection"


class MasterLink:
    """The connection of one server to its master, if it has one.

    Args:
        runner: whose engine may be a replica.

    Attributes:
        is_cut: there is no way to the master for now.
    """

    def __init__(self, runner: TickRunner) -> None:
        self._runner = runner
        self.is_cut = False
        self._target: tuple[str, int] | None = None
        self._number = 0  # of the connection that is wanted
        self._unsent = bytearray()
        self._socket: socket.socket | None = None  # of the connection at hand
        self._scope = trio.CancelScope()  # of the connection at hand
        self._wanted = trio.Event()
        self._has_unsent = trio.Event()
        engine = runner.engine
        engine.environment = engine.environment._replace(link=self)

    @property
    def _upstream(self) -> Upstream:
        return self._runner.engine.replication.upstream

    # What the engine asks for

    def open(self, host: str, port: int) -> None:
        """Begins to connect, in place of any connection that there is."""
        self._renew((host, port))

    def close(self) -> None:
        """Ends the connection, or the attempt to make one."""
        self._renew(None)

    def _renew(self, target: tuple[str, int] | None) -> None:
        self._target = target
        self._number += 1
        self._unsent.clear()
        self._runner.call_soon(self._look_again)

    def send(self, data: bytes) -> None:
        """Sends bytes."""
        self._unsent += data
        self._runner.call_soon(lambda: self._has_unsent.set())

    def info(self, text: str) -> None:
        """Logs what is as it should be."""
        self._runner.log.info("%s", text)

    def warn(self, text: str) -> None:
        """Logs what is not."""
        self._runner.log.warning("%s", text)

    def _look_again(self) -> None:
        self._scope.cancel()
        self._wanted.set()

    # The task

    async def run(self) -> None:
        """Serves the engine until it is cancelled."""
        leave_to_parent_on_fork(self)
        self._tick(lambda: self._upstream.resume)
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            if self._target is not None:
                with trio.CancelScope() as self._scope:
                    await self._talk(self._target, self._number)

    def stop(self) -> None:
        """Ends the connection: the server stops."""
        self._tick(lambda: self._upstream.stop)

    def cut(self) -> None:
        """Ends the connection, behind what has arrived, until ``mend``; with the lock held."""
        self.is_cut = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """There is a way to the master again: connects at once."""
        self.is_cut = False
        self._tick(lambda: self._upstream.link.connect)

    async def _talk(self, target: tuple[str, int], number: int) -> None:
        link = self._upstream.link
        tell = partial(self._tell, number)
        self._has_unsent = trio.Event()
        if self.is_cut:
            tell(link.lost, CUT)
            return
        try:
            stream = await trio.open_tcp_stream(*target)
        except (OSError, UnicodeError) as error:  # UnicodeError: no host can have that name
            tell(link.lost, str(error))
            return
        with socket.socket(fileno=stream.socket.detach()) as plain:
            plain.setblocking(False)
            self._socket = plain
            self._runner.before_tick = partial(self.read_arrived, plain, tell)
            try:
                host, port = plain.getsockname()[:2]
                tell(link.connected, f"{host}:{port}", plain.fileno())
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._send_all, plain)
                    tell(link.lost, await self._receive_all(plain, tell))
                    nursery.cancel_scope.cancel()
            finally:
                with self._runner.lock:  # no other thread reads the socket when it is closed
                    self._runner.before_tick = None

    async def _receive_all(self, plain: socket.socket, tell: Callable[..., None]) -> str:
        """Hands over what the master sends; returns why there is no more."""
        try:
            while self._receive(plain, tell) != b"":
                while self._is_loading:
                    tell(self._load)
                    await trio.lowlevel.checkpoint()
                await trio.lowlevel.wait_readable(plain)
        except OSError as error:
            return str(error)
        return CLOSED

    def _receive(self, plain: socket.socket, tell: Callable[..., None]) -> bytes | None:
        """Hands over what has arrived; returns that: None if it is nothing, no bytes at the end."""
        with self._runner.lock:
            try:
                data = plain.recv(READ_SIZE)
            except (BlockingIOError, InterruptedError):
                return None
            if data:
                tell(self._upstream.link.receive, data)
            return data

    def read_arrived(self, plain: socket.socket, tell: Callable[..., None]) -> None:
        """Before a tick: applies what has arrived of the stream. All else is left to the task."""
        if self._upstream.link.session is not None:
            with contextlib.suppress(OSError):  # which the task finds out, too
                self._receive(plain, tell)

    def _load(self) -> None:
        """Loads what has come for a moment; then clients are answered."""
        until = Machine.monotonic() + SLICE
        while self._upstream.link.load() and Machine.monotonic() < until:
            pass

    @property
    def _is_loading(self) -> bool:
        return self._upstream.link.is_loading

    async def _send_all(self, plain: socket.socket) -> None:
        while True:
            await self._has_unsent.wait()
            self._has_unsent = trio.Event()
            while self._unsent:
                await trio.lowlevel.wait_writable(plain)
                with self._runner.lock:
                    try:
                        del self._unsent[: plain.send(self._unsent)]
                    except (BlockingIOError, InterruptedError):
                        pass
                    except OSError:
                        return  # the reader finds that out, too, and tells of it

    def _tell(self, number: int, tell: Callable[..., None], *about: object) -> None:
        """Tells the engine of a connection, in a tick of its own."""
        self._tick(lambda: tell if number == self._number else None, *about)

    def _tick(self, choose: Callable[[], Callable[..., None] | None], *about: object) -> None:
        def act(now: Instant) -> None:
            tell = choose()
            if tell is not None:
                self._runner.engine.replication.tell_upstream(now, tell, *about)

        self._runner.tick_with(act)

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copy of the connection, which the parent keeps."""
        if self._socket is not None:
            close_copy(self._socket)
