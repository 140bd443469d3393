"""The loop that moves bytes: one Trio task waits on one poller that holds every socket.

A tick reads every readable socket once, lets the engine run all that arrived, and only then sends replies.
Waiting on the poller instead of on each socket is what makes a tick cheap: Trio wakes one task, whatever the
number of clients that have sent something.
"""

from __future__ import annotations

import logging
import math
import selectors
import socket
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import trio

from .connection import Connection

if TYPE_CHECKING:
    from .clock import Clock
    from .engine import Engine, Instant, Session
    from .listeners import Listener

__all__ = ["PollLoop"]

log = logging.getLogger("miniredis")

READ: Final = selectors.EVENT_READ
WRITE: Final = selectors.EVENT_WRITE

ACCEPTED_AT_ONCE: Final = 1000
"""How many connections one tick accepts."""

OUT_OF_FILES_PAUSE: Final = 0.1
"""Seconds to wait before accepting again when the process has no file descriptor left."""


class PollLoop:
    """Serves an engine to the clients of some listeners.

    Whoever holds ``lock`` may use the engine; the loop holds it for a tick at a time.

    Args:
        engine: the engine.
        clock: where the time comes from.
        listeners: sockets that listen; they stay the caller's to close.
    """

    def __init__(self, engine: Engine, clock: Clock, listeners: Sequence[Listener]) -> None:
        self.engine = engine
        self.clock = clock
        self.lock = threading.Lock()
        self._listeners = listeners
        self._connections: dict[Session, Connection] = {}
        self._selector = selectors.DefaultSelector()
        self._alarm = trio.CancelScope()
        self._tasks = trio.CancelScope()
        self._armed: int | None = None
        self._out_of_files = trio.Event()

    async def run(self) -> None:
        """Serves until cancelled, or until a client says SHUTDOWN; hangs up on everybody then."""
        try:
            for listener in self._listeners:
                self._selector.register(listener.socket, READ, listener)
            async with trio.open_nursery() as nursery:
                self._tasks = nursery.cancel_scope
                nursery.start_soon(self._keep_deadlines)
                nursery.start_soon(self._accept_again)
                nursery.start_soon(self._serve)
        finally:
            for connection in self._connections.values():
                connection.close()
            self._selector.close()

    async def _serve(self) -> None:
        poller = self._selector.fileno()  # epoll and kqueue have one
        while True:
            await trio.lowlevel.wait_readable(poller)
            self._tick()

    async def _keep_deadlines(self) -> None:
        """A tick when a waiter gives up or a key expires, and nobody sends anything."""
        while True:
            with trio.CancelScope() as self._alarm:
                self._armed = None
                self._arm(self.clock.now())
                await trio.sleep_forever()
            self._tick()

    async def _accept_again(self) -> None:
        while True:
            await self._out_of_files.wait()
            await trio.sleep(OUT_OF_FILES_PAUSE)
            self._out_of_files = trio.Event()
            for listener in self._listeners:
                self._selector.register(listener.socket, READ, listener)

    # One tick

    def _tick(self) -> None:
        with self.lock:
            self._take_in()
            self._arm(self._settle())
        if self.engine.shutdown_requested:
            self._tasks.cancel()

    def _take_in(self) -> None:
        """Lets the engine run all that has arrived."""
        now = self.clock.now()
        for key, events in self._selector.select(0):
            if isinstance(key.data, Connection):
                self._attend(key.data, events, now)
            else:
                self._accept(key.data, now)

    def _settle(self) -> Instant:
        """Lets the engine do what is due, and sends what there is to send; returns when that was."""
        now = self.clock.now()
        for session in self.engine.settle(now):
            self._send(session, now)
        for session, fault in self.engine.take_faults():
            log.error("client %d was hung up on", session.id, exc_info=fault)
        return now

    def fast_forward(self, microseconds: int) -> None:
        """Makes it so much later; whatever comes due on the way happens at its own moment, in order.

        To be called on the loop's own thread.
        """
        with self.lock:
            end = self.clock.now().monotonic + microseconds
            self._take_in()
            self._settle()
            while (due := self.engine.next_deadline()) is not None and due <= end:
                self.clock.advance(max(due - self.clock.now().monotonic, 0))
                self._settle()
            self.clock.advance(max(end - self.clock.now().monotonic, 0))
            self._arm(self._settle())

    def _attend(self, connection: Connection, events: int, now: Instant) -> None:
        if events & WRITE:
            self._send_rest(connection, now)
        if events & READ and connection.session in self._connections:
            self._receive(connection, now)

    def _receive(self, connection: Connection, now: Instant) -> None:
        data = connection.read()
        if data is None:
            return
        if data:
            self.engine.receive(connection.session, data, now)
        else:
            self._drop(connection, now)

    def _send(self, session: Session, now: Instant) -> None:
        connection = self._connections.get(session)
        if connection is None:
            return
        try:
            connection.send(session.take_output())
        except OSError:
            self._drop(connection, now)
        else:
            self._after_sending(connection, now)

    def _send_rest(self, connection: Connection, now: Instant) -> None:
        try:
            connection.send_rest()
        except OSError:
            self._drop(connection, now)
        else:
            self._after_sending(connection, now)

    def _after_sending(self, connection: Connection, now: Instant) -> None:
        """Watches for what is to come next; a client that was told to go goes when it has its replies."""
        session = connection.session
        if session.closing and not (connection.has_unsent and session.connected):
            self._drop(connection, now)
            return
        events = (0 if session.closing else READ) | (WRITE if connection.has_unsent else 0)
        if events != connection.watched_for:
            self._selector.modify(connection.socket, events, connection)
            connection.watched_for = events

    def _drop(self, connection: Connection, now: Instant) -> None:
        del self._connections[connection.session]
        self._selector.unregister(connection.socket)
        connection.close()
        self.engine.disconnect(connection.session, now)

    # Accepting

    def _accept(self, listener: Listener, now: Instant) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, _ = listener.socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._stop_accepting(error)
                return
            self._welcome(accepted, listener, now)

    def _stop_accepting(self, error: OSError) -> None:
        log.warning("accepting no connections for a moment: %s", error.strerror)
        for listener in self._listeners:
            self._selector.unregister(listener.socket)
        self._out_of_files.set()

    def _welcome(self, accepted: socket.socket, listener: Listener, now: Instant) -> None:
        accepted.setblocking(False)
        if listener.is_unix:
            address = local_address = f"{listener.host}:0"
        else:
            try:
                address, local_address = prepare_tcp(accepted, self.engine.config.integer("tcp-keepalive"))
            except OSError:  # it has gone already
                accepted.close()
                return
        session = self.engine.connect(
            now, address=address, local_address=local_address, descriptor=accepted.fileno()
        )
        connection = self._connections[session] = Connection(accepted, session)
        self._selector.register(accepted, READ, connection)
        connection.watched_for = READ

    def _arm(self, now: Instant) -> None:
        """Sets the alarm to the engine's next deadline."""
        deadline = None if self.clock.stands_still else self.engine.next_deadline()
        if deadline == self._armed:
            return
        self._armed = deadline
        if deadline is None:
            self._alarm.deadline = math.inf
        else:
            self._alarm.deadline = trio.current_time() + (deadline - now.monotonic) / 1_000_000


def prepare_tcp(accepted: socket.socket, keepalive: int) -> tuple[str, str]:
    """Sets a new client's socket up; returns both its addresses, as ``host:port``."""
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if keepalive:
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return as_text(accepted.getpeername()), as_text(accepted.getsockname())


def as_text(address: tuple[str, int]) -> str:
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
