"""The engine: databases, sessions and waiters. Bytes in, bytes out; no I/O, no clock, no thread.

The caller says what time it is, hands in what clients sent, and ends each tick with ``settle``, which tells
whose output is to be sent. The same bytes at the same times give the same replies.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from . import commands as _commands  # noqa: F401  (fills the table of commands)
from .acl.users import Users
from .call import answer_all, answer_alone, answer_plain, answer_transaction
from .clients.change_notifier import ChangeNotifier
from .clients.client_flags import CLOSING, GONE, SPECIAL, UNREAD
from .clients.idle_clients import IdleClients
from .clients.output_limits import OutputBufferLimits
from .clients.session import Session
from .clients.waiting import Waiter, Waiting
from .cluster.membership import Membership
from .cluster.topology import Node
from .conditions import Conditions, PausedBy
from .config import Config
from .declarations.registry import CommandTable, table_of
from .effects.effects import Effects
from .effects.propagation import as_restores
from .effects.recording import EffectReaders
from .effects.replay import NEVER
from .environment import Environment
from .faults.fault_rules import FaultRules
from .faults.recorders import Recorders
from .faults.trickles import Trickles
from .input import run_input, take_in
from .instant import Instant
from .keyspace.keyspace import Keyspace
from .protocol import errors
from .protocol.errors import CommandError
from .protocol.replies import NO_REPLY, NOT_ASKED, Encoded, NoReply, Reply, Value
from .protocol.requests import FastParser, Request, RequestParser, few_requests
from .replication.replication import Replication
from .saves import Saves
from .scripts.libraries import Libraries
from .scripts.scripts import Scripts
from .statistics.statistics import Statistics
from .timers import Timers
from .values.packing import Packing

if TYPE_CHECKING:
    from .rdb.loading import LoadProgress
    from .sentinels import Sentinel

__all__ = ["Engine"]

BEGINNING: Final = Instant(0, 0)

Answer = TypeVar("Answer")


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
        self.version = self.config.version
        self.commands = table_of(self.version)
        self.environment = environment
        self.statistics = Statistics(environment.stopwatch)
        self.random = random.Random(seed)  # noqa: S311  (nothing here is secret)
        self.run_id = self.new_name()
        self.started = self.now = now
        self.keyspace = Keyspace(self.config.integer("databases"))
        self.sessions: dict[int, Session] = {}
        self.users = Users(self)
        self.notifier = ChangeNotifier(self.keyspace, self.sessions)
        self.waiting = Waiting(self.keyspace.databases, self.statistics, self._served, self.notifier.on_serve)
        self.keyspace.listeners.append(self.waiting.hear)
        self.outbox: dict[Session, None] = {}  # who has something to be sent, or is to be hung up
        self.conditions = Conditions()
        self.rules = FaultRules(self.conditions)
        self.recorders = Recorders()
        self.trickles = Trickles(self)
        self.effects: Effects | None = None  # nobody reads them
        self.recording = EffectReaders(self)
        self.scripts = Scripts(self)
        self.libraries = Libraries(self)
        self.shutdown_requested = False
        self._last_number = 0  # of a client
        self.faults: list[tuple[Session | None, Exception]] = []  # what failed unexpectedly, for the log
        self.input_limit = 0
        self.output_limits = OutputBufferLimits()
        self.idle = IdleClients(self)
        self.replication = Replication(self)
        self.saves = Saves(self)
        self.timers = Timers(self)
        self.sentinel: Sentinel | None = None
        self.cluster: Membership | None = None
        if self.config["cluster-enabled"] == "yes":
            self.cluster = Membership(self, Node(self.new_name(), self.config))
            self.conditions.join_cluster()
        self.config.guard("save", self.saves.check_points)
        self.config.listen(self._configured)
        self.users.declare(self.config.users)
        self.unblocked: deque[Session] = deque()  # what they have sent is run when the tick ends
        self._fast_parser = FastParser()
        self.advance(now)

    # The caller's side

    def move_into(self, environment: Environment) -> None:
        """Another process, or another server, has the engine from now on."""
        self.environment = environment
        self.statistics.use(environment.stopwatch)
        self.shutdown_requested = self.scripts.must_end = False  # said of a server that had it before

    def become_sentinel(self, sentinel: Sentinel, commands: CommandTable) -> None:
        """The server is a sentinel from now on, and has the commands of one."""
        self.sentinel, self.commands = sentinel, commands

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
        self.advance(now)
        parser = RequestParser(self._fast_parser, self._max_bulk, lambda: session.must_authenticate)
        session = Session(self, self._last_number + 1, parser, now)
        session.address, session.local_address = address.encode(), local_address.encode()
        session.descriptor = descriptor
        if len(self.sessions) >= self.config.integer("maxclients"):
            self._reject_connection(session, errors.MAX_CLIENTS)
            return session
        self.new_number()
        if address and self._is_protected() and not session.is_local:
            self._reject_connection(session, errors.PROTECTED_MODE)
            return session
        self.statistics.connections += 1
        self.sessions[session.id] = session
        return session

    def _is_protected(self) -> bool:
        return self.config["protected-mode"] == "yes" and self.users.default.has_no_password

    def _reject_connection(self, session: Session, reason: bytes) -> None:
        self.statistics.rejected_connections += 1
        session.reply(CommandError(reason))
        session.flags |= GONE
        session.close()

    def receive(self, session: Session, data: bytes, now: Instant) -> None:
        """Takes bytes that a client sent, cut anywhere, and runs the commands in them.

        Those behind a command that blocks wait until the client is no longer blocked.
        """
        if now is not self.now:
            self.advance(now)
        session.last_active = now
        self.statistics.input_bytes += len(data)
        is_plain = not session.flags & SPECIAL and (
            self.conditions.is_quiet
            or (self.conditions.is_quiet_beside_rules and self.rules.spare(session, data))
        )
        if is_plain and (requests := few_requests(data)):
            self._run_at_once(session, requests, data)
        elif self.conditions.busy and self.scripts.is_running_for(session):
            session.flags |= UNREAD
            session.parser.feed(data)
        elif not session.flags & CLOSING:
            take_in(session, data)

    def receive_and_defer_scripts(self, session: Session, data: bytes, now: Instant) -> None:
        """The same, on any thread; ``run_deferred`` must follow on the client's if a script was deferred."""
        self.scripts.only_quick = True
        try:
            self.receive(session, data, now)
        finally:
            self.scripts.only_quick = False

    def run_deferred(self, session: Session, _: bytes, now: Instant) -> None:
        """Runs a client's requests from the one that was deferred."""
        self.advance(now)
        self.scripts.deferred.discard(session)
        if session.waiter is not None:
            self.waiting.remove(session.waiter)
            session.unblock()
            session.resume()

    def ask(self, session: Session, args: Request, now: Instant) -> Value | Encoded | NoReply:
        """Runs one request that a client has as values, and returns its reply as one, where that is possible.

        Args:
            session: the client's; it has read all replies to what it sent before.
            args: the request, its name in lower or in upper case included.
            now: the time.

        Returns:
            The reply, in its wire form if it is no ``Value``. ``NO_REPLY`` if the client is blocked, or has
            failed. ``NOT_ASKED`` if nothing was done: then the request has to come as bytes.
        """
        if now is not self.now:
            self.advance(now)
        if session.flags & SPECIAL:
            return NOT_ASKED
        if not self.conditions.is_quiet and not (
            self.conditions.is_quiet_beside_rules and self.rules.spare_words(session, args)
        ):
            return NOT_ASKED
        session.last_active = now
        try:
            return answer_alone(session, args)
        except Exception as fault:
            self.fail(session, fault)
            return NO_REPLY

    def ask_unless_slow(self, session: Session, args: Request, now: Instant) -> Value | Encoded | NoReply:
        """The same, on any thread: a script that was not quick the last time is ``NOT_ASKED``."""
        if args[0] not in self.commands.plain and not self.scripts.are_quick(session, args):
            return NOT_ASKED
        return self.ask(session, args, now)

    def ask_all(
        self, session: Session, requests: Sequence[Request], now: Instant
    ) -> list[Value | Encoded] | NoReply:
        """Runs several requests as ``ask`` does; returns the replies to all.

        Returns:
            ``NOT_ASKED`` if nothing was done, as one of them has to come as bytes. ``NO_REPLY`` if the client
            has failed.
        """
        return self._ask(answer_all, session, requests, now)

    def ask_transaction(
        self, session: Session, requests: Sequence[Request], now: Instant
    ) -> Encoded | NoReply:
        """The same for requests between MULTI and EXEC; returns the reply to EXEC in its wire form."""
        return self._ask(answer_transaction, session, requests, now)

    def _ask(
        self,
        answer: Callable[[Session, Sequence[Request]], Answer],
        session: Session,
        requests: Sequence[Request],
        now: Instant,
    ) -> Answer | NoReply:
        if now is not self.now:
            self.advance(now)
        if session.flags & SPECIAL or not self.conditions.is_quiet:
            return NOT_ASKED
        session.last_active = now
        try:
            return answer(session, requests)
        except Exception as fault:
            self.fail(session, fault)
            return NO_REPLY

    def disconnect(self, session: Session, now: Instant) -> None:
        """Disconnects a client: it waits for nothing any more, and watches no key."""
        self.advance(now)
        self._forget(session)

    def settle(self, now: Instant) -> Collection[Session]:
        """Ends a tick: lets blocked clients time out and keys expire, and runs what woken clients had sent.

        Returns:
            The sessions whose output is to be taken and sent; those that are ``closing`` are to be
            disconnected then.
        """
        if now is not self.now:
            self.advance(now)
        if self._is_eventful:
            if self.conditions.asleep_until:
                return ()
            self._end_tick(now)
        else:
            self.timers.are_set = False
        due, self.outbox = self.outbox, {}
        return due

    @property
    def is_settled(self) -> bool:
        """Whether ``settle`` has nothing to do."""
        return not (self.outbox or self.faults or self.shutdown_requested or self._is_eventful)

    @property
    def _is_eventful(self) -> bool:
        """Whether the end of a tick may have work beside output; most ticks have none."""
        return bool(
            self.waiting.deadlines
            or self.keyspace.expiries
            or self.unblocked
            or self.effects is not None
            or self.timers.has_rare_work
            or self.output_limits.over
            or self.keyspace.observes_all
            or not self.conditions.is_quiet_beside_rules
        )

    def next_deadline(self, expiry_delay: int = 0) -> int | None:
        """When ``settle`` must be called again even if no client sends anything; None if it need not be.

        It is a time of the monotonic clock, in microseconds.

        Args:
            expiry_delay: microseconds for which keys that have expired may stay, as no client sees them.
        """
        if self.conditions.asleep_until:
            return self.conditions.asleep_until
        return self.timers.next_deadline(expiry_delay)

    def take_faults(self) -> list[tuple[Session | None, Exception]]:
        """The unexpected errors inside the engine, each with the session that was closed because of it.

        None stands for no session: a step failed that no client asked for.
        """
        faults, self.faults = self.faults, []
        return faults

    def reset(self, now: Instant) -> None:
        """Removes every key of every database, as FLUSHALL does."""
        self.advance(now)
        self.statistics.start_lap()
        self.keyspace.flush()
        if self.effects is not None:
            self.effects.add(0, [b"FLUSHALL"])
        self.saves.flushed()
        self.serve_ready()

    def replace_keys(self, keyspace: Keyspace, now: Instant) -> None:
        """Replaces every key of every database by those of another keyspace, which is used up."""
        self.advance(now)
        self.statistics.start_lap()
        self.keyspace.take_over(keyspace)
        self.keyspace.changes += 1
        if self.effects is not None:
            self.effects.add(0, [b"FLUSHALL"])
            for database, effect in as_restores(self.keyspace):
                self.effects.add(database, effect)
        self.serve_ready()

    def end_save(self, now: Instant, *, has_succeeded: bool) -> None:
        """The save that went on beside other work is over."""
        self.advance(now)
        self.saves.ended(has_succeeded=has_succeeded)

    # The commands' side

    def wake(self, waiter: Waiter, reply: Reply | CommandError) -> None:
        """A blocked client, out of its queues already, hears its reply; its input runs when the tick ends."""
        session = waiter.session
        session.unblock()
        if type(reply) is CommandError:
            self.statistics.count_error(reply)
        session.reply(reply)
        session.end_command()
        self.rules.served(session)
        self.recorders.served(session)
        self.unblocked.append(session)

    def serve_ready(self) -> None:
        """Serves the clients blocked on keys that changed; later, if a script goes on or the server sleeps.

        Nothing comes between the commands of a script or a transaction, and in a sleep keys may expire.
        """
        if not (self.conditions.busy or self.conditions.asleep_until):
            self.waiting.serve_ready()

    def unblock(self, session: Session, reply: Reply | CommandError) -> bool:
        """Ends a client's wait from outside; tells whether it could be ended.

        A client that a pause holds up hears an error and is held up still; it has no time to be over. One
        whose script waits for its turn, or that a fault delays, is not blocked for Redis.
        """
        assert session.waiter is not None
        if session.postponed is not None:
            if session not in self.conditions.postponed:
                return False
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
            self.fail(waiter.session, reply)
        else:
            self.attempt(waiter.session, self.wake, waiter, reply)

    def start_pause(self, until: int, by: PausedBy = PausedBy.CLIENT, *, writes_only: bool) -> None:
        """Holds commands up until a monotonic time."""
        self.conditions.start_pause(self.now, until, by, writes_only=writes_only)
        self.keep_keys_or_not()

    def end_pause(self, by: PausedBy = PausedBy.CLIENT) -> None:
        """Ends a pause; what no other pause holds up runs when the tick ends."""
        self._run_again(self.conditions.end_pause(by))

    def _run_again(self, postponed: Iterable[Session]) -> None:
        for session in postponed:
            if session.waiter is not None:
                self.waiting.remove(session.waiter)
                session.unblock()
                self.unblocked.append(session)
        self.keep_keys_or_not()

    def set_progress(self, progress: LoadProgress | None) -> None:
        """The server loads its data, or has loaded them: None."""
        self.conditions.set_loading(progress)
        self.keep_keys_or_not()

    def keep_keys_or_not(self) -> None:
        """The conditions have changed that decide whether keys go when their time has come."""
        self.keyspace.keeps_expired = self.conditions.keeps_keys
        self.keyspace.is_replica = self.conditions.is_replica and self.conditions.loading is None
        self.keyspace.is_read_only = self.conditions.is_read_only

    def stop_listening(self, session: Session) -> None:
        """A client hears of nothing any more."""
        self.conditions.stop_monitoring(session)
        self.notifier.forget(session)

    def hang_up(self, session: Session) -> None:
        """The server's side ends a connection, now; what was to be sent is not."""
        self._forget(session)
        session.drop_output()
        self._show_out(session)

    # The parts' side

    def advance(self, now: Instant) -> None:
        """It is later now: pauses and sleeps whose time is over end."""
        self.now = now
        self.keyspace.milliseconds = self.keyspace.wall = now.wall // 1000
        if not self.conditions.is_quiet_beside_rules:
            self._end_what_is_over(now.monotonic)

    def new_number(self) -> int:
        """The number of the next client."""
        self._last_number += 1
        return self._last_number

    def new_name(self) -> bytes:
        """Forty hexadecimal digits, as Redis names servers and histories."""
        return b"%040x" % self.random.getrandbits(160)

    def attempt(self, session: Session | None, act: Callable[..., object], *args: object) -> None:
        """Does something for a client, or for none; an unexpected error ends its connection and no other."""
        try:
            act(*args)
        except Exception as fault:
            self.fail(session, fault)

    def fail(self, session: Session | None, fault: Exception) -> None:
        """An unexpected error: it is logged, and ends the connection of the client that caused it.

        Args:
            session: the client's; None if no client caused it.
            fault: the error.
        """
        self.faults.append((session, fault))
        if self.effects is not None:
            self.effects.fail()
        if session is not None:
            self._forget(session, has_failed=True)  # what it was told before is true, and is sent
            self._show_out(session)

    # Inside

    def _end_tick(self, now: Instant) -> None:
        self.timers.run(now)
        if self.unblocked:
            while self.unblocked and not self.conditions.asleep_until:
                self.unblocked.popleft().resume()
            self.timers.update()  # their next commands may wait, too
        try:
            if self.keyspace.observes_all and not self.conditions.busy:
                self.notifier.end_tick()
            if self.effects is not None and not self.conditions.busy:
                self.effects.close_unit()  # what time has brought
            if self.replication.history.is_kept:
                self.replication.end_tick()
        except Exception as fault:
            self.fail(None, fault)

    def _end_what_is_over(self, monotonic: int) -> None:
        loading = self.conditions.loading
        if loading is not None and loading.stops_time:
            self.keyspace.milliseconds = NEVER
        if self.conditions.is_pause_over(monotonic):
            self._run_again(self.conditions.end_pauses_until(monotonic))
        if self.conditions.wake_up(monotonic):
            self.serve_ready()

    def _configured(self) -> None:
        """Keeps at hand what every request depends on."""
        self.input_limit = self.config.integer("client-query-buffer-limit")
        self.output_limits.configure(
            self.config["client-output-buffer-limit"], self.config.integer("repl-backlog-size")
        )
        self.replication.configure()
        self.notifier.configure(self.config)
        self.statistics.configure(self.config)
        self.packing = Packing.of(self.config.integer, self.version)
        self.saves.configure(self.config)
        self.idle.configure(self.config.integer("timeout"))
        self.users.configure(self.config)

    def _max_bulk(self) -> int:
        return self.config.integer("proto-max-bulk-len")

    def _run_at_once(self, session: Session, requests: list[Request], data: bytes) -> None:
        try:
            if answer_plain(session, requests, data, True):
                return
        except Exception as fault:
            self.fail(session, fault)
        run_input(session, len(data))

    def _show_out(self, session: Session) -> None:
        session.flags |= CLOSING
        self.outbox[session] = None

    def _forget(self, session: Session, *, has_failed: bool = False) -> None:
        if session.flags & GONE:
            return
        session.flags |= GONE | CLOSING
        session.unwatch()
        self.stop_listening(session)
        self.conditions.postponed.pop(session, None)
        self.scripts.deferred.discard(session)
        self.rules.forget(session)
        self.recorders.forget(session)
        self.trickles.forget(session)
        self.output_limits.forget(session)
        if session.waiter is not None:
            self.waiting.remove(session.waiter)
            session.unblock()
        del self.sessions[session.id]
        self.replication.forget(session, has_failed=has_failed)
