"""An engine among those who use it: one lock, one clock, and a way out for every client's replies.

Whoever has bytes for the engine runs a whole tick of it: takes the lock, lets the engine receive, and
settles. Settling lets the engine do what is due, and sends what it wants said, to whichever client, by that
client's own outlet. So it makes no difference which thread a tick runs on: the loop's, or that of a client
without a socket.
"""

from __future__ import annotations

import contextlib
import errno
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import trio

from .logs import VERBOSE, ServerLog

if TYPE_CHECKING:
    from .clock import Clock
    from .engine import Engine, Environment, Instant, Session
    from .outlets import Loop, Outlet

__all__ = ["PARENTS", "SIDE_DOOR", "Host"]

LEISURE: Final = 10_000
"""Microseconds for which a key that has expired may stay while nothing else happens: a wake-up costs more."""

SIDE_DOOR = (
    "the server is in the middle of a command on this thread: a signal handler or a __del__ method cannot "
    "use server.client(); let it set a flag, and run its commands later"
)

PARENTS = "the server runs in another process, which this one was forked from; connect to server.url instead"

BUSY = (
    "a script is running, and would see its keys vanish: end it (SCRIPT KILL or FUNCTION KILL), then call "
    "reset() again"
)

GAP: Final = 0.001
"""Seconds for which a script that runs for too long stands still now and then."""


class Host:
    """Shares an engine; it belongs to the thread that made it, which runs Trio.

    Args:
        engine: used by nobody else.
        clock: where the time comes from.
        environment: the process, as far as it does not depend on the host.

    Attributes:
        lock: to be held by whoever uses the engine, or this.
        is_busy: the engine is running. Whoever holds the lock and finds it so came in by a side door: a
            signal's handler, or a destructor that the garbage collector called.
        is_open: the server has not stopped, and runs in this process.
        is_here: this is the process that runs the server, and not one that was forked from it.
        log: what the server logs.
        loop: moves its clients' bytes; set by the loop itself.
    """

    loop: Loop

    def __init__(self, engine: Engine, clock: Clock, environment: Environment) -> None:
        self.engine = engine
        self.clock = clock
        self.lock = threading.RLock()
        self.is_busy = False
        self.is_open = True
        self.is_here = True
        self.log = ServerLog(engine.config)
        self._lost: list[Session] = []
        self._outlets: dict[Session, Outlet] = {}
        self._token = trio.lowlevel.current_trio_token()
        self._thread = threading.get_ident()
        self._due: int | None = None  # the alarm goes off then at the latest: monotonic microseconds
        self._alarm = trio.CancelScope()
        self._stop = trio.Event()
        self._gap = threading.Condition(self.lock)
        engine.move_into(environment._replace(clock=clock.now, let_others_in=self._let_others_in))

    # For the owners of clients

    def connect(
        self, now: Instant, *, address: str = "", local_address: str = "", descriptor: int = -1
    ) -> Session:
        """A client has come; ``attach`` must follow, and ``disconnect`` some day. With the lock held.

        One that has no address is shown as one of this machine, its number for a port.

        Raises:
            ConnectionRefusedError: the server has stopped.
        """
        if not self.is_open:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "the server has stopped")
        engine = self.engine
        session = engine.connect(now, address=address, local_address=local_address, descriptor=descriptor)
        if not address:
            session.address = b"127.0.0.1:%d" % session.id
            session.local_address = b"127.0.0.1:%b" % engine.config["port"].encode()
        self.log.log(VERBOSE, "client %d connected from %s", session.id, session.address.decode())
        return session

    def attach(self, session: Session, outlet: Outlet) -> None:
        """What is said to a client goes this way; with the lock held."""
        self._outlets[session] = outlet

    def disconnect(self, session: Session, now: Instant) -> None:
        """A client is gone; with the lock held."""
        if self._outlets.pop(session, None) is not None:
            self.engine.disconnect(session, now)
            self.log.log(VERBOSE, "client %d disconnected", session.id)

    def lose(self, session: Session) -> None:
        """A client is gone, as will be found soon; from anywhere, also by a side door."""
        if not self.is_open:
            return
        self._lost.append(session)
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._look_for_the_lost, idempotent=True)

    def tick(self, session: Session, data: bytes) -> None:
        """A whole tick for what one client sent, on any thread.

        Raises:
            RuntimeError: it came in by a side door.
        """
        with self.lock:
            if self.is_busy:
                raise RuntimeError(SIDE_DOOR)
            now = self.clock.now()
            if self._lost:
                self._bury_the_lost(now)
            self.is_busy = True
            try:
                self.engine.receive(session, data, now)
                self.end_tick(now)
            finally:
                self.is_busy = False

    def reset(self) -> None:
        """A whole tick that removes every key of every database, on any thread; nothing once stopped.

        Raises:
            RuntimeError: a script is running, it came in by a side door, or this process was forked.
        """
        self.check_is_here()
        with self.lock:
            if self.is_busy:
                raise RuntimeError(SIDE_DOOR)
            if not self.is_open:
                return
            if self.engine.scripts.running is not None:
                raise RuntimeError(BUSY)
            now = self.clock.now()
            self.is_busy = True
            try:
                self.engine.reset(now)
                self.end_tick(now)
            finally:
                self.is_busy = False

    def _look_for_the_lost(self) -> None:
        with self.lock:
            self.settle(self.clock.now())

    def _bury_the_lost(self, now: Instant) -> None:
        while self._lost:
            session = self._lost.pop()
            if outlet := self._outlets.get(session):
                outlet.hang_up()
            self.disconnect(session, now)

    def settle(self, now: Instant) -> None:
        """A tick in which nobody sends anything; with the lock held."""
        was_busy, self.is_busy = self.is_busy, True
        try:
            self.end_tick(now)
        finally:
            self.is_busy = was_busy

    def end_tick(self, now: Instant) -> None:
        """Lets the engine do what is due, and sends all it says; while it is marked as busy."""
        if not self.is_open:
            return
        engine, outlets = self.engine, self._outlets
        if self._lost:
            self._bury_the_lost(now)
        for session in engine.settle(now):
            outlet = outlets.get(session)
            if outlet is not None:
                outlet.flush(now)
        if engine.faults:
            self._log_faults()
        due = engine.next_deadline(LEISURE)
        if due is not None and (self._due is None or due < self._due):
            self._due = due
            self.call_soon(self._set_alarm)
        if engine.shutdown_requested:
            self.call_soon(self._stop.set)

    def _log_faults(self) -> None:
        for session, fault in self.engine.take_faults():
            if session is None:
                self.log.error("miniredis has a bug: what time brings failed (expiry)", exc_info=fault)
            else:
                self.log.error(
                    "miniredis has a bug: a command of client %d failed, and its connection was closed",
                    session.id,
                    exc_info=fault,
                )

    def _let_others_in(self) -> None:
        """A script runs for too long: who asks for something now is answered that the server is busy."""
        was_busy, self.is_busy = self.is_busy, False
        try:
            if self.is_own_thread:
                self.loop.attend_meanwhile()
            self._gap.wait(GAP)  # without the lock: for clients in other threads
        finally:
            self.is_busy = was_busy

    def call_soon(self, function: Callable[[], object]) -> None:
        """Calls a function on the server's own thread: at once if this is it, soon if it is not."""
        if self.is_own_thread:
            function()
        else:
            self._token.run_sync_soon(function)

    def check_is_here(self) -> None:
        """Raises ``RuntimeError`` in a process that was forked from the server's."""
        if not self.is_here:
            raise RuntimeError(PARENTS)

    @property
    def is_own_thread(self) -> bool:
        """Whether this is the thread that runs the server."""
        return threading.get_ident() == self._thread

    # Time

    def advance(self, microseconds: int) -> None:
        """Makes it so much later; whatever comes due on the way happens at its own moment, in order."""
        with self.lock:
            clock, engine = self.clock, self.engine
            end = clock.now().monotonic + microseconds
            self.settle(clock.now())
            while (due := engine.next_deadline()) is not None and due <= end:
                clock.advance(max(due - clock.now().monotonic, 0))
                self.settle(clock.now())
            clock.advance(max(end - clock.now().monotonic, 0))
            self._due = None
            self.settle(clock.now())

    async def run(self) -> None:
        """Keeps the engine's deadlines while nobody sends anything; returns when a client said SHUTDOWN."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_deadlines)
            await self._stop.wait()
            nursery.cancel_scope.cancel()

    async def _keep_deadlines(self) -> None:
        while True:
            with trio.CancelScope() as self._alarm:
                self._set_alarm()
                await trio.sleep_forever()
            with self.lock:
                self._due = None
                self.settle(self.clock.now())

    def _set_alarm(self) -> None:
        due = self._due
        if due is None or self.clock.stands_still:
            self._alarm.deadline = float("inf")
        else:
            self._alarm.deadline = trio.current_time() + (due - self.clock.now().monotonic) / 1_000_000

    def close(self) -> None:
        """Disconnects everybody; no client can come any more, and another server may have the engine."""
        with self.lock:
            if not self.is_open:
                return
            self.is_open = False
            self.engine.scripts.must_end = True
            while self.engine.scripts.running is not None:  # on the thread of a client without a socket
                self._gap.wait(GAP)
            now = self.clock.now()
            for session, outlet in tuple(self._outlets.items()):
                outlet.hang_up()
                self.disconnect(session, now)

    def leave_to_parent(self) -> None:
        """In a forked child: closes what it inherited; the server, and all its clients, are the parent's."""
        self.is_here = self.is_open = self.is_busy = False
        self.lock = threading.RLock()  # a thread that held the old one is not here to give it back
        for outlet in self._outlets.values():
            outlet.leave_to_parent()
        self._outlets.clear()
        self.loop.leave_to_parent()
