"""Looking into a server of this process, without a client: keys, blocked clients, and what happens."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from ..arguments import check_condition, kind
from ..engine.own_requests import run_own
from ..ticks.tick_runner import HAS_STOPPED
from .assertions import Assertions
from .contents import Entry, entry_of

if TYPE_CHECKING:
    from ..engine.clients.session import Session
    from ..engine.clients.waiting import Waiter
    from ..engine.keyspace.keyspace import Database, Keyspace
    from ..recordings import Recording
    from ..ticks.tick_runner import TickRunner

__all__ = ["BlockedClient", "ConnectedClient", "Inspected", "Snapshot"]

OWN_THREAD: Final = (
    "the server runs on this very thread, so nothing can happen while it waits; "
    "call wait_until on another thread (trio.to_thread.run_sync)"
)


OF_EVENT_LOOP: Final = (
    "\nthe tasks of the event loop on this thread stood still meanwhile; "
    "use await asyncio.to_thread(server.wait_until, condition)"
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


class ConnectedClient(NamedTuple):
    """A client that is connected.

    Attributes:
        id: its number (CLIENT ID).
        name: its name (CLIENT SETNAME); empty if it has none.
        command: its last command in lower case; empty if it has sent none.
        database: the number of the database that it has selected.
    """

    id: int
    name: str
    command: str
    database: int


class Snapshot:
    """All keys of a server at one moment, to be restored any number of times; ``snapshot`` makes one."""

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace


class Inspected(Assertions):
    """What a test sees of a server. All methods may be called from any thread.

    They raise ``RuntimeError`` when the server has stopped.
    """

    _runner: TickRunner

    def _entry(self, key: bytes, database: int) -> Entry | None:
        with self._runner.looked_into():
            db = self._database(database)
            return entry_of(key, db.values[key], db.deadlines.get(key)) if db.is_alive(key) else None

    def _entries(self, database: int) -> list[Entry]:
        with self._runner.looked_into():
            db = self._database(database)
            return [entry_of(key, db.values[key], db.deadlines.get(key)) for key in db.live_keys()]

    def _write(self, requests: list[list[bytes]], database: int) -> None:
        self._database(database)
        self._runner.act_between_commands(lambda now: run_own(self._runner.engine, database, requests, now))

    def snapshot(self) -> Snapshot:
        """All keys of all databases as they are now, with their expiry, without scripts and functions."""
        with self._runner.looked_into() as engine:
            return Snapshot(engine.keyspace.copy())

    def restore(self, snapshot: Snapshot) -> None:
        """Replaces all keys by those of a snapshot, of this server or of another one.

        Clients stay connected. Those blocked on a key that is there then are served, and transactions that
        watch a key that was or is there fail, as after FLUSHALL and writes.

        Raises:
            ValueError: the snapshot is of a server with another number of databases.
            RuntimeError: a script is running, the server has stopped, or this process was forked from the
                server's.
        """
        if not isinstance(snapshot, Snapshot):
            raise TypeError(f"restore() takes what snapshot() returned, not {kind(snapshot)}")
        keyspace = snapshot._keyspace.lent()
        if len(keyspace.databases) != len(self._runner.engine.keyspace.databases):
            raise ValueError("the snapshot is of a server with another number of databases")
        self._runner.act_between_commands(lambda now: self._runner.engine.replace_keys(keyspace, now))

    def connected_clients(self) -> list[ConnectedClient]:
        """The clients that are connected, those that have connected first at the beginning.

        Those of ``client`` and ``async_client`` are among them from their first command on. Replicas are not.
        """
        with self._runner.looked_into() as engine:
            return [
                ConnectedClient(each.id, name_of(each), command_of(each), each.db.index)
                for each in engine.sessions.values()
                if each.replica is None
            ]

    def blocked_clients(self, key: str | bytes | None = None) -> list[BlockedClient]:
        """The clients that wait in a command, those that have waited longest first.

        Args:
            key: only clients that wait for this key, in the order in which they will be served; None for all.
        """
        name = key.encode() if isinstance(key, str) else key
        with self._runner.looked_into() as engine:
            waiting = engine.waiting.in_order()
            return [as_blocked(waiter) for waiter in waiting if name is None or name in waiter.keys]

    def wait_until(self, condition: Callable[[], object], timeout: float = 10.0) -> None:
        """Waits until a condition holds, which is looked at whenever the server has done something.

        So a test need not sleep::

            server.wait_until(lambda: server.blocked_clients("jobs"))
            server.wait_until(lambda: len(server.connected_clients()) == 3)

        On the thread of an event loop, the loop's tasks stand still meanwhile: there, await it on another
        thread with ``asyncio.to_thread(server.wait_until, condition)``, or ``anyio.to_thread.run_sync``.

        Args:
            condition: returns something true when it holds. It may use this server, and must not block.
            timeout: how many seconds of real time to wait.

        Raises:
            TimeoutError: it did not hold in time; the message tells who was connected and blocked.
            RuntimeError: the server has stopped, runs on this very thread, or in the process that this one
                was forked from.
        """
        check_condition(condition)
        runner = self._runner
        runner.check_is_here()
        if runner.is_own_thread:
            raise RuntimeError(OWN_THREAD)
        if not runner.wait_for(condition, timeout):
            if not runner.is_open:
                raise RuntimeError(HAS_STOPPED)
            connected = len(self.connected_clients())
            blocked = "".join(f"\n  {each}" for each in self.blocked_clients()) or " none"
            told = f"waited {timeout:g} s; {connected} clients are connected; blocked:{blocked}"
            raise TimeoutError(told + (OF_EVENT_LOOP if is_in_event_loop() else ""))

    def record(self, most: int | None = None) -> Recording:
        """Records every request and its reply from now on, until ``stop`` or the end of a ``with`` block.

        ::

            with server.record() as calls:
                ...
            assert [call.text for call in calls] == ["LPUSH jobs a", "BRPOP jobs 0"]

        Args:
            most: how many calls are kept: the last ones; None for all.
        """
        from ..recordings import Recording  # few servers are recorded

        recording = Recording(self._runner, most)
        recording.start()
        return recording

    def _database(self, number: int) -> Database:
        databases = self._runner.engine.keyspace.databases
        if not 0 <= number < len(databases):
            raise ValueError(f"this server has the databases 0 to {len(databases) - 1}, and not {number}")
        return databases[number]


def as_blocked(waiter: Waiter) -> BlockedClient:
    session = waiter.session
    return BlockedClient(session.id, name_of(session), command_of(session), waiter.keys, waiter.database)


def name_of(session: Session) -> str:
    return session.name.decode(errors="replace")


def command_of(session: Session) -> str:
    return session.last_command.name.decode() if session.last_command else ""


def is_in_event_loop() -> bool:
    """Whether this thread runs an event loop of asyncio, whose tasks stand still while it waits."""
    running = getattr(sys.modules.get("asyncio"), "_get_running_loop", lambda: None)
    return running() is not None
