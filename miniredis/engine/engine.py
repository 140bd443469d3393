"""The engine: databases, sessions and waiters. Bytes in, bytes out; no I/O, no clock, no thread.

The caller says what time it is, hands in what clients sent, and ends each tick with ``settle``, which tells
whose output is to be sent. The same bytes at the same times give the same replies.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Collection
from typing import Final

from . import commands as _commands  # noqa: F401  (fills the table of commands)
from . import errors
from .backlog import Backlogs
from .call import answer, answer_plain
from .client_flags import BLOCKED, CLOSING, GONE, LISTENS, MUTE, SKIPS_NEXT, SPECIAL, UNREAD
from .conditions import Conditions
from .config import Config
from .effects import Effects
from .environment import Environment
from .errors import CommandError, ProtocolError
from .gate import is_held_up, look_up, objection, refuse, turn_away
from .instant import Instant
from .keyspace import Keyspace
from .libraries import Libraries
from .news import News
from .observing import Statistics
from .packing import Packing
from .registry import AT_ONCE
from .replay import NEVER
from .replication.history import History
from .replies import NO_REPLY, QUEUED, Reply
from .requests import READ_SIZE, FastLane, Request, RequestParser, few_requests
from .saves import Saves
from .scripts import Scripts
from .session import Session
from .waiting import Waiter, Waiting

__all__ = ["Engine"]

BEGINNING: Final = Instant(0, 0)

EXPIRED_AT_ONCE: Final = 20
EXPIRED_MEANWHILE: Final = 4
"""How many keys a tick lets go where nobody waits for its end; and where somebody does, beside one for each.

So a crowd that expires together does not hold up the clients.
"""


RECOVERY: Final = 1_000_000
"""Microseconds after which what time brings is tried again where it failed."""


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
        environment: the process around it.
    """

    def __init__(
        self,
        config: Config | None = None,
        now: Instant = BEGINNING,
        seed: int = 0,
        environment: Environment = Environment(),  # noqa: B008  (it cannot be changed)
    ) -> None:
        self.config = config or Config()
        self.environment = environment
        self.statistics = Statistics(environment.stopwatch)
        self.random = random.Random(seed)  # noqa: S311  (nothing here is secret)
        self.run_id = self._new_name()
        self.history = History(self._new_name, lambda: self.config.integer("repl-backlog-size"))
        self.started = self.now = now
        self.keyspace = Keyspace(self.config.integer("databases"))
        self.sessions: dict[int, Session] = {}
        self.news = News(self.keyspace, self.sessions)
        self.waiting = Waiting(self.keyspace.databases, self.statistics, self._served, self.news.attend)
        self.keyspace.listeners.append(self.waiting.hear)
        self.outbox: dict[Session, None] = {}  # who has something to be sent, or is to be hung up
        self.conditions = Conditions()
        self.effects: Effects | None = None  # nobody wants them
        self.active_expire = True
        self.scripts = Scripts(self)
        self.libraries = Libraries(self)
        self.shutdown_requested = False
        self._last_number = 0  # of a client
        self.faults: list[tuple[Session | None, Exception]] = []  # what failed unexpectedly, for the log
        self._time_passes_from = 0  # what time brings is not tried before; monotonic microseconds
        self._input_limit = 0
        self._awaits_time = False  # whether anything will happen by itself one day
        self.backlogs = Backlogs()
        self.saves = Saves(self)
        self.config.guard("save", self.saves.check_points)
        self.config.listen(self._configured)
        self._unblocked: deque[Session] = deque()
        self._lane = FastLane()
        self._advance(now)

    # The caller's side

    def move_into(self, environment: Environment) -> None:
        """Another process, or another server, has the engine from now on."""
        self.environment = environment
        self.statistics.stopwatch = environment.stopwatch
        self.shutdown_requested = self.scripts.must_end = False  # said of a server that had it before

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
        self.statistics.connections += 1
        self.sessions[session.id] = session
        return session

    def _is_protected(self) -> bool:
        return self.config["protected-mode"] == "yes" and not self.config["requirepass"]

    def _turn_away(self, session: Session, reason: bytes) -> None:
        self.statistics.rejected_connections += 1
        session.reply(CommandError(reason))
        session.flags |= GONE
        session.close()

    def receive(self, session: Session, data: bytes, now: Instant) -> None:
        """Takes bytes that a client sent, cut anywhere, and runs the commands in them.

        Those behind a command that blocks wait until the client is no longer blocked.
        """
        if now is not self.now:
            self._advance(now)
        session.last_active = now
        self.statistics.input_bytes += len(data)
        if not session.flags & SPECIAL and self.conditions.is_quiet and (requests := few_requests(data)):
            self._run_at_once(session, requests, len(data))
        elif self.conditions.busy and self.scripts.is_running_for(session):
            session.flags |= UNREAD
            session.parser.feed(data)
        elif not session.flags & CLOSING:
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
        while at < len(data) and not session.flags & CLOSING:
            piece = data[at : at + session.parser.appetite]
            at += len(piece)
            if len(piece) + len(session.parser) > limit:
                self.hang_up(session)
            else:
                self._feed(session, piece)

    def _feed(self, session: Session, data: bytes) -> None:
        session.flags |= UNREAD
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
        if self.conditions.asleep_until:
            return ()
        self._awaits_time = bool(
            self.waiting.deadlines
            or self.keyspace.expiries
            or self.backlogs.over
            or self.conditions.pause is not None
            or self.saves.awaits_time
        )
        if self._awaits_time and now.monotonic >= self._time_passes_from:
            try:
                self._let_time_pass(now)
            except Exception as fault:
                self.faults.append((None, fault))
                self._abandon_effects()
                self._time_passes_from = now.monotonic + RECOVERY
        while self._unblocked and not self.conditions.asleep_until:
            self._run(self._unblocked.popleft())
            self._awaits_time = True  # perhaps
        if self.keyspace.heeds_all and not self.conditions.busy:
            self.news.end_tick()
        if self.effects is not None and not self.conditions.busy:
            self.effects.close_unit()  # what time has brought
        due, self.outbox = self.outbox, {}
        return due

    def _let_time_pass(self, now: Instant) -> None:
        if self.conditions.busy:
            return
        for waiter in self.waiting.timed_out(now.monotonic):
            self._attempt(waiter.session, self.wake, waiter, waiter.when_over)
        for session in self.backlogs.overdue(now):
            self._attempt(session, self.hang_up, session)
        if self.active_expire and not self.conditions.keeps_keys:
            self.statistics.start_lap()
            self.keyspace.expire(len(self.outbox) + EXPIRED_MEANWHILE if self.outbox else EXPIRED_AT_ONCE)
            self.waiting.serve_ready()
        if self.conditions.loading is None:
            self.saves.begin_if_due()

    def next_deadline(self, leisure: int = 0) -> int | None:
        """When ``settle`` must be called again even if no client sends anything; None if it need not be.

        It is a time of the monotonic clock, in microseconds.

        Args:
            leisure: microseconds for which keys that have expired may stay, as no client sees them.
        """
        if self.conditions.asleep_until:
            return self.conditions.asleep_until
        if not self._awaits_time or self.conditions.busy:
            return None
        pause = self.conditions.pause
        due = [
            self.waiting.next_deadline(),
            self._next_expiry(leisure),
            pause.until if pause else None,
            self.backlogs.next_deadline(),
            self.saves.next_deadline() if self.conditions.loading is None else None,
        ]
        first = min((when for when in due if when is not None), default=None)
        return first if first is None else max(first, self._time_passes_from)

    def _next_expiry(self, leisure: int) -> int | None:
        if self.conditions.keeps_keys or not self.active_expire:
            return None
        expiry = self.keyspace.next_expiry()
        if expiry is None:
            return None
        wait = (expiry + 1) * 1000 - self.now.wall
        return self.now.monotonic + (max(wait, leisure) if wait > 0 else 0)

    def take_faults(self) -> list[tuple[Session | None, Exception]]:
        """The unexpected errors inside the engine, each with the session that was closed because of it.

        None stands for no session: something that time brings failed, and is tried again after a second.
        """
        faults, self.faults = self.faults, []
        return faults

    def reset(self, now: Instant) -> None:
        """Removes every key of every database, as FLUSHALL does."""
        self._advance(now)
        self.statistics.start_lap()
        self.keyspace.flush()
        self.saves.flushed()
        self.waiting.serve_ready()

    def end_save(self, now: Instant, *, has_succeeded: bool) -> None:
        """The save that went on beside other work is over."""
        self._advance(now)
        self.saves.ended(has_succeeded=has_succeeded)

    def record_effects(self) -> None:
        """Collects from now on what commands do, for ``take_effects``."""
        if self.effects is None:
            self.effects = Effects(self.keyspace)
            self.keyspace.listen(self.effects.hear)

    def begin_effects(self) -> None:
        """What is taken next is read by itself: it says first which database it is for."""
        if self.effects is not None:
            self.effects.forget_database()

    def stop_recording(self) -> None:
        """Collects no more."""
        if self.effects is not None:
            self.keyspace.unlisten(self.effects.hear)
            self.effects = None

    def take_effects(self) -> list[list[bytes]]:
        """What was done since the last time, as commands that do it again; their names come first."""
        return [] if self.effects is None else self.effects.take()

    # The commands' side

    def wake(self, waiter: Waiter, reply: Reply | CommandError) -> None:
        """A blocked client, out of its queues already, hears its reply; its input runs when the tick ends."""
        session = waiter.session
        session.unblock()
        if type(reply) is CommandError:
            self.statistics.count_error(reply)
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

    def _served(self, waiter: Waiter, reply: Reply | Exception) -> None:
        """A blocked client got what it waited for, or what served it failed: then its connection ends."""
        if isinstance(reply, Exception) and type(reply) is not CommandError:
            self._fail(waiter.session, reply)
        else:
            self._attempt(waiter.session, self.wake, waiter, reply)

    def start_pause(self, until: int, *, writes_only: bool) -> None:
        """CLIENT PAUSE: holds commands up until a monotonic time."""
        self.conditions.start_pause(self.now, until, writes_only=writes_only)
        self.keyspace.keeps_expired = self.conditions.pause is not None

    def end_pause(self) -> None:
        """CLIENT UNPAUSE, or the time is over: what was held up runs when the tick ends."""
        self.keyspace.keeps_expired = False
        for session in self.conditions.end_pause():
            if session.waiter is not None:
                self.waiting.remove(session.waiter)
                session.unblock()
                self._unblocked.append(session)

    def stop_listening(self, session: Session) -> None:
        """A client hears of nothing any more."""
        self.conditions.stop_monitoring(session)
        self.news.forget(session)

    def hang_up(self, session: Session) -> None:
        """The server's side ends a connection, now; what was to be sent is not."""
        self._forget(session)
        session.drop_output()
        self._show_out(session)

    # Inside

    def _advance(self, now: Instant) -> None:
        self.now = now
        self.keyspace.milliseconds = now.wall // 1000
        if not self.conditions.is_quiet:
            self._end_what_is_over(now.monotonic)

    def _end_what_is_over(self, monotonic: int) -> None:
        loading = self.conditions.loading
        if loading is not None and loading.stops_time:
            self.keyspace.milliseconds = NEVER
        if self.conditions.is_pause_over(monotonic):
            self.end_pause()
        self.conditions.wake_up(monotonic)

    def _configured(self) -> None:
        """Keeps at hand what every request depends on."""
        self._input_limit = self.config.integer("client-query-buffer-limit")
        self.backlogs.configure(self.config["client-output-buffer-limit"])
        self.news.configure(self.config)
        self.statistics.configure(self.config)
        self.packing = Packing.of(self.config)
        self.saves.configure(self.config)

    def _new_name(self) -> bytes:
        return b"%040x" % self.random.getrandbits(160)

    def _max_bulk(self) -> int:
        return self.config.integer("proto-max-bulk-len")

    def _run_at_once(self, session: Session, requests: list[Request], size: int) -> None:
        try:
            if answer_plain(session, requests):
                return
        except Exception as fault:
            self._fail(session, fault)
        self._run(session, size)

    def _run(self, session: Session, size: int = 0) -> None:
        """Runs what a client has sent, until it waits, or has sent no more whole request."""
        parser = session.parser
        session.batch = size or len(parser)
        session.flags &= ~UNREAD
        try:
            while not session.flags & (BLOCKED | CLOSING):
                if self.conditions.asleep_until:
                    self._unblocked.append(session)
                    break
                if parser.read_ahead() and not session.flags & SPECIAL and self.conditions.is_quiet:
                    answer_plain(session, parser.take_ready())
                    if session.flags & BLOCKED:
                        break
                request = session.take_postponed() or parser.next()
                if request is None:
                    break
                if request:
                    self._run_one(session, request)
                else:
                    session.end_command(empty=True)
        except ProtocolError as error:
            self._give_up(session, CommandError(error.message))
        except Exception as fault:
            self._fail(session, fault)
        if not parser.is_between:
            session.flags |= UNREAD

    def _run_one(self, session: Session, args: list[bytes]) -> None:
        """Runs, queues, postpones or refuses one request, and serves whoever waited for what it did."""
        self.news.running = session
        command = session.last_command = look_up(args)
        if command is not None:
            self.news.tracking.forget_surplus(session)
        if command is None:
            turn_away(session, args)
        elif reason := objection(session, command, args):
            refuse(session, command, reason)
        elif self.conditions.pause is not None and is_held_up(session, command, args):
            session.hold(args)
            self.conditions.pause.postponed[session] = None
        elif session.transaction is not None and command.in_transaction != AT_ONCE:
            session.transaction.queue(session, command, args)
            session.reply(QUEUED)
        else:
            answer(session, command, args)
        self.news.running = None
        self.waiting.serve_ready()
        if session.flags & (MUTE | SKIPS_NEXT | LISTENS) and not session.flags & BLOCKED:
            session.end_command()

    def _attempt(self, session: Session, act: Callable[..., None], *args: object) -> None:
        """Does something for a client; an unexpected error ends this client's connection and no other."""
        try:
            act(*args)
        except Exception as fault:
            self._fail(session, fault)

    def _abandon_effects(self) -> None:
        if self.effects is not None:
            self.effects.fail()

    def _fail(self, session: Session, fault: Exception) -> None:
        self.faults.append((session, fault))
        self._abandon_effects()
        self._forget(session)  # what it was told before is true, and is sent
        self._show_out(session)

    def _show_out(self, session: Session) -> None:
        session.flags |= CLOSING
        self.outbox[session] = None

    def _give_up(self, session: Session, error: CommandError) -> None:
        """Reads no more of a client; without replies it never learns why, and stays."""
        session.reply(self.statistics.count_error(error))
        session.close()

    def _forget(self, session: Session) -> None:
        if session.flags & GONE:
            return
        session.flags |= GONE | CLOSING
        session.unwatch()
        self.stop_listening(session)
        if self.conditions.pause is not None:
            self.conditions.pause.postponed.pop(session, None)
        self.backlogs.forget(session)
        if session.waiter is not None:
            self.waiting.remove(session.waiter)
            session.unblock()
        del self.sessions[session.id]
