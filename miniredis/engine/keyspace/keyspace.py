"""Databases: keys, values, expiry and watched keys.

Keys change only through methods: ``create`` adds a key, ``signal_modified`` reports a change in place,
``delete`` removes a key, ``Keyspace.flush`` empties a database. Each reports a ``Change`` to the listeners.

A list is a ``deque[bytes]``. A string is ``bytes``, or ``bytearray`` once it was changed in place. Every
other type has a class of its own. A key whose aggregate becomes empty is deleted, except streams and
reliable queues.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, TypeVar, overload

from ..protocol.errors import WRONG_TYPE, CommandError
from ..protocol.replies import PlainText
from ..values.expiring_hashes import EXPIRING, ExpiringHash, ValkeyHash
from ..values.hashes import HashValue
from ..values.key_index import KeyIndex
from ..values.rqueues import RQueue
from ..values.sets import SetValue
from ..values.sorted_sets import SortedSet
from ..values.streams import Stream
from .changes import ALL_DATABASES, Change, Everything, Listener, Watcher
from .lent_values import LentValues

__all__ = ["Database", "Keyspace", "ListValue", "StringValue", "Value", "duplicate"]

ListValue: TypeAlias = "deque[bytes]"
StringValue: TypeAlias = bytes | bytearray
Aggregate: TypeAlias = "ListValue | HashValue | SetValue | SortedSet | Stream | RQueue"
Value: TypeAlias = "StringValue | Aggregate"

T = TypeVar("T")

LIST: Final[tuple[type[ListValue], ...]] = (deque,)
STRING: Final[tuple[type[StringValue], ...]] = (bytes, bytearray, PlainText)
HASH: Final[tuple[type[HashValue], ...]] = (HashValue, *EXPIRING)
SET: Final = (SetValue,)
SORTED_SET: Final = (SortedSet,)
STREAM: Final = (Stream,)
RQUEUE: Final = (RQueue,)
"""The kinds of values, each with the Python types that represent it."""

NO_TOUCH: Final = 1
"""Lookup flag: do not update the key's time of last use."""

NO_EVENT: Final = 2
"""Lookup flag: a miss causes no ``keymiss`` event."""

TYPE_NAMES: Final[dict[type, bytes]] = {
    bytes: b"string",
    bytearray: b"string",
    PlainText: b"string",
    deque: b"list",
    **dict.fromkeys((HashValue, ExpiringHash, ValkeyHash), b"hash"),
    SetValue: b"set",
    SortedSet: b"zset",
    Stream: b"stream",
    RQueue: b"Queue-EDU",  # the name that RedisMQ registers for its module type
}

Expiry: TypeAlias = tuple[int, int, bytes]
"""When a key expires, in milliseconds of wall time, its database and its name."""

STALE_EXPIRIES: Final = 1000
"""How many outdated entries the queue of expiries may hold in addition to the valid ones."""


class KeptTimes:
    """Stands for the times at which keys were last used, and takes none but those of new keys."""

    def __init__(self, times: dict[bytes, int]) -> None:
        self.times = times
        self.get, self.pop, self.clear, self.copy = times.get, times.pop, times.clear, times.copy

    def __setitem__(self, key: bytes, time: int) -> None:
        self.times.setdefault(key, time)


class Keyspace:
    """All databases of a server, and what they share.

    Args:
        count: the number of databases.

    Attributes:
        milliseconds: the wall time; whoever calls the engine sets it.
        listeners: called with each change to an observed key, in this order.
        observes_all: whether all keys are.
        tells_misses: whether somebody hears that a key is asked for which is not there.
        wall: the same time, also while no key expires: ``milliseconds`` is 0 then.
        keeps_expired: expired keys stay, as during CLIENT PAUSE, until they are written; who reads sees none.
        is_replica: a master lets keys go, but for those that clients of this server have given a deadline.
        is_read_only: expired keys stay even when they are written: only the master lets them go.
        changes: how many there were since the start, as redis-server counts them.
    """

    def __init__(self, count: int) -> None:
        self.milliseconds = self.wall = 0
        self.listeners: list[Listener] = []
        self.tells_misses = False
        self.keeps_expired = self.is_replica = self.is_read_only = False
        self.observes_all = False
        self.changes = 0
        self.reset_statistics()
        self.databases = [Database(self, index) for index in range(count)]
        self.expiries: list[Expiry] = []  # a heap
        self._local_expiries: list[Expiry] = []  # likewise, of what clients of a replica have written

    @contextmanager
    def keeping_times(self) -> Iterator[None]:
        """In the block, no key that is there counts as used."""
        for db in self.databases:
            db.used = KeptTimes(db.used)  # type: ignore[assignment]
        try:
            yield
        finally:
            for db in self.databases:
                db.used = getattr(
                    db.used, "times", db.used
                )  # of a database that was replaced, there are others

    def note_expiry(self, milliseconds: int, index: int, key: bytes) -> None:
        """Queues a key's expiry. Entries can be outdated: ``Database.deadlines`` decides."""
        if len(self.expiries) > STALE_EXPIRIES and self._has_many_stale():
            self._order_expiries()
        heapq.heappush(self.expiries, (milliseconds, index, key))
        if self.is_replica and self.milliseconds:  # else its master says so
            heapq.heappush(self._local_expiries, (milliseconds, index, key))

    def _has_many_stale(self) -> bool:
        valid = sum(len(db.deadlines) + len(db.field_deadlines) for db in self.databases)
        return len(self.expiries) > 2 * valid + STALE_EXPIRIES

    def _order_expiries(self) -> None:
        self.expiries = [
            (when, db.index, name)
            for db in self.databases
            for deadlines in (db.deadlines, db.field_deadlines)
            for name, when in deadlines.items()
        ]
        self._local_expiries = [expiry for expiry in self._local_expiries if self._is_valid(expiry)]
        for expiries in (self.expiries, self._local_expiries):
            heapq.heapify(expiries)

    def _is_valid(self, expiry: Expiry) -> bool:
        when, index, key = expiry
        db = self.databases[index]
        return db.deadlines.get(key) == when or db.field_deadlines.get(key) == when

    @property
    def _due(self) -> list[Expiry]:
        return self._local_expiries if self.is_replica else self.expiries

    def listen(self, hear: Listener) -> None:
        """Calls a listener with every change from now on, also of keys that nobody else observes."""
        self.listeners.append(hear)
        self._observe(all_keys=True)

    def unlisten(self, hear: Listener) -> None:
        """Stops calling it; only one listener at a time needs every change."""
        self.listeners.remove(hear)
        self._observe(all_keys=False)

    def _observe(self, *, all_keys: bool) -> None:
        self.observes_all = all_keys
        for db in self.databases:
            db.observed_keys = Everything() if self.observes_all else db.watchers

    @property
    def is_observed(self) -> bool:
        """Whether anybody is to hear of changes of a key."""
        return self.observes_all or any(db.watchers for db in self.databases)

    def tell(self, change: Change) -> None:
        """Calls all listeners with a change."""
        for hear in self.listeners:
            hear(change)

    def flush(self, database: Database | None = None) -> None:
        """Deletes every key of a database, or of all if None. Waiters keep their places."""
        for db in self.databases if database is None else [database]:
            db.clear()
        self.tell(Change(ALL_DATABASES if database is None else database.index, None, None, "flush"))

    def swap(self, one: Database, other: Database) -> None:
        """Exchanges the contents of two databases; clients, watches and waiters stay with the number."""
        for db, incoming in ((one, other), (other, one)):
            db.break_all_watches(incoming)
        one.exchange(other)
        self._order_expiries()
        for db in (one, other):
            self.tell(Change(db.index, None, None, "swap"))

    def copy(self) -> Keyspace:
        """A keyspace with the same keys, which nobody observes."""
        other = self.lent()
        for db, twin in zip(self.databases, other.databases, strict=True):
            twin.values = {key: duplicate(value) for key, value in db.values.items()}
        return other

    def lent(self) -> Keyspace:
        """Likewise, in less time; this one must not change any more, as the copy shares its values."""
        other = Keyspace(len(self.databases))
        for db, twin in zip(self.databases, other.databases, strict=True):
            twin.values = LentValues(db.values) if db.values else {}
            twin.deadlines, twin.used = db.deadlines.copy(), db.used.copy()
            twin.field_deadlines = db.field_deadlines.copy()
        return other

    def take_over(self, other: Keyspace) -> None:
        """Replaces the contents of all databases with another keyspace's; clients and waiters stay."""
        for db, incoming in zip(self.databases, other.databases, strict=True):
            db.break_all_watches(incoming)
            db.exchange(incoming)
        self._local_expiries.clear()
        self._order_expiries()
        self.tell(Change(ALL_DATABASES, None, None, "replaced"))

    def reset_statistics(self) -> None:
        """CONFIG RESETSTAT: resets the counters."""
        self.hits = self.misses = self.expired = 0

    def next_expiry(self) -> int | None:
        """When the next key is to be deleted, in milliseconds of wall time; None if none will."""
        due = self._due
        while due:
            if self._is_valid(due[0]):
                return due[0][0]
            heapq.heappop(due)
        return None

    def expire(self, most: int) -> None:
        """Deletes up to ``most`` expired keys."""
        for _ in range(most):
            when = self.next_expiry()
            if when is None or when >= self.milliseconds:
                return
            _, index, key = heapq.heappop(self._due)
            db = self.databases[index]
            (db.expire if db.deadlines.get(key) == when else db.expire_fields)(key)


class Database:
    """One numbered database."""

    def __init__(self, keyspace: Keyspace, index: int) -> None:
        self.keyspace = keyspace
        self.index = index
        self.values: dict[bytes, Value] = {}
        self.deadlines: dict[bytes, int] = {}  # when a key expires, in milliseconds of wall time
        self.field_deadlines: dict[bytes, int] = {}  # when the next field of a hash does, or did, or so
        self.used: dict[bytes, int] = {}  # when a key was last used, in the same unit
        self.watchers: dict[bytes, dict[Watcher, bool]] = {}  # and whether the key had expired by then
        self.waiters: dict[bytes, dict[type, Any]] = {}  # queues of ``Waiting``, by the type waited for
        self.observed_keys: Container[bytes] = self.watchers  # the keys whose changes are reported
        self._index: KeyIndex | None = None

    def __len__(self) -> int:
        return len(self.values)

    # Looking up

    def is_alive(self, key: bytes) -> bool:
        """Whether there is a key of that name that has not expired. An expired one stays."""
        return key in self.values and self.deadlines.get(key, math.inf) >= self.keyspace.milliseconds

    def has(self, key: bytes) -> bool:
        """Whether the key exists and has not expired."""
        return key in self.values and not self.has_expired(key)

    def has_expired(self, key: bytes) -> bool:
        """Whether the key exists and has expired; then deletes it, unless ``keeps_expired``."""
        if key not in self.deadlines or self.deadlines[key] >= self.keyspace.milliseconds:
            return False
        if not self.keyspace.keeps_expired:
            self.expire(key)
        return True

    @overload
    def lookup_write(self, key: bytes) -> Value | None: ...
    @overload
    def lookup_write(self, key: bytes, kind: tuple[type[T], ...]) -> T | None: ...

    def lookup_write(self, key: bytes, kind: tuple[type[T], ...] | None = None) -> T | Value | None:
        """The value of a key about to be written, or None. Deletes the key if it has expired.

        Raises:
            CommandError: WRONGTYPE, the value is not of the kind.
        """
        if key in self.deadlines and self.deadlines[key] < self.keyspace.milliseconds:
            if self.keyspace.is_read_only:
                return None
            self.expire(key)
        value = self.values.get(key)
        if value is None:
            return None
        self.used[key] = self.keyspace.wall
        if kind is None or type(value) in kind:
            return value
        raise CommandError(WRONG_TYPE)

    @overload
    def lookup_read(self, key: bytes, *, flags: int = 0) -> Value | None: ...
    @overload
    def lookup_read(self, key: bytes, kind: tuple[type[T], ...], flags: int = 0) -> T | None: ...

    def lookup_read(
        self, key: bytes, kind: tuple[type[T], ...] | None = None, flags: int = 0
    ) -> T | Value | None:
        """The value of a key that is only read, or None; counts a hit or a miss.

        Args:
            key: its name.
            kind: the kind it must have; None for any.
            flags: ``NO_TOUCH`` and ``NO_EVENT``.

        Raises:
            CommandError: WRONGTYPE, the value is not of the kind.
        """
        value = None if key in self.deadlines and self.has_expired(key) else self.values.get(key)
        if value is None:
            self.keyspace.misses += 1
            if self.keyspace.tells_misses and not flags & NO_EVENT:
                self.announce(key, "keymiss")
            return None
        self.keyspace.hits += 1
        if not flags & NO_TOUCH:
            self.used[key] = self.keyspace.wall
        if kind is None or type(value) in kind:
            return value
        raise CommandError(WRONG_TYPE)

    def type_name(self, key: bytes) -> bytes:
        """The name of the key's type, as TYPE returns it."""
        value = self.lookup_read(key, flags=NO_TOUCH)
        return b"none" if value is None else TYPE_NAMES[type(value)]

    def live_keys(self) -> list[bytes]:
        """All keys that have not expired."""
        now = self.keyspace.milliseconds
        deadlines = self.deadlines
        return [key for key in self.values if key not in deadlines or deadlines[key] >= now]

    def key_index(self) -> KeyIndex:
        """An index of the keys for SCAN and RANDOMKEY; built on the first call, kept up to date after it."""
        if self._index is None:
            self._index = KeyIndex(self.values)
        return self._index

    # Changing

    def create(
        self, key: bytes, value: Value, event: str | None, count: int = 1, *, deadline: int | None = None
    ) -> None:
        """Adds a key that does not exist. Clients blocked on it are served after the command.

        If ``event`` is None, the caller reports the change afterwards. For ``count`` see ``signal_modified``.
        """
        self.values[key] = value
        if self._index is not None:
            self._index.add(key)
        self.used[key] = self.keyspace.wall
        if deadline is not None:
            self.deadlines[key] = deadline
            self.keyspace.note_expiry(deadline, self.index, key)
        if key in self.waiters or key in self.observed_keys:
            self._tell(key, "new", modifies=False, is_ready=True)
        if event is not None:
            self.signal_modified(key, event, count)

    def store(self, key: bytes, value: Value, event: str, keep_ttl: bool = False) -> None:
        """Sets a key whether or not it exists. Overwriting a key wakes no blocked client.

        Every SET comes here: Python takes longer to call a function that has keyword-only arguments.
        """
        old = self.lookup_write(key)
        if old is None:
            self.create(key, value, event)
            return
        self.values[key] = value
        if key in self.deadlines and not keep_ttl:
            del self.deadlines[key]
        if type(old) is Stream:
            self.signal_ready(key, event)
        else:
            self.signal_modified(key, event)

    def store_or_delete(self, key: bytes, value: Aggregate, event: str, *, counts_all: bool = False) -> int:
        """Stores an aggregate in place of any old value; deletes the key if it is empty. Returns its size.

        If ``counts_all``, each element counts as a change.
        """
        if value:
            self.store(key, value, event)
            self.keyspace.changes += len(value) - 1 if counts_all else 0
        else:
            self.delete(key)  # an expired one, too, without saying so
        return len(value)

    def change(self, key: bytes, value: Value, event: str) -> None:
        """Gives an existing key another value of the same type; the deadline stays."""
        self.values[key] = value
        self.signal_modified(key, event)

    def told_as_changed(self, key: bytes, event: str) -> None:
        """Reports an unchanged key as modified to WATCH and tracking: LTRIM that removes nothing."""
        if key in self.observed_keys:
            self._tell(key, event, modifies=True)

    def changed_beside(self, key: bytes, event: str = "", count: int = 1, *, is_ready: bool = False) -> None:
        """Counts and reports a change that WATCH ignores, such as what a consumer group has read."""
        self.keyspace.changes += count
        if is_ready or key in self.observed_keys:
            self._tell(key, event, modifies=False, is_ready=is_ready)

    def announce(self, key: bytes, event: str) -> None:
        """Reports an event that is not a change, or a further event of a change already reported."""
        if key in self.observed_keys:
            self._tell(key, event, modifies=False)

    def replace(self, key: bytes, value: Value) -> None:
        """Gives an existing key an equal value in another representation; reports nothing."""
        self.values[key] = value

    def delete(self, key: bytes, event: str | None = "del", count: int = 1) -> bool:
        """Removes a key; returns whether it existed. If ``event`` is None, the caller reports the change."""
        value = self.values.pop(key, None)
        if value is None:
            return False
        if self._index is not None:
            self._index.remove(key)
        self.deadlines.pop(key, None)
        self.used.pop(key, None)
        is_ready = type(value) is Stream  # its blocked readers get an error
        if event is not None:
            (self.signal_ready if is_ready else self.signal_modified)(key, event, count)
        elif is_ready:
            self._tell(key, "", modifies=False, is_ready=True)
        return True

    def shrunk(self, key: bytes, value: Aggregate, event: str, count: int = 1) -> None:
        """Reports that elements were removed from the aggregate at a key; deletes the key if it is empty."""
        if value:
            self.signal_modified(key, event, count)
        else:
            self.delete(key, event + " del", count)

    def set_deadline(self, key: bytes, milliseconds: int, count: int = 1) -> None:
        """Makes an existing key expire at a wall time."""
        self.deadlines[key] = milliseconds
        self.keyspace.note_expiry(milliseconds, self.index, key)
        self.signal_modified(key, "expire", count)

    def remove_deadline(self, key: bytes) -> bool:
        """Makes a key permanent; returns whether it had a deadline."""
        if self.deadlines.pop(key, None) is None:
            return False
        self.signal_modified(key, "persist")
        return True

    def expire(self, key: bytes) -> None:
        """Deletes an expired key; does not count it as a change, since no command made it.

        Listeners are told even if nobody observes the key: no command says what has become of it.
        """
        self.delete(key, event=None)
        self._tell(key, "expired", modifies=True)
        self.keyspace.expired += 1

    def note_fields(self, key: bytes, value: object) -> None:
        """Queues the expiry of a hash's fields, if any expires; a key has got it, or a field its deadline."""
        when = value.next_deadline if isinstance(value, EXPIRING) else None
        if when is not None and self.field_deadlines.get(key) != when:
            self.field_deadlines[key] = when
            self.keyspace.note_expiry(when, self.index, key)

    def expire_fields(self, key: bytes) -> None:
        """Removes the fields of a hash that have expired, and the hash with its last field."""
        self.field_deadlines.pop(key, None)
        value = self.values.get(key)
        if not isinstance(value, EXPIRING):
            return  # another value has this name now
        if gone := value.remove_expired(self.keyspace.milliseconds):
            event = "hexpired" if value else "hexpired del"
            if not value:
                self.delete(key, event=None)
            if key in self.watchers:
                self._break_watches(key, self)
            self.keyspace.tell(Change(self.index, key, type(value) if value else None, event, elements=gone))
        self.note_fields(key, value)

    def clear(self) -> None:
        """Deletes every key; ``Keyspace.flush`` reports it."""
        self.break_all_watches(None)
        self.keyspace.changes += len(self.values)
        self.values = {}  # and no LentValues any more, if it was one
        self.deadlines.clear()
        self.field_deadlines.clear()
        self.used.clear()
        self._index = None

    def exchange(self, other: Database) -> None:
        """Exchanges the contents of two databases."""
        self.values, other.values = other.values, self.values
        self.deadlines, other.deadlines = other.deadlines, self.deadlines
        self.field_deadlines, other.field_deadlines = other.field_deadlines, self.field_deadlines
        self.used, other.used = other.used, self.used
        self._index, other._index = other._index, self._index

    def signal_modified(self, key: bytes, event: str, count: int = 1) -> None:
        """Reports that a key was modified.

        Args:
            key: its name.
            event: the keyspace event, or several separated by spaces; empty for none.
            count: how many changes this is for save points: as many as redis-server counts, which counts the
                elements of most aggregates. 0 if another report of the same command counts it.
        """
        self.keyspace.changes += count
        if key in self.observed_keys:
            self._tell(key, event, modifies=True)

    def signal_ready(self, key: bytes, event: str, count: int = 1) -> None:
        """Reports that a key was modified, and that clients blocked on it may now be served."""
        self.keyspace.changes += count
        self._tell(key, event, modifies=True, is_ready=True)

    def _tell(self, key: bytes, event: str, *, modifies: bool, is_ready: bool = False) -> None:
        if modifies and key in self.watchers:
            self._break_watches(key, self)
        value = self.values.get(key)
        kind = None if value is None else type(value)
        self.keyspace.tell(Change(self.index, key, kind, event, modifies, is_ready))

    # WATCH

    def watch(self, key: bytes, watcher: Watcher) -> None:
        """Makes a client's next EXEC fail if the key is modified before it."""
        self.watchers.setdefault(key, {})[watcher] = self._holds_expired(key)

    def unwatch(self, key: bytes, watcher: Watcher) -> None:
        """Stops watching a key for a client."""
        del self.watchers[key][watcher]
        if not self.watchers[key]:
            del self.watchers[key]

    def expired_since_watch(self, key: bytes, watcher: Watcher) -> bool:
        """Whether a key has expired that was there when a client began to watch it."""
        return self._holds_expired(key) and not self.watchers[key][watcher]

    def _holds_expired(self, key: bytes) -> bool:
        """Whether a key has expired and is still in memory."""
        return key in self.values and not self.is_alive(key)

    def break_all_watches(self, incoming: Database | None) -> None:
        """Makes EXEC fail for clients that watch a key which goes away, or comes with another database.

        Args:
            incoming: the database that replaces this one; None if all keys go.
        """
        for key in self.watchers:
            if key in self.values or (incoming is not None and key in incoming.values):
                self._break_watches(key, incoming, was_missing=key not in self.values)

    def _break_watches(self, key: bytes, after: Database | None, *, was_missing: bool = False) -> None:
        """Makes EXEC fail for clients that watch a key, unless it was missing or expired, and still is.

        Args:
            key: its name.
            after: the database in which it is to be found from now on; None if it is gone.
            was_missing: it was not there.
        """
        is_expired = after is not None and after._holds_expired(key)
        is_alive = after is not None and after.is_alive(key)
        watchers = self.watchers[key]
        for watcher, was_expired in watchers.items():
            if is_alive or not (was_missing or was_expired):
                watcher.watched_key_changed()
            else:
                watchers[watcher] = is_expired


def duplicate(value: Value) -> Value:
    """A copy of a value."""
    return value if isinstance(value, bytes) else value.copy()
