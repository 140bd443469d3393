"""Looking into a server from a test, without a client: its keys, its blocked clients, and what happens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from .engine.hashes import HashValue
from .engine.rqueues import RQueue
from .engine.sets import SetValue
from .engine.sorted_sets import SortedSet
from .engine.stream_nodes import id_text
from .engine.streams import Stream
from .recordings import Recording

if TYPE_CHECKING:
    from .engine.keyspace import Database, Keyspace
    from .engine.waiting import Waiter
    from .tick_runner import TickRunner

__all__ = ["BlockedClient", "Inspected", "Snapshot"]

Entry: TypeAlias = tuple[bytes, list[bytes]]
Content: TypeAlias = bytes | list[bytes] | set[bytes] | dict[bytes, bytes] | dict[bytes, float] | list[Entry]
"""What a key holds: see ``Inspected.content``."""

OWN_THREAD: Final = (
    "the server runs on this very thread, so nothing can happen while it waits; "
    "call wait_until on another thread (trio.to_thread.run_sync)"
)


class BlockedClient(NamedTuple):
    """A client that waits in a command.

    Attributes:
        id: its number (CLIENT ID).
        name: its name (CLIENT SETNAME); empty if it has none.
        command: the command in lower case, such as ``blpop``.
        keys: what it waits for; none while CLIENT PAUSE or a fault holds the command up.
        database: the number of the database of these keys.
    """

    id: int
    name: str
    command: str
    keys: tuple[bytes, ...]
    database: int


class Snapshot:
    """All keys of a server at one moment, to be restored any number of times; ``snapshot`` makes one."""

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace


class Inspected:
    """What a test sees of a server. All methods may be called from any thread."""

    _runner: TickRunner

    def content(self, key: str | bytes, database: int = 0) -> Content | None:
        """What a key holds, as redis-py would return it; None if there is no such key.

        A string is bytes, a list a list, a set a set, a hash a dict, a sorted set a dict from members to
        scores. A stream is a list of its entries, each an id and its fields and values in order; a queue of
        RedisMQ is a list of the messages that were not delivered yet.
        """
        name = key.encode() if isinstance(key, str) else key
        with self._runner.lock:
            db = self._database(database)
            return shown(db.values[name]) if db.is_alive(name) else None

    def dump(self, database: int = 0) -> dict[bytes, Content]:
        """All keys of a database, each with its ``content``."""
        with self._runner.lock:
            db = self._database(database)
            return {key: shown(db.values[key]) for key in db.live_keys()}

    def snapshot(self) -> Snapshot:
        """All keys of all databases as they are now, with their expiry, without scripts and functions."""
        with self._runner.lock:
            return Snapshot(self._runner.engine.keyspace.copy())

    def restore(self, snapshot: Snapshot) -> None:
        """Replaces all keys by those of a snapshot, of this server or of another one.

        Clients stay connected. Those blocked on a key that is there then are served, and transactions that
        watch a key that was or is there fail, as after FLUSHALL and writes. A stopped server stays as it is.

        Raises:
            ValueError: the snapshot is of a server with another number of databases.
            RuntimeError: a script is running, or this process was forked from the server's.
        """
        keyspace = snapshot._keyspace.copy()
        if len(keyspace.databases) != len(self._runner.engine.keyspace.databases):
            raise ValueError("the snapshot is of a server with another number of databases")
        self._runner.act_between_commands(lambda now: self._runner.engine.replace_keys(keyspace, now))

    def blocked_clients(self, key: str | bytes | None = None) -> list[BlockedClient]:
        """The clients that wait in a command, those that have waited longest first.

        Args:
            key: only clients that wait for this key, in the order in which they will be served; None for all.
        """
        name = key.encode() if isinstance(key, str) else key
        with self._runner.lock:
            waiting = self._runner.engine.waiting.in_order()
            return [as_blocked(waiter) for waiter in waiting if name is None or name in waiter.keys]

    def wait_until(self, condition: Callable[[], object], timeout: float = 10.0) -> None:
        """Waits until a condition holds, which is looked at whenever the server has done something.

        So a test need not sleep::

            server.wait_until(lambda: server.blocked_clients("jobs"))

        Args:
            condition: returns something true when it holds. It may use this server, and must not block.
            timeout: how many seconds of real time to wait.

        Raises:
            TimeoutError: it did not hold in time; the message tells who was connected and blocked.
            RuntimeError: the server has stopped, runs on this very thread, or in the process that this one
                was forked from.
        """
        runner = self._runner
        runner.check_is_here()
        if runner.is_own_thread:
            raise RuntimeError(OWN_THREAD)
        if not runner.wait_for(condition, timeout):
            if not runner.is_open:
                raise RuntimeError("the server has stopped")
            connected = len(runner.engine.sessions)
            blocked = "".join(f"\n  {each}" for each in self.blocked_clients()) or " none"
            raise TimeoutError(f"waited {timeout:g} s; {connected} clients are connected; blocked:{blocked}")

    def record(self) -> Recording:
        """Records every request and its reply from now on, until ``stop`` or the end of a ``with`` block.

        ::

            with server.record() as calls:
                ...
            assert [call.text for call in calls] == ["LPUSH jobs a", "BRPOP jobs 0"]
        """
        recording = Recording(self._runner)
        recording.start()
        return recording

    def _database(self, number: int) -> Database:
        databases = self._runner.engine.keyspace.databases
        if not 0 <= number < len(databases):
            raise ValueError(f"this server has the databases 0 to {len(databases) - 1}, and not {number}")
        return databases[number]


def as_blocked(waiter: Waiter) -> BlockedClient:
    session = waiter.session
    command = session.last_command.name.decode() if session.last_command else ""
    return BlockedClient(
        session.id, session.name.decode(errors="replace"), command, waiter.keys, waiter.database
    )


def shown(value: Any) -> Content:
    return SHOWN[type(value)](value)


SHOWN: Final[dict[type, Callable[[Any], Content]]] = {
    bytes: bytes,
    bytearray: bytes,
    deque: list,
    SetValue: lambda value: set(value.members),
    HashValue: lambda value: dict(value.fields),
    SortedSet: lambda value: dict(value.scores),
    Stream: lambda value: [(id_text(number), list(content)) for number, content in value.walk()],
    RQueue: lambda value: [payload for _, payload in value.undelivered],
}
