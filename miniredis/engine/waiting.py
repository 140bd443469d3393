"""Blocked clients: who waits for which keys, in which order, and how they are served.

The rules are those of Redis 7.0.15, each of them a test that runs against both servers:

* A waiter stands in one FIFO per key it waits for, in the order in which clients blocked. The FIFOs of a key
  are kept apart by the type waited for: a value has one type, so the others keep their places by themselves.
* A key is signalled ready when it is *created* with a type that somebody may wait for, not when it grows. A
  stream is signalled when it grows, too, and when it or a group of it goes; so is a reliable queue at every
  push, since it is there even when it is empty.
* Ready keys are served after each complete command, EXEC counting as one, in the order of their signals.
  Keys created while serving wait for the next round, so chains of BLMOVE run breadth first.
* Serving a key takes its waiters oldest first while the value lasts, and has something to give. One whose pop
  fails hears the error, and the next is tried. Readers of a stream take nothing away from it: each of them is
  asked once, and who finds nothing new keeps its place.
* A waiter that says what it answers ``when_gone`` waits for keys that are there: when one of them is served
  and is gone, or of another type, it hears that.
* A waiter that is served, timed out, unblocked or gone leaves all its FIFOs in one step.

A new kind of blocking command brings its own ``serve`` function and the type it waits for; nothing changes
here.
"""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .changes import ALL_DATABASES, Change
from .client_flags import LISTENS
from .errors import CommandError
from .replies import NO_REPLY, NULL_ARRAY
from .streams import Stream

if TYPE_CHECKING:
    from .keyspace import Database
    from .observing import Statistics
    from .replies import Reply
    from .session import Session

__all__ = ["Waiter", "Waiting"]

STALE_DEADLINES: Final = 1000
"""How many outdated deadlines the heap may hold beyond the valid ones."""


@dataclass(slots=True, eq=False)
class Waiter:
    """One blocked client.

    Attributes:
        session: the client.
        database: the index of the database it waits in.
        keys: the distinct keys it waits for, in the order of its command.
        waits_for: the type of value that serves it.
        serve: takes from the value at a ready key what the command takes, and returns the reply;
            ``NO_REPLY`` where a stream has nothing new or a reliable queue nothing to give.
        deadline: when it gives up, in microseconds of monotonic time; None for never.
        when_over: the reply when it gives up.
        when_gone: what it hears when a key it waits for ceases to be there; None if it goes on waiting.
        args: its command, for the slow log.
    """

    session: Session
    database: int
    keys: tuple[bytes, ...]
    waits_for: type
    serve: Callable[[Database, bytes, Any], Reply]
    deadline: int | None
    when_over: Reply = NULL_ARRAY
    when_gone: CommandError | None = None
    args: list[bytes] = field(default_factory=list)


Queue: TypeAlias = "OrderedDict[Waiter, None]"
"""A FIFO from which anyone can be taken at the same cost; a plain dict finds its first entry slowly."""


class Waiting:
    """All waiters of a server.

    Args:
        databases: looks up by index; each keeps those who wait for its keys.
        statistics: counts what waiters were served.
        wake: told of each waiter that was served, with its reply, its error, or what went wrong in ``serve``.
        attend: told of a waiter, and whether its turn begins or is over, if that is to be told to anybody.

    Attributes:
        ready: the keys that have become ready, in the order of their signals.
        deadlines: a heap of those of the waiters, and of some who wait no longer.
    """

    def __init__(
        self,
        databases: list[Database],
        statistics: Statistics,
        wake: Callable[[Waiter, Reply | Exception], None],
        attend: Callable[[Waiter, bool], None],
    ) -> None:
        self._databases = databases
        self._statistics = statistics
        self._wake = wake
        self._attend = attend
        self.ready: dict[tuple[int, bytes], None] = {}
        self.deadlines: list[tuple[int, int, Waiter]] = []  # the second number breaks ties
        self._blocked: set[Waiter] = set()
        self._blocked_by_type: Counter[type] = Counter()
        self._blocked_ever = 0

    def __len__(self) -> int:
        return len(self._blocked)

    @property
    def with_deadline(self) -> int:
        """How many waiters will give up some day."""
        return sum(waiter.deadline is not None for waiter in self._blocked)

    def add(self, waiter: Waiter) -> None:
        """Lets a client wait, behind all who already wait for the same keys."""
        self._blocked.add(waiter)
        self._blocked_by_type[waiter.waits_for] += 1
        self._blocked_ever += 1
        for key in waiter.keys:
            queues = self._databases[waiter.database].waiters.setdefault(key, {})
            queues.setdefault(waiter.waits_for, OrderedDict())[waiter] = None
        if waiter.deadline is not None:
            heapq.heappush(self.deadlines, (waiter.deadline, self._blocked_ever, waiter))

    def remove(self, waiter: Waiter) -> None:
        """Takes a client out of every FIFO it stands in, if it does."""
        if waiter not in self._blocked:
            return
        self._blocked.remove(waiter)
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
        """Whoever waits for a key that is new, has more to read or is gone is served after the command."""
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
        if kind in waited_for or Stream in waited_for:  # who waits for a stream is told, too, that it is gone
            self.ready.setdefault((database.index, key))

    def _signal_all(self, database: Database) -> None:
        """All keys of a database have gone or come at once: those waited for are seen to."""
        for key in database.waiters:
            there = database.values.get(key)  # an expired one goes when its waiters are served
            self._signal(database, key, None if there is None else type(there))

    def serve_ready(self) -> None:
        """Serves all ready keys, and those that become ready by it, until none is left."""
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
        """Asks each reader of a stream once; tells those who wait for one that is gone."""
        for waiter in tuple(database.waiters.get(key, {}).get(Stream, ())):
            if stream is not None:
                self._serve_one(waiter, database, key, stream)
            elif waiter.when_gone is not None:
                self.end(waiter, waiter.when_gone)

    def _serve_one(self, waiter: Waiter, database: Database, key: bytes, value: Any) -> bool:
        """Lets a waiter take what it waits for; tells whether it did, and waits no more."""
        reply: Reply | Exception
        is_news = waiter.session.flags & LISTENS or database.keyspace.heeds_all
        if is_news:
            self._attend(waiter, True)
        try:
            reply = serve(waiter, database, key, value)
        except CommandError as error:
            reply = error
        except Exception as fault:
            reply = fault
        if reply is not NO_REPLY:
            self.end(waiter, reply)
        if is_news:
            self._attend(waiter, False)
        return reply is not NO_REPLY

    def end(self, waiter: Waiter, reply: Reply | Exception) -> None:
        """A waiter got what it waited for, or an error: its command, counted when it blocked, is over."""
        self.remove(waiter)
        statistics, session, command = self._statistics, waiter.session, waiter.session.last_command
        if command is not None:
            calls = statistics[command]
            calls.failed += type(reply) is CommandError
            began, statistics.lap = statistics.lap, statistics.stopwatch()
            seconds = statistics.lap - began
            calls.seconds += seconds
            if seconds >= statistics.slow:
                statistics.log_slow(session, command, waiter.args, seconds)
        self._wake(waiter, reply)

    def next_deadline(self) -> int | None:
        """When the next waiter gives up, in microseconds of monotonic time; None if none will."""
        while self.deadlines:
            deadline, _, waiter = self.deadlines[0]
            if waiter in self._blocked:
                return deadline
            heapq.heappop(self.deadlines)
        return None

    def timed_out(self, monotonic: int) -> Iterator[Waiter]:
        """The waiters whose time has come, earliest deadline first; each is removed before it is given."""
        while (deadline := self.next_deadline()) is not None and deadline <= monotonic:
            waiter = heapq.heappop(self.deadlines)[2]
            self.remove(waiter)
            yield waiter


def serve(waiter: Waiter, database: Database, key: bytes, value: Any) -> Reply:
    """Serves a waiter; what that does is an effect of its command."""
    effects, command = waiter.session.engine.effects, waiter.session.last_command
    if effects is None or command is None:
        return waiter.serve(database, key, value)
    return effects.record(waiter.session, command, waiter.args, lambda *_: waiter.serve(database, key, value))
