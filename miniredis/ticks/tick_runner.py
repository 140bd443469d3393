"""Runs ticks of an engine, on any thread, under one lock.

A thread that has bytes for the engine runs a whole tick: it takes the lock, lets the engine receive them, and
settles. To settle is to let the engine do what is due, and to send each client its replies through its
``Outlet``. So a tick may run on the thread of the loop, or on that of a client without a socket.

Rules: only a thread that holds ``lock`` uses the engine. Nothing is sent before the end of a tick. A forked
process never uses the engine of its parent.
"""

from __future__ import annotations

import contextlib
import errno
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar, cast

import trio

from ..engine.protocol.replies import NO_REPLY
from ..logs import VERBOSE, ServerLog
from ..persistence.server_files import ServerFiles
from .deadlines import Alarm, advance_together
from .re_entrance import RE_ENTRANT
from .script_gaps import ScriptGaps
from .shared_ticks import NEVER_WAIT, SharedTicks, TickInterruptedError

if TYPE_CHECKING:
    from ..clock import Clock
    from ..engine import Engine, Environment, Instant, Session
    from ..persistence.base_writer import BaseWriter
    from ..persistence.journal import Journal
    from .outlets import Loop, Outlet

__all__ = [
    "HAS_STOPPED",
    "PARENTS",
    "TickRunner",
]

What = TypeVar("What")
Answer = TypeVar("Answer")

IDLE_EXPIRY_DELAY: Final = 10_000
"""Microseconds for which an expired key may stay while the server is idle: to wake up would cost more."""

PARENTS = "the server runs in another process, which this one was forked from; connect to server.url instead"

HAS_STOPPED: Final = "the server has stopped"

BUSY = (
    "a script is running, and would see its keys vanish: end it (SCRIPT KILL or FUNCTION KILL), then call "
    "reset() again"
)

CLOSED = "a command of client %d failed, and its connection was closed"
BY_ITSELF = (
    "a step that no client asked for failed (a timeout, expiry, work in the background); all clients stay"
)

LOST = "cannot write the append-only file, and appendfsync is 'always', so the server stops: %s"


class TickRunner:
    """Runs the ticks of one engine; made on the server's own thread, which runs Trio.

    Args:
        engine: used through this runner only.
        clock: where the time comes from.
        environment: the process, as far as it does not depend on the runner.
        lock: one that several runners share; None for one of its own.

    Attributes:
        lock: a caller holds it while it uses the engine or this runner.
        in_tick: True while a tick runs. A caller that holds the lock and sees it is re-entrant: a signal
            handler, or a finalizer that the garbage collector called.
        is_open: the server has not stopped, and runs in this process.
        is_here: this process runs the server; it was not forked from that process.
        log: what the server logs.
        files: keep the data on disk.
        failure: of the disk; the server has stopped because of it, or could not write the rest at its end.
        loops: move the bytes of clients with sockets; each adds itself.
        before_tick: does something before clients are served, in a tick of its own; a replica has it.
        must_stop: SHUTDOWN, or a disk that fails, has asked for the end of the server.
        farewell: what each client is told at the end, after the replies to all that was done.
    """

    farewell = b""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        environment: Environment,
        lock: threading.RLock | None = None,
    ) -> None:
        self.engine = engine
        self.clock = clock
        self.lock = lock or threading.RLock()
        self.in_tick = False
        self.is_open = True
        self.is_here = True
        self.log = ServerLog(engine.config)
        self.failure: OSError | None = None
        self.files = ServerFiles(engine, self.log, self._do_soon)
        self.loops: list[Loop] = []
        self.before_tick: Callable[[], None] | None = None
        self._leaving: list[Session] = []
        self._outlets: dict[Session, Outlet] = {}
        self._token = trio.lowlevel.current_trio_token()
        self._thread = threading.get_ident()
        self.must_stop = trio.Event()
        self._alarm = Alarm(clock, self.call_soon)
        self._gaps = ScriptGaps(self)
        self._ticked = threading.Condition(self.lock)
        self._shared_ticks = SharedTicks(self.lock, self._run_tick)
        self._waiting = self._shared_ticks.waiting
        self._observers = 0  # threads in ``wait_for``
        engine.move_into(
            environment._replace(
                clock=clock.now,
                let_others_in=self._gaps.let_others_in,
                begin_snapshot=self._begin_snapshot,
                new_base_writer=self.files.begin_base_writer,
            )
        )
        engine.rules.tell_of_refusal(self._refuse)
        if engine.config["aclfile"]:
            from ..persistence.acl_file import load_users  # most servers have none

            load_users(engine)

    # For the owners of clients

    def connect(
        self, now: Instant, *, address: str = "", local_address: str = "", descriptor: int = -1
    ) -> Session:
        """Connects a client; ``attach`` must follow, and ``disconnect`` at its end. With the lock held.

        A client without an address is shown as one of this machine, with its number as the port.

        Raises:
            ConnectionRefusedError: the server has stopped, or a fault on demand refuses the client.
        """
        if not self.is_open:
            raise ConnectionRefusedError(errno.ECONNREFUSED, HAS_STOPPED)
        if self.engine.rules.refuse_connection():
            raise ConnectionRefusedError(errno.ECONNREFUSED, "a rule of server.faults refuses the connection")
        engine = self.engine
        session = engine.connect(now, address=address, local_address=local_address, descriptor=descriptor)
        if not address:
            session.address = b"127.0.0.1:%d" % session.id
            session.local_address = b"127.0.0.1:%b" % engine.config["port"].encode()
        self.log.log(VERBOSE, "client %d connected from %s", session.id, session.address.decode())
        return session

    def attach(self, session: Session, outlet: Outlet) -> None:
        """Sends the replies to a client through its outlet from now on; with the lock held."""
        self._outlets[session] = outlet

    def disconnect(self, session: Session, now: Instant) -> None:
        """Ends a client's session; with the lock held."""
        if self._outlets.pop(session, None) is not None:
            self.engine.disconnect(session, now)
            self.log.log(VERBOSE, "client %d disconnected", session.id)

    def disconnect_soon(self, session: Session) -> None:
        """Ends a client's session at the next tick; from any thread, also in the middle of a tick."""
        if not self.is_open:
            return
        self._leaving.append(session)
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._settle_soon, idempotent=True)

    def tick(self, act: Callable[[Session, What, Instant], Answer], session: Session, what: What) -> Answer:
        """Runs a whole tick for one client, on any thread.

        Args:
            act: what the tick does: ``Engine.receive`` or another.
            session: the client's.
            what: the client's bytes, or its request.

        Raises:
            RuntimeError: the caller is re-entrant.
        """
        with self.lock:
            return self._tick_with_lock(act, session, what)

    def share_tick(
        self,
        act: Callable[[Session, What, Instant], Answer],
        session: Session,
        what: What,
        act_for_others: Callable[[Session, What, Instant], Answer] | None = None,
    ) -> Answer:
        """The same for what takes no longer than a command for data: another thread may run it.

        Args:
            act: as for ``tick``.
            session: likewise.
            what: likewise.
            act_for_others: what another thread does instead of ``act``.

        Returns:
            What ``act`` returns; ``NO_REPLY`` if another thread ran it, and was interrupted.
        """
        (is_free,) = map(self.lock.acquire, NEVER_WAIT)
        if not is_free:
            return self._tick_with_others(partial(act_for_others or act, session, what), session)
        try:
            return self._tick_with_lock(act, session, what)
        finally:
            self.lock.release()
            if self._waiting:
                self._shared_ticks.hand_over()

    def _tick_with_lock(
        self, act: Callable[[Session, What, Instant], Answer], session: Session, what: What
    ) -> Answer:
        now = self.begin_tick()
        try:
            answer = act(session, what, now)
            if self._waiting or self._observers or not self.engine.is_settled:
                self.end_tick(now)
            return answer
        finally:
            self.in_tick = False

    def _tick_with_others(self, act: Callable[[Instant], Answer], session: Session) -> Answer:
        try:
            return cast(Answer, self._shared_ticks.take_part(act))
        except TickInterruptedError:
            with self.lock:
                self._cut_off(session)
            return cast(Answer, NO_REPLY)

    def _cut_off(self, session: Session) -> None:
        """The client hears no reply, as if its connection had been cut; with the lock held."""
        if outlet := self._outlets.get(session):
            outlet.hang_up()
        self.disconnect_soon(session)

    def _run_tick(self) -> None:
        """Runs a tick for the threads that share it."""
        now = self.begin_tick()
        try:
            self.end_tick(now)
        finally:
            self.in_tick = False

    def begin_tick(self) -> Instant:
        """Begins a tick, with the lock held; returns its time.

        Raises:
            RuntimeError: the caller is re-entrant.
        """
        if self.in_tick:
            raise RuntimeError(RE_ENTRANT)
        if self.before_tick is not None:
            self.before_tick()
        now = self.clock.now()
        if self._leaving:
            self._disconnect_leaving(now)
        self.in_tick = True
        return now

    def act_between_commands(self, act: Callable[[Instant], None]) -> None:
        """Runs a whole tick that does something no script may see, on any thread.

        Raises:
            RuntimeError: a script is running, the caller is re-entrant, the server has stopped, or this
                process was forked.
        """
        with self.looked_into() as engine:
            if self.in_tick:
                raise RuntimeError(RE_ENTRANT)
            if engine.scripts.running is not None:
                raise RuntimeError(BUSY)
            self.tick_with(act)
            if self.failure is not None:
                raise RuntimeError(HAS_STOPPED)

    @contextlib.contextmanager
    def looked_into(self) -> Iterator[Engine]:
        """The engine, with the lock held.

        Raises:
            RuntimeError: the server has stopped, or this process was forked.
        """
        self.check_is_here()
        with self.lock:
            if not self.is_open:
                raise RuntimeError(HAS_STOPPED)
            if self.before_tick is not None and not self.in_tick:
                self.before_tick()
            yield self.engine

    def wait_for(self, condition: Callable[[], object], seconds: float) -> bool:
        """Waits on another thread until a condition holds, which is looked at after each tick.

        Returns:
            Whether it holds; False also once the server has stopped.

        Raises:
            RuntimeError: the caller is re-entrant.
        """
        with self.lock:
            if self.in_tick:
                raise RuntimeError(RE_ENTRANT)
            self._observers += 1
            try:
                self._ticked.wait_for(lambda: not self.is_open or condition(), seconds)
                return self.is_open and bool(condition())
            finally:
                self._observers -= 1

    def tick_with(self, act: Callable[[Instant], None]) -> None:
        """Runs a whole tick that does something with the engine; nothing once stopped."""
        with self.lock:
            if not self.is_open:
                return
            now = self.clock.now()
            with self.marked_as_tick():
                act(now)
                self.end_tick(now)

    def _settle_soon(self) -> None:
        with self.lock:
            self.settle(self.clock.now())

    def _disconnect_leaving(self, now: Instant) -> None:
        while self._leaving:
            session = self._leaving.pop()
            if outlet := self._outlets.get(session):
                outlet.hang_up()
            self.disconnect(session, now)

    def settle(self, now: Instant) -> None:
        """Runs a tick without any input; with the lock held."""
        with self.marked_as_tick():
            self.end_tick(now)

    @contextlib.contextmanager
    def marked_as_tick(self, *, in_tick: bool = True) -> Iterator[None]:
        """Sets ``in_tick`` in the block, with the lock held; for a tick inside a tick, or a gap in one."""
        before, self.in_tick = self.in_tick, in_tick
        try:
            yield
        finally:
            self.in_tick = before

    def end_tick(self, now: Instant) -> None:
        """Lets the engine do what is due, and sends all replies; while ``in_tick`` is set."""
        if self._waiting:
            self._shared_ticks.run(now, self._end_tick)
        else:
            self._end_tick(now)

    def _end_tick(self, now: Instant) -> None:
        if not self.is_open:
            return
        engine, outlets = self.engine, self._outlets
        if self._leaving:
            self._disconnect_leaving(now)
        due_sessions = engine.settle(now)
        replicas = engine.replication.replicas
        if replicas.all:
            due_sessions = replicas.first(due_sessions)
        try:
            journal = self.files.journal
            if journal is not None and not self._keep(journal):
                return
            for session in due_sessions:
                outlet = outlets.get(session)
                if outlet is not None:
                    try:
                        outlet.flush(now)
                    except Exception as fault:
                        self._fail(session, outlet, fault, now)
        except BaseException:  # a signal on this thread: nobody knows what was kept, and who was sent a reply
            for session in due_sessions:
                self._cut_off(session)
            raise
        if replicas.all:
            self._tell_of_sent_snapshots()
        if engine.faults:
            self._log_faults()
        if self._observers:
            self._ticked.notify_all()
        due = engine.next_deadline(IDLE_EXPIRY_DELAY)
        if due is not None:
            self._alarm.set(due)
        if engine.shutdown_requested:
            self.call_soon(self.must_stop.set)

    # The disk

    def _keep(self, journal: Journal | BaseWriter) -> bool:
        """Writes what the tick did; where that cannot be, nobody is told that it was done."""
        if self.failure is None:
            try:
                journal.write(self.engine.recording.take())
            except OSError as error:
                self._lose_disk(error)
            else:
                return True
        for outlet in tuple(self._outlets.values()):
            outlet.hang_up()  # at once: a client in this process has the value that its command returned
        return False

    def _lose_disk(self, error: OSError) -> None:
        self.log.critical(LOST, error)
        self.failure = error
        scripts = self.engine.scripts
        scripts.must_end = True
        if scripts.running is None:
            self.close()
        else:  # perhaps on this thread, and ``close`` waits for it
            self._token.run_sync_soon(self.close)
        self.call_soon(self.must_stop.set)

    # Replicas

    def _begin_snapshot(
        self, blocks: Callable[[], Iterable[bytes]], when_over: Callable[[bytes | None], None]
    ) -> Callable[[], None] | None:
        if not any(map(len, self.engine.keyspace.databases)):
            return None  # a process would cost more
        from ..replication.snapshots import begin_snapshot  # few servers have replicas

        return begin_snapshot(blocks, when_over, self._do_soon, self.log)

    def _tell_of_sent_snapshots(self) -> None:
        replicas = self.engine.replication.replicas
        for replica in replicas.sending:
            outlet = self._outlets.get(replica.session)
            if outlet is not None and outlet.unsent <= replica.size:
                replicas.snapshot_was_sent(replica)

    def _do_soon(self, function: Callable[[], object]) -> None:
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._do_and_settle, function)

    def _do_and_settle(self, function: Callable[[], object]) -> None:
        with self.lock:
            if self.is_open:
                self.engine.attempt(None, function)
                self.settle(self.clock.now())

    def _fail(self, session: Session, outlet: Outlet, fault: Exception, now: Instant) -> None:
        """The replies to a client could not be sent: its connection ends, and no other."""
        outlet.hang_up()
        self.disconnect(session, now)
        self.engine.fail(session, fault)

    def _log_faults(self) -> None:
        for session, fault in self.engine.take_faults():
            failed = CLOSED % session.id if session else BY_ITSELF
            self.log.error("miniredis has a bug: %s", failed, exc_info=fault)

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
        """Moves time forward; what falls due on the way happens in order, each at its own moment."""
        with self.lock:
            advance_together(self.clock, [self], microseconds)
            self._settle_due()

    async def run(self) -> None:
        """Settles at each deadline of the engine; returns after the command SHUTDOWN."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._alarm.keep, self._settle_due)
            await self.must_stop.wait()
            nursery.cancel_scope.cancel()

    def _settle_due(self) -> None:
        with self.lock:
            self._alarm.forget()
            self.settle(self.clock.now())

    def _refuse(self, refuses: bool) -> None:
        if self.is_open:
            for loop in self.loops:
                loop.refuse(refuses)

    def close(self) -> None:
        """Disconnects all clients and accepts no more; then another server may use the engine."""
        with self.lock:
            if not self.is_open:
                return
            self.is_open = False
            self._ticked.notify_all()
            self._gaps.end_script()
            try:
                self._disconnect_all(self.clock.now())
            finally:  # another server may use the files
                self.failure = self.files.close() or self.failure

    def _disconnect_all(self, now: Instant) -> None:
        for session, outlet in tuple(self._outlets.items()):
            if self.farewell and self.failure is None:
                session.outgoing.append(self.farewell)
                outlet.flush(now)
            outlet.hang_up()
            self.disconnect(session, now)

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copies of descriptors; server and clients are the parent's."""
        self.is_here = self.is_open = self.in_tick = False
        self.lock = threading.RLock()  # the thread that held the old one may not be in this process
        for outlet in self._outlets.values():
            outlet.leave_to_parent()
        self._outlets.clear()
        self.files.leave_to_parent()
        for loop in self.loops:
            loop.leave_to_parent()
