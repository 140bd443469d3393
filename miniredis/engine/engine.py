"""The engine: databases, sessions and waiters. Bytes in, bytes out; no I/O, no clock, no thread.

The caller says what time it is, hands in what clients sent, and ends each tick with ``settle``, which tells
whose output is to be sent. The same bytes at the same times give the same replies.
"""

from __future__ import annotations

import math
import random
from collections import Counter, deque
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from . import commands as _commands  # noqa: F401  (fills the table of commands)
from . import errors
from .backlog import Backlogs
from .config import Config
from .dispatch import execute, run_plain
from .errors import CommandError, ProtocolError
from .instant import Instant
from .keyspace import Keyspace
from .libraries import Libraries
from .news import News
from .observing import SlowLog, Statistics, monitor_line
from .packing import Packing
from .registry import Command
from .replies import NO_REPLY, Reply
from .requests import READ_SIZE, FastLane, Request, RequestParser, few_requests
from .scripts import Scripts
from .session import Session
from .waiting import Waiter, Waiting

__all__ = ["Engine", "Facts"]

BEGINNING: Final = Instant(0, 0)

EXPIRED_AT_ONCE: Final = 20
EXPIRED_MEANWHILE: Final = 4
"""How many keys a tick lets go where nobody waits for its end; and where somebody does, beside one for each.

So a crowd that expires together does not hold up the clients.
"""


class Facts(NamedTuple):
    """What the engine cannot know of the process around it, for INFO.

    Attributes:
        pid: of the process.
        port: the TCP port, 0 if there is none.
        executable: its path.
        system: the operating system, its release and the machine's kind.
        memory: tells the resident memory, in bytes.
        poller: what the server waits with, such as ``epoll``.
        cpu: tells the seconds that the process has run, in the system and by itself.
        stopwatch: tells seconds since some fixed point, for how long commands take.
    """

    pid: int = 0
    port: int = 0
    executable: str = ""
    system: str = ""
    memory: Callable[[], int] = lambda: 0
    poller: str = "none"
    cpu: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)
    stopwatch: Callable[[], float] = lambda: 0.0


class Pause(NamedTuple):
    """What CLIENT PAUSE holds up.

    Attributes:
        until: monotonic microseconds.
        writes_only: commands that only read go on.
    """

    until: int
    writes_only: bool


class Engine:
    r"""A Redis-compatible server without sockets, threads and clocks: bytes in, bytes out.

    ``start(engine=...)`` and ``serve(engine=...)`` give it sockets. By itself it is used like this::

        engine = Engine()
        session = engine.connect(now)
        engine.receive(session, b"PING\r\n", now)
        engine.settle(now)
        assert session.take_output() == b"+PONG\r\n"

    The same bytes at the same times get the same replies. One thread at a time may use it.

    Args:
        config: the values of the directives; redis-server's defaults if omitted.
        now: the time at which it starts, an ``Instant``.
        seed: a number that decides what commands with random results (SRANDMEMBER...) answer.
    """

    def __init__(self, config: Config | None = None, now: Instant = BEGINNING, seed: int = 0) -> None:
        self.config = config or Config()
        self.facts = Facts()
        self.random = random.Random(seed)  # noqa: S311  (nothing here is secret)
        self.run_id = b"%040x" % self.random.getrandbits(160)
        self.started = self.now = now
        self.keyspace = Keyspace(self.config.integer("databases"), self._key_ready)
        self.sessions: dict[int, Session] = {}
        self.news = News(self.keyspace, self.sessions)
        self.waiting = Waiting(self.keyspace.databases, self.served, self.news.attend)
        self.outbox: dict[Session, None] = {}  # who has something to be sent, or is to be hung up
        self.monitors: dict[Session, None] = {}
        self.pause: Pause | None = None
        self.asleep_until = 0  # DEBUG SLEEP; monotonic microseconds
        self.active_expire = True
        self.quiet = True  # nobody watches, nothing is held up: plain commands may just run
        self.busy = False  # with a script that has been running for too long
        self.scripts = Scripts(self)
        self.libraries = Libraries(self)
        self.slow_log = SlowLog()
        self.statistics = Statistics()
        self.lap = 0.0  # what the stopwatch told when the last command was over
        self.slow = math.inf  # seconds from which on a command is slow
        self.shutdown_requested = False
        self.connections_received = 0
        self._last_number = 0  # of a client
        self.connections_rejected = 0
        self.input_bytes = 0
        self.output_bytes = 0
        self.memory_peak = 0
        self.error_counts: Counter[bytes] = Counter()
        self.faults: list[tuple[Session, Exception]] = []  # commands of ours that failed, for the log
        self._input_limit = 0
        self._awaits_time = False  # whether anything will happen by itself one day
        self.backlogs = Backlogs()
        self.config.listen(self._configured)
        self._unblocked: deque[Session] = deque()
        self._postponed: dict[Session, None] = {}
        self._lane = FastLane()
        self._advance(now)

    # The caller's side

    def connect(
        self, now: Instant, *, address: str = "", local_address: str = "", descriptor: int = -1
    ) -> Session:
        """Connects a client; returns its session.

        Args:
            now: the time.
            address: the client's, as CLIENT LIST shows it; empty for a client in this process, to which
                protected mode does not apply.
            local_address: the server's, as CLIENT LIST shows it.
            descriptor: the client's, as CLIENT LIST shows it.

        Returns:
            The session. If the client is refused, the session holds an error reply and is ``closing``.
        """
        self._advance(now)
        parser = RequestParser(self._lane, self._max_bulk, lambda: session.must_authenticate)
        session = Session(self, self._last_number + 1, parser, now)
        session.address, session.local_address = address.encode(), local_address.encode()
        session.descriptor = descriptor
        if len(self.sessions) >= self.config.integer("maxclients"):
            self._turn_away(session, errors.MAX_CLIENTS)
            return session
        self._last_number += 1
        if address and self._is_protected() and not session.is_local:
            self._turn_away(session, errors.PROTECTED_MODE)
            return session
        self.connections_received += 1
        self.sessions[session.id] = session
        return session

    def _is_protected(self) -> bool:
        return self.config["protected-mode"] == "yes" and not self.config["requirepass"]

    def _turn_away(self, session: Session, reason: bytes) -> None:
        self.connections_rejected += 1
        session.reply(CommandError(reason))
        session.connected = False
        session.close()

    def receive(self, session: Session, data: bytes, now: Instant) -> None:
        """Takes bytes that a client sent, cut anywhere, and runs the commands in them.

        Those behind a command that blocks wait until the client is no longer blocked.
        """
        if now is not self.now:
            self._advance(now)
        session.last_active = now
        self.input_bytes += len(data)
        if session.idle and self.quiet and (requests := few_requests(data)):
            self._run_at_once(session, requests, len(data))
        elif self.busy and self.scripts.is_running_for(session):
            session.parser.feed(data)
        elif not session.closing:
            self._take_in(session, data)

    def _take_in(self, session: Session, data: bytes) -> None:
        size = len(data)
        if size > READ_SIZE or size + len(session.parser) > self._input_limit:
            self._take_in_steps(session, data)
        else:
            self._feed(session, data)

    def _take_in_steps(self, session: Session, data: bytes) -> None:
        """As Redis reads it: what is too much at one time need not be too much at another."""
        at, limit = 0, self._input_limit
        while at < len(data) and not session.closing:
            piece = data[at : at + session.parser.appetite]
            at += len(piece)
            if len(piece) + len(session.parser) > limit:
                self.hang_up(session)
            else:
                self._feed(session, piece)

    def _feed(self, session: Session, data: bytes) -> None:
        session.parser.feed(data)
        if session.waiter is None:
            self._run(session)

    def disconnect(self, session: Session, now: Instant) -> None:
        """Disconnects a client: it waits for nothing any more, and watches no key."""
        self._advance(now)
        self._forget(session)

    def settle(self, now: Instant) -> Collection[Session]:
        """Ends a tick: lets blocked clients time out and keys expire, and runs what woken clients had sent.

        Returns:
            The sessions whose output is to be taken and sent; those that are ``closing`` are to be
            disconnected then.
        """
        if now is not self.now:
            self._advance(now)
        if now.monotonic < self.asleep_until:
            return ()
        self._awaits_time = bool(
            self.waiting.deadlines or self.keyspace.expiries or self.backlogs.over or self.pause is not None
        )
        if self._awaits_time:
            self._let_time_pass(now)
        while self._unblocked:
            self._run(self._unblocked.popleft())
            self._awaits_time = True  # perhaps
        if not self.busy:
            self.news.tracking.forget_surplus(None)
            if self.news.are_due:
                self.news.broadcast()
        due, self.outbox = self.outbox, {}
        return due

    def _let_time_pass(self, now: Instant) -> None:
        if self.busy:
            return
        for waiter in self.waiting.timed_out(now.monotonic):
            self.wake(waiter, waiter.when_over)
        for session in self.backlogs.overdue(now):
            self.hang_up(session)
        if self.active_expire and self.pause is None:
            self.lap = self.facts.stopwatch()
            self.keyspace.expire(len(self.outbox) + EXPIRED_MEANWHILE if self.outbox else EXPIRED_AT_ONCE)
            self.waiting.serve_ready()

    def next_deadline(self, leisure: int = 0) -> int | None:
        """When ``settle`` must be called again even if no client sends anything; None if it need not be.

        It is a time of the monotonic clock, in microseconds.

        Args:
            leisure: microseconds for which keys that have expired may stay, as no client sees them.
        """
        if self.now.monotonic < self.asleep_until:
            return self.asleep_until
        if not self._awaits_time or self.busy:
            return None
        pause_over = self.pause.until if self.pause else None
        due = [
            self.waiting.next_deadline(),
            self._next_expiry(leisure),
            pause_over,
            self.backlogs.next_deadline(),
        ]
        return min((when for when in due if when is not None), default=None)

    def _next_expiry(self, leisure: int) -> int | None:
        if self.pause is not None or not self.active_expire:
            return None
        expiry = self.keyspace.next_expiry()
        if expiry is None:
            return None
        wait = (expiry + 1) * 1000 - self.now.wall
        return self.now.monotonic + (max(wait, leisure) if wait > 0 else 0)

    def take_faults(self) -> list[tuple[Session, Exception]]:
        """The sessions that were closed because of an error inside the engine, each with the error."""
        faults, self.faults = self.faults, []
        return faults

    def reset(self, now: Instant) -> None:
        """Removes every key of every database, as FLUSHALL does."""
        self._advance(now)
        for db in self.keyspace.databases:
            self.waiting.signal_gone(db)
            db.clear()
        self.news.tracking.flushed(None)
        self.waiting.serve_ready()

    # The commands' side

    def wake(self, waiter: Waiter, reply: Reply | CommandError) -> None:
        """A blocked client, out of its queues already, hears its reply; its input runs when the tick ends."""
        session = waiter.session
        session.waiter = None
        if type(reply) is CommandError:
            self.count_error(reply)
        session.reply(reply)
        session.end_command()
        self._unblocked.append(session)

    def unblock(self, session: Session, reply: Reply | CommandError) -> bool:
        """Ends a client's wait from outside; tells whether it could be ended.

        A client that a pause holds up hears an error and is held up still; it has no time to be over.
        """
        assert session.waiter is not None
        if session.postponed is not None:
            session.reply(reply if type(reply) is CommandError else NO_REPLY)
            return type(reply) is CommandError
        self.waiting.remove(session.waiter)
        self.wake(session.waiter, reply)
        if session.last_command is not None:
            self.statistics[session.last_command].failed += 1  # as Redis counts it, whatever the reply
        return True

    def served(self, waiter: Waiter, reply: Reply | CommandError) -> None:
        """A blocked client got what it waited for."""
        session = waiter.session
        self.wake(waiter, reply)
        if session.last_command is not None:
            self.note(session, session.last_command, waiter.args, failed=type(reply) is CommandError, calls=0)

    def ran(self, session: Session, command: Command, args: list[bytes], *, failed: bool) -> None:
        """A command ran, or its client is blocked in it: whoever watches hears of it."""
        if self.monitors and not {"admin", "skip_monitor"} & set(command.flags):
            self.show(session, args)
        if session.waiter is None or session.running_exec:
            self.note(session, command, args, failed=failed)
        else:
            session.waiter.args = args
            self.statistics[command].count += 1

    def show(self, session: Session, args: list[bytes]) -> None:
        """Lets those who MONITOR see a command."""
        if not self.monitors:
            return
        line = monitor_line(self.now, session, args)
        for monitor in self.monitors:
            monitor.push(line)

    def note(
        self, session: Session, command: Command, args: list[bytes], *, failed: bool, calls: int = 1
    ) -> None:
        """Counts a command that is over; what passed since the one before it is the time it took.

        One whose client was blocked counted as called when it blocked: its ``calls`` are 0.
        """
        lap = self.facts.stopwatch()
        seconds, self.lap = lap - self.lap, lap
        counted = self.statistics[command]
        counted.count += calls
        counted.seconds += seconds
        counted.failed += failed
        if seconds >= self.slow:
            self.log_slow(session, command, args, seconds)

    def log_slow(self, session: Session, command: Command, args: list[bytes], seconds: float) -> None:
        """Keeps a command in the slow log."""
        if "skip_slowlog" not in command.flags:
            microseconds = int(seconds * 1_000_000)
            self.slow_log.add(session, args, microseconds, self.config.integer("slowlog-max-len"))

    def start_pause(self, until: int, *, writes_only: bool) -> None:
        """CLIENT PAUSE: holds commands up until a monotonic time; a pause there is can only grow."""
        if self.pause is not None:
            until, writes_only = max(until, self.pause.until), writes_only and self.pause.writes_only
        if until <= self.now.monotonic:
            return  # it is over already, and where the clock stands still nothing else would end it
        self.pause = Pause(until, writes_only)
        self.keyspace.is_paused = True
        self.quiet = False

    def end_pause(self) -> None:
        """CLIENT UNPAUSE, or the time is over: what was held up runs when the tick ends."""
        self.pause = None
        self.keyspace.is_paused = False
        postponed, self._postponed = self._postponed, {}
        for session in postponed:
            if session.waiter is not None:
                self.waiting.remove(session.waiter)
                session.waiter = None
                self._unblocked.append(session)

    def postpone(self, session: Session, args: list[bytes]) -> None:
        """Keeps a command for the end of the pause."""
        session.hold(args)
        self._postponed[session] = None

    def sleep(self, microseconds: int) -> None:
        """DEBUG SLEEP: nobody is answered for so long."""
        self.asleep_until = self.now.monotonic + microseconds
        self.quiet = False

    def watch_all(self, session: Session) -> None:
        """MONITOR: a client hears of every command from now on."""
        self.monitors[session] = None
        self.quiet = False

    def stop_listening(self, session: Session) -> None:
        """A client hears of nothing any more."""
        self.monitors.pop(session, None)
        self.news.forget(session)

    def hang_up(self, session: Session) -> None:
        """The server's side ends a connection, now; what was to be sent is not."""
        self._forget(session)
        session.drop_output()
        self._show_out(session)

    def count_error(self, error: CommandError) -> None:
        """INFO tells how many errors of each code there were."""
        self.error_counts[error.message.split(b" ", 1)[0]] += 1

    def reset_statistics(self) -> None:
        """CONFIG RESETSTAT: counts from zero again."""
        self.connections_received = self.connections_rejected = 0
        self.input_bytes = self.output_bytes = 0
        self.error_counts.clear()
        self.statistics.clear()
        self.keyspace.hits = self.keyspace.misses = self.keyspace.expired = 0

    # Inside

    def _advance(self, now: Instant) -> None:
        self.now = now
        self.keyspace.milliseconds = now.wall // 1000
        if self.pause is not None and self.pause.until <= now.monotonic:
            self.end_pause()
        self.quiet = not (self.monitors or self.pause or self.busy or now.monotonic < self.asleep_until)

    def _configured(self) -> None:
        """Keeps at hand what every request depends on."""
        self._input_limit = self.config.integer("client-query-buffer-limit")
        self.backlogs.configure(self.config["client-output-buffer-limit"])
        self.news.configure(self.config)
        threshold = self.config.integer("slowlog-log-slower-than")  # microseconds
        self.packing = Packing.of(self.config)
        self.slow = math.inf if threshold < 0 else threshold / 1_000_000

    def _max_bulk(self) -> int:
        return self.config.integer("proto-max-bulk-len")

    def _key_ready(self, database: int, key: bytes, kind: type) -> None:
        self.waiting.signal(database, key, kind)

    def _run_at_once(self, session: Session, requests: list[Request], size: int) -> None:
        session.idle = False
        try:
            if run_plain(session, requests):
                session.idle = True
                return
        except Exception as fault:
            self._fail(session, fault)
        self._run(session, size)

    def _run(self, session: Session, size: int = 0) -> None:
        parser = session.parser
        session.batch = size or len(parser)
        session.idle = False
        try:
            while session.waiter is None and not session.closing:
                if self.now.monotonic < self.asleep_until:
                    self._unblocked.append(session)
                    return
                if parser.read_ahead() and self.quiet and session.is_plain:
                    run_plain(session, parser.take_ready())
                    if session.waiter is not None:
                        return
                request = session.take_postponed() or parser.next()
                if request is None:
                    session.idle = session.is_plain and parser.is_between
                    return
                if request:
                    execute(session, request)
                else:
                    session.end_command(empty=True)
        except ProtocolError as error:
            self._give_up(session, CommandError(error.message))
        except Exception as fault:
            self._fail(session, fault)

    def _fail(self, session: Session, fault: Exception) -> None:
        self.faults.append((session, fault))
        self._forget(session)  # what it was told before is true, and is sent
        self._show_out(session)

    def _show_out(self, session: Session) -> None:
        session.closing = True
        session.idle = False
        self.outbox[session] = None

    def _give_up(self, session: Session, error: CommandError) -> None:
        """Reads no more of a client; without replies it never learns why, and stays."""
        self.count_error(error)
        session.reply(error)
        session.close()

    def _forget(self, session: Session) -> None:
        if not session.connected:
            return
        session.connected = False
        session.closing = True
        session.idle = False
        session.unwatch()
        self.stop_listening(session)
        self._postponed.pop(session, None)
        self.backlogs.forget(session)
        if session.waiter is not None:
            self.waiting.remove(session.waiter)
            session.waiter = None
        del self.sessions[session.id]
