"""Serves each client in Trio tasks of its own: for TLS, streams in memory, and platforms without a poller.

Slower than the poll loop, because Trio wakes a task for each client. Everything else is the same.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import trio

from ..engine.clients.client_flags import REPLICA
from ..engine.clients.output_limits import FREE
from ..engine.protocol.requests import READ_SIZE
from ..engine.protocol.unsent import SENT_AT_ONCE, Unsent
from .descriptors import PAUSE, Rejection, Spare
from .forks import close_copy
from .listeners import addresses_of

if TYPE_CHECKING:
    from ..engine import Instant, Session
    from ..ticks.tick_runner import TickRunner
    from .listeners import Listener

__all__ = ["StreamLoop", "serve_stream"]


class StreamLoop:
    """Connects the clients of some listeners to an engine.

    Args:
        runner: runs the engine's ticks.
        listeners: listening sockets, which the caller closes.
    """

    def __init__(self, runner: TickRunner, listeners: Sequence[Listener]) -> None:
        self._runner = runner
        # Trio closes these copies; the caller closes the originals
        self._listeners = [(each, trio.socket.from_stdlib_socket(each.socket.dup())) for each in listeners]
        self._connections: set[StreamConnection] = set()
        self._spare = Spare(runner.engine)
        runner.loops.append(self)

    async def run(self) -> None:
        """Serves until cancelled."""
        with self._runner.lock:
            self.refuse(self._runner.engine.rules.refuse_all)
        async with trio.open_nursery() as nursery:
            for listener, duplicate in self._listeners:
                nursery.start_soon(self._accept, listener, duplicate, nursery)

    def refuse(self, refuses: bool) -> None:
        """Has the system refuse new clients, where it can, or ends that. With the lock held."""
        for listener, _ in self._listeners:
            if refuses:
                listener.refuse()
            else:
                listener.listen_again(self._runner.engine.config.integer("tcp-backlog"))

    def close(self) -> None:
        """Closes the descriptors of the loop."""
        self._spare.close()
        for _, duplicate in self._listeners:
            duplicate.close()

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copies of descriptors."""
        self._spare.close()
        for listener, duplicate in self._listeners:
            close_copy(listener.socket)
            close_copy(duplicate)

    def read_arrived(self) -> None:
        """Does nothing: only Trio knows what has arrived."""

    async def _accept(
        self, listener: Listener, duplicate: trio.socket.SocketType, nursery: trio.Nursery
    ) -> None:
        async with trio.SocketListener(duplicate) as ours:
            while True:
                try:
                    nursery.start_soon(self._serve_and_close, listener, await ours.accept())
                except OSError as trouble:
                    if listener.refuses:
                        await trio.sleep(PAUSE)
                        continue
                    rejection = self._spare.reject_connection(listener.socket, trouble)
                    if rejection is Rejection.NOBODY_WAITS:
                        await trio.lowlevel.wait_readable(ours.socket)
                    elif rejection is Rejection.FAILED:
                        await trio.sleep(PAUSE)

    async def _serve_and_close(self, listener: Listener, stream: trio.SocketStream) -> None:
        try:
            await self._serve(listener, stream)
        finally:
            await trio.aclose_forcefully(stream)

    async def _serve(self, listener: Listener, stream: trio.SocketStream) -> None:
        try:
            address, local_address = addresses_of(stream.socket, listener, self._runner.engine.config)
        except OSError:  # the client has disconnected already
            return
        with contextlib.suppress(ConnectionRefusedError):
            spoken = trio.SSLStream(stream, listener.tls, server_side=True) if listener.tls else stream
            connection = open_stream(self._runner, spoken, address=address, local_address=local_address)
            self._connections.add(connection)
            try:
                await connection.run()
            finally:
                self._connections.discard(connection)

    def serve_during_script(self) -> None:
        """Serves connected clients while a script blocks Trio; accepts no new ones."""
        runner, now = self._runner, self._runner.clock.now()
        for connection in tuple(self._connections):
            connection.read_at_once(now)
        runner.settle(now)
        for connection in tuple(self._connections):
            connection.send_at_once()


async def serve_stream(
    runner: TickRunner, stream: trio.abc.Stream, *, address: str = "", local_address: str = ""
) -> None:
    """Serves one client until either side hangs up; closes its stream.

    Raises:
        ConnectionRefusedError: the server has stopped.
    """
    try:
        await open_stream(runner, stream, address=address, local_address=local_address).run()
    finally:
        await trio.aclose_forcefully(stream)


def open_stream(
    runner: TickRunner, stream: trio.abc.Stream, *, address: str, local_address: str
) -> StreamConnection:
    """Connects the client of a stream; raises ``ConnectionRefusedError`` if the server has stopped."""
    with runner.lock:
        now = runner.clock.now()
        session = runner.connect(now, address=address, local_address=local_address)
        connection = StreamConnection(runner, stream, session)
        runner.attach(session, connection)
        runner.settle(now)
    return connection


class StreamConnection:
    """One client of a stream.

    Args:
        runner: runs the engine's ticks.
        stream: carries the bytes of Redis's protocol.
        session: the client's session in the engine.
    """

    def __init__(self, runner: TickRunner, stream: trio.abc.Stream, session: Session) -> None:
        self._runner = runner
        self._stream = stream
        self._session = session
        self._unsent = Unsent()
        self._on_the_way = 0  # bytes given to the stream that it has not sent yet
        self._more = trio.Event()
        self._scope = trio.CancelScope()
        # read and written directly, without Trio, while a script blocks the loop;
        # its descriptor is -1 once the stream is closed; Windows cannot do that with a descriptor
        is_direct = sys.platform != "win32" and isinstance(stream, trio.SocketStream)
        self._socket = stream.socket if is_direct else None  # type: ignore[attr-defined]

    async def run(self) -> None:
        """Receives and sends until either side hangs up."""
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._send)
                    if self._session.connected:
                        await self._receive()
                        nursery.cancel_scope.cancel()
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        finally:
            with self._runner.lock:
                now = self._runner.clock.now()
                self._runner.disconnect(self._session, now)
                self._runner.settle(now)

    async def _receive(self) -> None:
        while data := await self._stream.receive_some(READ_SIZE):
            self._runner.tick(self._runner.engine.receive, self._session, bytes(data))

    async def _send(self) -> None:
        while True:
            await self._more.wait()
            self._more = trio.Event()
            if self._socket is None:
                await self._send_by_stream()
            else:
                await self._send_by_socket(self._socket)
            if self._session.closing and not self._unsent:
                self._scope.cancel()

    async def _send_by_stream(self) -> None:
        while self._unsent:
            with self._runner.lock:
                data = self._unsent.take(SENT_AT_ONCE)
                self._on_the_way = len(data)
            await self._stream.send_all(data)
            with self._runner.lock:
                self._on_the_way = 0
                self._is_too_long(self._runner.clock.now())  # forgets the soft limit if it has read enough

    async def _send_by_socket(self, plain: trio.socket.SocketType) -> None:
        """Sends without Trio's buffers, so that ``send_at_once`` can send the rest."""
        while self._unsent:
            with self._runner.lock:
                try:
                    self._send_some(plain)
                except OSError as error:
                    raise trio.BrokenResourceError from error
                self._is_too_long(self._runner.clock.now())  # forgets the soft limit if it has read enough
            if self._unsent:
                await trio.lowlevel.wait_writable(plain)

    def _send_some(self, plain: trio.socket.SocketType) -> None:
        if sys.platform != "win32":  # where it is never called
            self._unsent.send(partial(os.writev, plain.fileno()))

    def read_at_once(self, now: Instant) -> None:
        """Reads what has arrived, without Trio; reads nothing while the client's own script runs."""
        if self._socket is None or self._runner.engine.scripts.is_running_for(self._session):
            return
        with contextlib.suppress(OSError):  # Trio will notice that the client is gone
            if data := os.read(self._socket.fileno(), READ_SIZE):
                self._runner.engine.receive(self._session, data, now)

    def send_at_once(self) -> None:
        """Sends what the socket takes, without Trio."""
        if self._socket is not None and self._unsent:
            with contextlib.suppress(OSError):
                self._send_some(self._socket)

    def flush(self, now: Instant) -> None:
        """Hands the session's output to the task that sends it."""
        session = self._session
        data = session.take_pieces()
        self._unsent.add(data)
        if self.unsent > FREE and self._is_too_long(now):
            self._unsent.clear()
            self._runner.engine.hang_up(session)
            self.hang_up()
            return
        if session.closing and not session.connected and not data:
            self.hang_up()
        else:
            if session.flags & REPLICA:  # before clients are answered
                self.send_at_once()
            self._runner.call_soon(self._wake)

    @property
    def unsent(self) -> int:
        """Bytes that were flushed and that the stream has not sent yet."""
        return len(self._unsent) + self._on_the_way

    def _is_too_long(self, now: Instant) -> bool:
        return self._runner.engine.output_limits.is_too_long(self._session, self.unsent, now)

    def _wake(self) -> None:
        self._more.set()

    def hang_up(self) -> None:
        """Ends the connection: a socket at once, behind what it takes, before anybody else is answered."""
        self.send_at_once()
        if (carrier := self._carrier) is not None:
            with contextlib.suppress(OSError):
                carrier.shutdown(trio.socket.SHUT_RDWR)
        self._runner.call_soon(self._scope.cancel)

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copies of descriptors."""
        if (carrier := self._carrier) is not None:
            close_copy(carrier)

    @property
    def _carrier(self) -> trio.socket.SocketType | None:
        """The socket under the stream, if there is one."""
        stream = self._stream.transport_stream if isinstance(self._stream, trio.SSLStream) else self._stream
        return stream.socket if isinstance(stream, trio.SocketStream) else None
