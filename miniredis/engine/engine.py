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
from .effects import Effect, EffectReader, Effects
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
from .replication.failover import Failover
from .replication.history import History
from .replication.master_session import MasterSession
from .replication.replicas import Replicas
from .replication.upstream import Upstream
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
        self._effects = Effects(self.keyspace)
        self.effects: Effects | None = None  # nobody reads them
        self._to_journal: list[Effect] = []
        self._journal_reader = EffectReader(lambda effect: self._to_journal.append(effect))
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
        self.replicas = Replicas(self)
        self.upstream = Upstream(self)
        self.failover = Failover(self)
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
        self.new_number()
        if address and self._is_protected() and not session.is_local:
            self._turn_away(session, errors.PROTECTED_MODE)
            return session
        self.statistics.connections += 1
        self.sessions[session.id] = session
        return session

    def new_number(self) -> int:
        """The number of the next client."""
        self._last_number += 1
        return self._last_number

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

    def tell_upstream(self, now: Instant, tell: Callable[..., None], *about: object) -> None:
        """The process around the engine tells what becomes of the connection to a master."""
        self._advance(now)
        try:
            tell(*about)
        except Exception as fault:
            self.faults.append((None, fault))
            self._abandon_effects()
            self.upstream.abandon()

    def receive_stream(self, session: MasterSession, data: bytes) -> None:
        """Takes bytes of a master's stream, cut anywhere, and runs what is whole in them."""
        session.last_active = self.now
        self.statistics.input_bytes += len(data)
        session.flags |= UNREAD
        session.feed(data)
        self.run_stream(session)

    def run_stream(self, session: MasterSession) -> None:
        """Runs what has come of a master's stream, unless something holds it up."""
        if session.flags & UNREAD and session.waiter is None and not self.conditions.busy:
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
            or ((self.history.is_kept or self.conditions.is_replica) and self._replication_awaits_time())
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
        if self.history.is_kept:
            self._replicate()
        due, self.outbox = self.outbox, {}
        return due

    def _replication_awaits_time(self) -> bool:
        return self.replicas.awaits_time or self.upstream.awaits_time or self.failover.awaits_time

    def _replicate(self) -> None:
        """Hands out what the tick did, as a master or as a replica with replicas of its own."""
        if self.replicas.all:
            self.replicas.send_stream()
            self.failover.let_time_pass()
        if self.upstream.session is not None:
            self.upstream.count()

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
        self.replicas.let_time_pass()
        self.upstream.let_time_pass()
        self.failover.let_time_pass()

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
            self.replicas.next_deadline(),
            self.upstream.next_deadline(),
            self.failover.next_deadline(),
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

    def read_effects(self, reader: EffectReader) -> None:
        """Tells somebody from now on what commands do."""
        self._effects.add_reader(reader)
        self.effects = self._effects

    def end_reading(self, reader: EffectReader) -> None:
        """Tells it no more; where nobody else reads, nothing is recorded."""
        self._effects.remove_reader(reader)
        if not self._effects:
            self.effects = None

    def record_effects(self) -> None:
        """Collects from now on what commands do, for ``take_effects``."""
        self.read_effects(self._journal_reader)

    def begin_effects(self) -> None:
        """What is taken next is read by itself: it says first which database it is for."""
        self._journal_reader.selected = None

    def stop_recording(self) -> None:
        """Collects no more."""
        self.end_reading(self._journal_reader)
        self.begin_effects()
        self._to_journal.clear()

    def take_effects(self) -> list[list[bytes]]:
        """What was done since the last time, as commands that do it again; their names come first."""
        taken, self._to_journal = self._to_journal, []
        return taken

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
        self.keep_keys_or_not()

    def end_pause(self) -> None:
        """CLIENT UNPAUSE, or the time is over: what was held up runs when the tick ends."""
        for session in self.conditions.end_pause():
            if session.waiter is not None:
                self.waiting.remove(session.waiter)
                session.unblock()
                self._unblocked.append(session)
        self.keep_keys_or_not()

    def keep_keys_or_not(self) -> None:
        """The conditions have changed that decide whether keys go when their time has come."""
        self.keyspace.keeps_expired = self.conditions.keeps_keys
        self.keyspace.is_read_only = self.conditions.is_read_only

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
        self.keyspace.milliseconds = self.keyspace.wall = now.wall // 1000
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
        self.backlogs.configure(
            self.config["client-output-buffer-limit"], self.config.integer("repl-backlog-size")
        )
        self.replicas.acks.count()
        self.upstream.configure()
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
        if session.must_obey and self.keyspace.milliseconds:
            self._obey(session)
            return
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

    def _obey(self, session: Session) -> None:
        """Runs what a master sent: for it no key expires but by its own word."""
        self.keyspace.milliseconds = NEVER
        try:
            self._run(session)
        finally:
            self.keyspace.milliseconds = self.keyspace.wall

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
        if isinstance(session, MasterSession):
            session.has_failed = True
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
        self.replicas.forget(session)
        if isinstance(session, MasterSession):
            self.upstream.ended(session)
