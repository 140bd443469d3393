"""Blocked clients: the keys they wait for, their order, and how they are served.

The rules are those of Redis 7.0.15; each has a test that runs against both servers:

* A waiter has a place in one FIFO for each key it waits for, in the order in which clients blocked. A key has
  one FIFO for each type waited for: a value has one type, so waiters for other types keep their places.
* A key becomes ready when it is *created* with a type that a client waits for, not when it grows. A stream
  is also ready when it grows, or when it or one of its groups is deleted. A reliable queue becomes ready at
  every push, since it exists even when it is empty.
* Ready keys are served after each complete command (EXEC is one), in the order in which they became ready.
  Keys created while serving wait for the next round, so chains of BLMOVE run breadth first.
* A key's waiters are served oldest first while its value has something to give. A waiter whose pop fails gets
  the error, and the next is tried. Reading a stream removes nothing: each of its readers is tried once, and a
  reader with nothing new keeps its place.
* A waiter with ``when_gone`` gets its error when one of its keys is deleted or has another type.
* A waiter that is served, timed out, unblocked or disconnected leaves all its FIFOs in one step.

To add a blocking command, pass ``Session.block`` a ``serve`` function and the type to wait for; nothing
changes here.
"""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..keyspace.changes import ALL_DATABASES, Change
from ..protocol.errors import CommandError
from ..protocol.replies import NO_REPLY, NULL_ARRAY
from ..values.streams import Stream
from .client_flags import LISTENS

if TYPE_CHECKING:
    from ..keyspace.keyspace import Database
    from ..protocol.replies import Reply
    from ..statistics.statistics import Statistics
    from .session import Session

__all__ = ["Waiter", "Waiting"]

STALE_DEADLINES: Final = 1000
"""How many outdated deadlines the heap may hold in addition to the valid ones."""

UNCOUNTED: Final = frozenset((b"blpop", b"brpop", b"blmove", b"brpoplpush"))
"""Commands that redis-server counts as no change for save points if they had to wait."""


@dataclass(slots=True, eq=False)
class Waiter:
    """One blocked client.

    Attributes:
        session: the client.
        database: the index of the database it waits in.
        keys: the distinct keys it waits for, in the order of its command.
        waits_for: the type of value that serves it.
        serve: runs the command on the value of a ready key and returns the reply; ``NO_REPLY`` if a stream
            has nothing new, or a reliable queue nothing to give.
        deadline: when it times out, in microseconds of monotonic time; None for never.
        when_over: the reply when it times out, or what tells it then.
        when_gone: raises the error when one of its keys is deleted; None to go on waiting.
        args: its command, for the slow log.
    """

    session: Session
    database: int
    keys: tuple[bytes, ...]
    waits_for: type
    serve: Callable[[Database, bytes, Any], Reply]
    deadline: int | None
    when_over: Reply | Callable[[], Reply] = NULL_ARRAY
    when_gone: Callable[[], object] | None = None
    args: list[bytes] = field(default_factory=list)

    def reply_when_over(self) -> Reply:
        """The reply if its time is over now."""
        return self.when_over() if callable(self.when_over) else self.when_over


Queue: TypeAlias = "OrderedDict[Waiter, None]"
"""A FIFO with constant-time removal. A plain dict gets slow at finding its first entry after removals."""


class Waiting:
    """All waiters of a server.

    Args:
        databases: by index; each holds the FIFOs of its keys.
        statistics: counts the commands that are served.
        wake: called with each waiter that is done, and its reply, its error, or the exception of ``serve``.
        on_serve: called before (True) and after (False) a waiter is served that a client may be notified of.

    Attributes:
        ready: the ready keys, in the order in which they became ready.
        deadlines: a heap of deadlines; some entries belong to waiters that are no longer blocked.
    """

    def __init__(
        self,
        databases: list[Database],
        statistics: Statistics,
        wake: Callable[[Waiter, Reply | Exception], None],
        on_serve: Callable[[Waiter, bool], None],
    ) -> None:
        self._databases = databases
        self._statistics = statistics
        self._wake = wake
        self._on_serve = on_serve
        self.ready: dict[tuple[int, bytes], None] = {}
        self.deadlines: list[tuple[int, int, Waiter]] = []  # the second number breaks ties
        self._blocked: dict[Waiter, None] = {}
        self._blocked_by_type: Counter[type] = Counter()
        self._blocked_ever = 0

    def __len__(self) -> int:
        return len(self._blocked)

    @property
    def with_deadline(self) -> int:
        """The number of waiters that have a timeout."""
        return sum(waiter.deadline is not None for waiter in self._blocked)

    def in_order(self) -> tuple[Waiter, ...]:
        """All waiters, those that have waited longest first."""
        return tuple(self._blocked)

    def of_type(self, kind: type) -> list[Waiter]:
        """All waiters for a type, in the same order."""
        blocked = self._blocked if self._blocked_by_type[kind] else ()
        return [each for each in blocked if each.waits_for is kind]

    def add(self, waiter: Waiter) -> None:
        """Adds a waiter behind all others that wait for the same keys."""
        self._blocked[waiter] = None
        self._blocked_by_type[waiter.waits_for] += 1
        self._blocked_ever += 1
        for key in waiter.keys:
            queues = self._databases[waiter.database].waiters.setdefault(key, {})
            queues.setdefault(waiter.waits_for, OrderedDict())[waiter] = None
        if waiter.deadline is not None:
            heapq.heappush(self.deadlines, (waiter.deadline, self._blocked_ever, waiter))

    def remove(self, waiter: Waiter) -> None:
        """Removes a waiter from all its FIFOs, if it is still blocked."""
        if waiter not in self._blocked:
            return
        del self._blocked[waiter]
        self._blocked_by_type[waiter.waits_for] -= 1
        for key in waiter.keys:
            self._leave(waiter, key)
        if len(self.deadlines) > 2 * len(self._blocked) + STALE_DEADLINES:
            self.deadlines = [entry for entry in self.deadlines if entry[2] in self._blocked]
            heapq.heapify(self.deadlines)

    def _leave(self, waiter: Waiter, key: bytes) -> None:
        waiters = self._databases[waiter.database].waiters
        queues = waiters[key]
        del queues[waiter.waits_for][waiter]
        if not queues[waiter.waits_for]:
            del queues[waiter.waits_for]
        if not queues:
            del waiters[key]

    def hear(self, change: Change) -> None:
        """Marks keys as ready after a change, for the clients blocked on them."""
        if change.key is not None:
            if change.is_ready:
                self._signal(self._databases[change.database], change.key, change.kind)
        elif change.database == ALL_DATABASES:
            for database in self._databases:
                self._signal_all(database)
        else:
            self._signal_all(self._databases[change.database])

    def _signal(self, database: Database, key: bytes, kind: type | None) -> None:
        waited_for = database.waiters.get(key, ())
        if kind in waited_for or Stream in waited_for:  # readers are also served when their stream is gone
            self.ready.setdefault((database.index, key))

    def _signal_all(self, database: Database) -> None:
        """Marks the keys of a database as ready after all its contents changed at once."""
        for key in database.waiters:
            there = database.values.get(key)  # an expired one goes when its waiters are served
            self._signal(database, key, None if there is None else type(there))

    def serve_ready(self) -> None:
        """Serves all ready keys, and those that become ready meanwhile, until none is left."""
        while self.ready:
            ready = list(self.ready)
            self.ready.clear()
            for database, key in ready:
                self._serve(self._databases[database], key)

    def _serve(self, database: Database, key: bytes) -> None:
        value = database.lookup_write(key)
        stream = value if type(value) is Stream else None
        while value is not None and stream is None:
            queue = database.waiters.get(key, {}).get(type(value))
            if not queue or not self._serve_one(next(iter(queue)), database, key, value):
                break
            value = database.lookup_write(key)
        if self._blocked_by_type[Stream]:
            self._see_to_readers(database, key, stream)

    def _see_to_readers(self, database: Database, key: bytes, stream: Stream | None) -> None:
        """Tries each reader of a stream once; if the stream is gone, sends the readers their error."""
        for waiter in tuple(database.waiters.get(key, {}).get(Stream, ())):
            if stream is not None:
                self._serve_one(waiter, database, key, stream)
            elif waiter.when_gone is not None:
                self.end(waiter, error_of(waiter.when_gone))

    def _serve_one(self, waiter: Waiter, database: Database, key: bytes, value: Any) -> bool:
        """Tries to serve a waiter; returns whether it is done and no longer blocked."""
        reply: Reply | Exception
        is_news = waiter.session.flags & LISTENS or database.keyspace.observes_all
        if is_news:
            self._on_serve(waiter, True)
        try:
            reply = serve(waiter, database, key, value)
        except CommandError as error:
            reply = error
        except Exception as fault:
            reply = fault
        if reply is not NO_REPLY:
            self.end(waiter, reply)
        if is_news:
            self._on_serve(waiter, False)
        return reply is not NO_REPLY

    def end(self, waiter: Waiter, reply: Reply | Exception) -> None:
        """Unblocks a waiter with its reply, and completes the statistics of its command."""
        self.remove(waiter)
        statistics, session, command = self._statistics, waiter.session, waiter.session.last_command
        if command is not None:
            calls = statistics[command]
            calls.failed += type(reply) is CommandError
            began, statistics.lap = statistics.lap, statistics.stopwatch()
            seconds = statistics.lap - began
            calls.seconds += seconds
            if statistics.tracks:
                calls.untimed -= 1
                calls.add(seconds)
            if seconds >= statistics.slow:
                statistics.log_slow(session, command, waiter.args, seconds)
        self._wake(waiter, reply)

    def next_deadline(self) -> int | None:
        """When the next waiter times out, in microseconds of monotonic time; None if none will."""
        while self.deadlines:
            deadline, _, waiter = self.deadlines[0]
            if waiter in self._blocked:
                return deadline
            heapq.heappop(self.deadlines)
        return None

    def timed_out(self, monotonic: int) -> Iterator[Waiter]:
        """Yields the waiters that have timed out, earliest deadline first, each removed from its FIFOs."""
        while (deadline := self.next_deadline()) is not None and deadline <= monotonic:
            waiter = heapq.heappop(self.deadlines)[2]
            self.remove(waiter)
            yield waiter


def error_of(function: Callable[[], object]) -> CommandError:
    """The error that a waiter's ``when_gone`` raises, which never returns where a stream is gone."""
    try:
        function()
    except CommandError as error:
        return error
    raise AssertionError(f"{function} raised no error")


def serve(waiter: Waiter, database: Database, key: bytes, value: Any) -> Reply:
    """Serves a waiter, and records the effects as those of its command."""
    effects, command = waiter.session.engine.effects, waiter.session.last_command
    changes = database.keyspace.changes
    try:
        if effects is None or command is None:
            return waiter.serve(database, key, value)
        reply = effects.record(
            waiter.session, command, waiter.args, lambda *_: waiter.serve(database, key, value)
        )
        waiter.session.reached = waiter.session.engine.replication.history.offset
        return reply
    finally:
        if command is not None and command.name in UNCOUNTED:
            database.keyspace.changes = changes
