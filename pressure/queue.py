"""``Queue``: a bounded, distributed queue on any Redis server, with the methods of ``queue.Queue``.

Rules:
    - Making a ``Queue`` object neither connects nor creates anything. ``create`` creates.
    - Every method is one operation of ``pressure.definition``, run by the synchronous driver.
    - One object may be used by several threads at once; each operation has a connection of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, TypeVar

from pressure.connection import settings
from pressure.definition import Definition, Value
from pressure.driver import Driver, Interrupt, Waiting
from pressure.errors import QueueClosedError
from pressure.identity import client_id
from pressure.interrupts import HeldInterrupt
from pressure.keys import Keys
from pressure.protocol import Operation, RepairReport

T = TypeVar("T")


class Queue:
    """A queue of byte strings, shared by every client of a Redis server (pressure protocol 0.15).

    At most one client is producing and one consuming at any moment; others wait their turn. ``get``
    delivers at most once: a consumer that dies between taking a value and returning it takes that value
    with it.

    Every method may also raise ``ConnectionFailedError`` (the server cannot be reached; nothing was changed),
    ``OutcomeUnknownError`` (it was lost in the middle), ``ServerReplyError`` (it refused a command) and, on
    a Redis Cluster, ``ClusterError`` (the name has no hash tag).

    Args:
        name: The queue's name; any bytes, ``str`` is UTF-8.
        url: ``redis://``, ``rediss://`` or ``unix://`` URL of the server.
        client: A ``redis.Redis`` whose settings to use; our own connections are made from them.
        host: The server's name or address.
        port: Its port.
        db: Its database number.
        prefix: What every key starts with.

    What is left out comes from ``REDIS_URL``, else ``REDIS_SERVER``, ``REDIS_PORT`` and ``REDIS_DB``, and
    ``PRESSURE_PREFIX``; else it is 127.0.0.1, 6379, 0 and ``__pressure__``.

    Attributes:
        interrupt: Asked before each wait, about once a second; what it returns, if not None, is raised by
            the operation that waits, after it gave its role back. For programs that must be able to stop a
            waiting thread.

    Raises:
        ValueError: Arguments that exclude each other or cannot be meant.
        TypeError: A name that is neither ``bytes`` nor ``str``, or a ``client`` that is no redis-py client.
    """

    def __init__(
        self,
        name: bytes | str,
        *,
        url: str | None = None,
        client: Any = None,
        host: str | None = None,
        port: int | None = None,
        db: int | None = None,
        prefix: bytes | str | None = None,
    ) -> None:
        where = settings(url=url, client=client, host=host, port=port, db=db, prefix=prefix)
        self.keys = Keys.of(name, where.prefix)
        self._define = Definition(self.keys, client_id)
        self.interrupt: Interrupt | None = None
        self._driver = Driver(where)

    @property
    def name(self) -> bytes:
        """The queue's name."""
        return self.keys.name

    def __repr__(self) -> str:
        where = self._driver.connections.settings.address
        return f"<{type(self).__qualname__} {self.keys} at {where}>"

    def _run(self, operation: Operation[T]) -> T:
        waiting = Waiting(self._driver.connections)
        with HeldInterrupt(waiting.end) as held:
            return self._driver.run(
                operation, lambda: held.pending() or (self.interrupt and self.interrupt()), waiting
            )

    def create(self, bound: int = 0) -> None:
        """Create the queue (pressure protocol 0.15, Create), in one step that either happens or does not.

        Args:
            bound: How many values it may hold; 0 means any number.

        Raises:
            QueueAlreadyExistsError: It exists, an unfinished delete left keys of it, or its keys would be
                taken for those of another queue (``jobs:closed`` beside ``jobs``).
            ValueError: The bound is not an integer of 0 or more.
        """
        self._run(self._define.create(bound))

    def exists(self) -> bool:
        """Whether the queue was created and not deleted (pressure protocol 0.15, Exists)."""
        return self._run(self._define.exists())

    def length(self) -> int:
        """How many values are in the queue at this moment (pressure protocol 0.15, Length).

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        return self._run(self._define.length())

    def closed(self) -> bool:
        """Whether the queue is closed, which it then is for ever (pressure protocol 0.15, Closed).

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        return self._run(self._define.closed())

    def put(
        self,
        value: Value,
        block: bool = True,
        timeout: float | None = None,
        *,
        overfill: bool = False,
    ) -> None:
        """Put a value at the end of the queue (pressure protocol 0.15, Put).

        Args:
            value: The value; ``str`` is sent as UTF-8.
            block: Whether to wait, for other producers and for room.
            timeout: How long to wait in all, in seconds; None for ever.
            overfill: Do not wait for room: put the value onto a full queue too. For extraordinary
                situations, such as a client that has to hand over its data before it ends.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted, perhaps while waiting.
            QueueClosedError: It is closed.
            QueueInUseError: Another client was producing all the time.
            QueueFullError: There was no room all the time.
            TypeError: The value is not bytes-like or ``str``; nothing was sent.
        """
        self._run(self._define.put(value, block, timeout, overfill))

    def put_nowait(self, value: Value, *, overfill: bool = False) -> None:
        """``put`` without waiting (pressure protocol 0.15, Put (Non-Blocking))."""
        self.put(value, block=False, overfill=overfill)

    def get(self, block: bool = True, timeout: float | None = None) -> bytes:
        """Take the value at the front (pressure protocol 0.15, Get); from a closed queue, what is left.

        Args:
            block: Whether to wait, for other consumers and for a value.
            timeout: How long to wait in all, in seconds; None for ever.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted, perhaps while waiting.
            QueueClosedError: It is closed and nothing is left.
            QueueInUseError: Another client was consuming all the time.
            QueueEmptyError: There was no value all the time.
        """
        return self._run(self._define.get(block, timeout))

    def get_nowait(self) -> bytes:
        """``get`` without waiting (pressure protocol 0.15, Get (Non-Blocking))."""
        return self.get(block=False)

    def __iter__(self) -> Iterator[bytes]:
        """The values, each taken from the queue, until it is closed and empty.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        while True:
            try:
                value = self.get()
            except QueueClosedError:
                return
            yield value

    def close(self, timeout: float | None = None) -> None:
        """Close the queue: nothing can be put, what is left can be got (pressure protocol 0.15, Close).

        This is not about connections; see ``disconnect``.

        Args:
            timeout: How long to wait for other producers, in seconds; None for ever.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            QueueClosedError: It is closed already.
            QueueInUseError: Another client was producing all the time.
        """
        self._run(self._define.close(timeout))

    def wait_closed(self, timeout: float | None = None) -> bool:
        """Wait until the queue is closed.

        Args:
            timeout: How long to wait, in seconds; None for ever.

        Returns:
            True when it is closed, False when it was not in that time.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted, perhaps while waiting.
        """
        return self._run(self._define.wait_closed(timeout))

    def delete(self, timeout: float | None = None) -> None:
        """Delete the queue and its values (pressure protocol 0.15, Delete); or finish an interrupted delete.

        Clients that wait in ``put``, ``get`` or ``close`` are told that it does not exist; those at work
        end first.

        Args:
            timeout: How long to wait for those at work, in seconds; None for ever.

        Raises:
            QueueDoesNotExistError: There is nothing of it.
            QueueInUseError: Others were at work all the time. For everybody else the queue is gone;
                deleting it again, or repairing it, removes what is left.
        """
        self._run(self._define.delete(timeout))

    def repair(self, force: bool = False, role: str | None = None) -> RepairReport:
        """Free what a client that died has left taken, and finish a create or delete that stopped half-way.

        Without force a role is freed only when its holder is dead for certain: its identifier has our form,
        nothing has changed in five seconds, its process has no connection to the server, and the server has
        been up for a minute. When a role is taken this takes those five seconds.

        Args:
            force: Free the roles whoever holds them. A holder that is alive then fails in what it is doing.
            role: Free this one only, ``"producer"`` or ``"consumer"``: with force, the one whose holder is
                known to be dead.

        Returns:
            What was done, and what was left alone and why.

        Raises:
            QueueDoesNotExistError: There is nothing of it.
            ValueError: There is no such role.
        """
        return self._run(self._define.repair(force, role))

    def qsize(self) -> int:
        """``length`` under the standard library's name."""
        return self.length()

    def empty(self) -> bool:
        """Whether there is no value in the queue at this moment.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        return self.length() == 0

    def full(self) -> bool:
        """Whether there is no room at this moment; never so without a bound.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        count, bound = self._run(self._define.length_and_bound())
        return 0 < bound <= count

    def disconnect(self) -> None:
        """Close this object's idle connections. The queue is not touched, and the object can be used on."""
        self._driver.connections.disconnect()

    def __enter__(self) -> Queue:
        """The object itself; leaving the block disconnects, and leaves the queue as it is."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disconnect()
