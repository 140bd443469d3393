"""``Queue``: a bounded, distributed queue on any Redis server, with the methods of ``queue.Queue``.

Rules:
    - Making a ``Queue`` object neither connects nor creates anything. ``create`` creates.
    - Every method is one operation of ``pressure.definition``, run by the synchronous driver.
    - One object may be used by several threads at once; each operation has a connection of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from pressure.arguments import settings
from pressure.codecs import Codec
from pressure.definition import Definition
from pressure.driver import Driver, Interrupt, Waiting
from pressure.errors import QueueClosedError
from pressure.identity import client_id
from pressure.interrupts import HeldInterrupt
from pressure.keys import Keys
from pressure.lease import ThreadKeeper
from pressure.protocol import Diagnosis, Operation, RepairReport, Stats
from pressure.receiving import Receiving

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
        url: ``redis://``, ``rediss://`` or ``unix://`` URL of the server; or what finds it:
            ``redis+sentinel://host:port,host:port/name/db`` for the master that sentinels call ``name``,
            ``redis+cluster://host:port,host:port`` for the node of a cluster that has the queue.
        client: A ``redis.Redis`` whose settings to use, one of ``Sentinel.master_for`` too; our own
            connections are made from them.
        host: The server's name or address.
        port: Its port.
        db: Its database number.
        prefix: What every key starts with.
        scripts: Whether to run scripts where the server lets us. Without them every operation takes more
            round trips, and the bound may be passed by one while puts and gets cross.
        codec: What turns objects into values and back: ``"json"``, ``"pickle"`` (which runs what anybody who
            can put wants run, and so warns by ``UnsafeCodecWarning``), ``"msgpack"`` (which needs that
            package), or an object with ``encode`` and ``decode``. Without one values are bytes.
        lease: For how many seconds a role is ours when we take it, unless that is renewed, which is done in
            the background. A client that hangs, or that cannot reach the server, is told apart from one that
            works for long by that: its lease runs out, then ``repair`` of a queue object with a lease frees
            its role whoever is connected, and what the client does next fails with ``QueueInUseError``.

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
        scripts: bool = True,
        codec: Codec | str | None = None,
        lease: float | None = None,
    ) -> None:
        where = settings(url=url, client=client, host=host, port=port, db=db, prefix=prefix)
        self.keys = Keys.of(name, where.prefix)
        self._define = Definition(self.keys, client_id, scripts=scripts, codec=codec, lease=lease)
        self._keeper = None if lease is None else ThreadKeeper(lease, self._renew)
        self._define.keeper = self._keeper
        self.interrupt: Interrupt | None = None
        self._driver = Driver(where, self.keys)

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

    def _renew(self, names: Collection[bytes]) -> None:
        self._driver.run(self._define.renew(names))

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
        value: Any,
        block: bool = True,
        timeout: float | None = None,
        *,
        overfill: bool = False,
    ) -> None:
        """Put a value at the end of the queue (pressure protocol 0.15, Put).

        Args:
            value: The value, bytes-like; ``str`` is sent as UTF-8. With a codec, what it takes.
            block: Whether to wait, for other producers and for room.
            timeout: How long to wait in all, in seconds; None for ever.
            overfill: Do not wait for room: put the value onto a full queue too. For extraordinary
                situations, such as a client that has to hand over its data before it ends.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted, perhaps while waiting.
            QueueClosedError: It is closed.
            QueueInUseError: Another client was producing all the time.
            QueueFullError: There was no room all the time.
            TypeError: The value is not bytes-like or ``str``, or not what the codec takes; nothing was sent.
            ValueTooLongError: The value has more than 512 MiB, which no Redis takes; nothing was sent.
        """
        self._run(self._define.put(value, block, timeout, overfill))

    def put_nowait(self, value: Any, *, overfill: bool = False) -> None:
        """``put`` without waiting (pressure protocol 0.15, Put (Non-Blocking))."""
        self.put(value, block=False, overfill=overfill)

    def put_many(
        self,
        values: Iterable[Any],
        block: bool = True,
        timeout: float | None = None,
        *,
        overfill: bool = False,
    ) -> None:
        """Put values in a few round trips, in their order and with no other producer's between them.

        To everybody else it is one ``put`` after the other: as many are put at once as there is room for.

        Args:
            values: The values, as ``put`` takes them.
            block: Whether to wait, for other producers and for room.
            timeout: How long to wait in all, in seconds; None for ever.
            overfill: Do not wait for room.

        Raises:
            PressureError: As in ``put``; its attribute ``done`` says how many of the values were put, the
                first ones. Of an ``OutcomeUnknownError`` it is not known.
            TypeError: One of the values is not what ``put`` takes; nothing was sent.
            ValueTooLongError: One of them has more than 512 MiB; nothing was sent.
        """
        self._run(self._define.put_many(values, block, timeout, overfill))

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the value at the front (pressure protocol 0.15, Get); from a closed queue, what is left.

        Args:
            block: Whether to wait, for other consumers and for a value.
            timeout: How long to wait in all, in seconds; None for ever.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted, perhaps while waiting.
            QueueClosedError: It is closed and nothing is left.
            QueueInUseError: Another client was consuming all the time.
            QueueEmptyError: There was no value all the time.
            CodecError: The value is not what the codec makes; the error has it.
        """
        return self._run(self._define.get(block, timeout))

    def get_nowait(self) -> Any:
        """``get`` without waiting (pressure protocol 0.15, Get (Non-Blocking))."""
        return self.get(block=False)

    def get_many(self, max: int, block: bool = True, timeout: float | None = None) -> list[Any]:  # noqa: A002
        """Take the values at the front in one round trip or a few: what is there, and one at least.

        Of several values no more are taken than have 16 MiB together (without scripts about as many). To
        everybody else it is one ``get`` after the other. A client that dies takes all that it has got
        with it.

        Args:
            max: How many values to take at most.
            block: Whether to wait, for other consumers and for a first value.
            timeout: How long to wait in all, in seconds; None for ever.

        Raises:
            PressureError: As in ``get``.
            ValueError: ``max`` is below 1.
        """
        return self._run(self._define.get_many(max, block, timeout))

    def receive(self, block: bool = True, timeout: float | None = None) -> Receiving:
        """Take the value at the front for the length of a ``with`` block; reliably.

        The message is removed when the block ends well. When it ends by an exception the message goes back
        to the front, and so it does when ``repair`` finds that its consumer has died: then it will be
        redelivered. Until the block ends nobody else consumes; to other clients it is a Get that takes long.

            with queue.receive() as message:
                work_on(message.value)

        A message that can never be done with would come for ever: ``message.reject()`` keeps it apart.

        Args:
            block: Whether to wait, for other consumers and for a value.
            timeout: How long to wait in all, in seconds; None for ever.

        Raises:
            PressureError: As in ``get``, when the block is entered. When it is left, ``QueueInUseError`` says
                that the role was taken away meanwhile, and ``OutcomeUnknownError`` that the connection was
                lost: the message may come again.
        """
        return Receiving(lambda: self._define.receive(block, timeout), self._run)

    def rejected(self, max: int) -> list[bytes]:  # noqa: A002
        """The messages that were rejected, the oldest first, which all stay where they are.

        They are bytes, with a codec too: it may be what they were rejected for.

        Args:
            max: How many to look at, at most; fewer are given if they have more than 16 MiB together.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            ValueError: ``max`` is below 1.
        """
        return self._run(self._define.rejected(max))

    def redrive(self, max: int, block: bool = True, timeout: float | None = None) -> int:  # noqa: A002
        """Put messages that were rejected at the end of the queue again, the oldest first.

        A client that dies meanwhile may leave one both in the queue and among the rejected.

        Args:
            max: How many to put, at most.
            block: Whether to wait, for other producers and for room.
            timeout: How long to wait in all, in seconds; None for ever.

        Returns:
            How many were put.

        Raises:
            PressureError: As in ``put``; its attribute ``done`` says how many were put before.
            ValueError: ``max`` is below 1.
        """
        return self._run(self._define.redrive(max, block, timeout))

    def peek(self) -> Any:
        """The value that comes next, which stays in the queue.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            QueueEmptyError: There is none.
            CodecError: The value is not what the codec makes.
        """
        return self._run(self._define.peek())

    def peek_many(self, max: int) -> list[Any]:  # noqa: A002
        """The values that come next, the next one first, which all stay in the queue.

        Args:
            max: How many values to look at, at most; fewer are given if they have more than 16 MiB together.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            CodecError: One of the values is not what the codec makes.
            ValueError: ``max`` is below 1.
        """
        return self._run(self._define.peek_many(max))

    def stats(self) -> Stats:
        """The queue at one moment: length, bound, counters, and who is at work.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        return self._run(self._define.stats())

    def holder(self, role: str) -> bytes | None:
        """Who is the ``"producer"`` or the ``"consumer"`` at this moment.

        Returns:
            Its identifier; None if the role is free, empty if it is taken by somebody who has not said who.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            ValueError: There is no such role.
        """
        return self._run(self._define.holder(role))

    def __iter__(self) -> Iterator[Any]:
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

    def doctor(self) -> Diagnosis:
        """Examine the queue, without changing anything: who holds which role, and what is wrong.

        Problems are what ``repair`` would mend, whatever breaks the invariant, and the likely deadlock: a
        producer that waits for room while nobody consumes.

        Raises:
            QueueDoesNotExistError: There is nothing of it.
        """
        return self._run(self._define.doctor())

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
        if self._keeper is not None:
            self._keeper.stop()
        self._driver.connections.disconnect()

    def __enter__(self) -> Queue:
        """The object itself; leaving the block disconnects, and leaves the queue as it is."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disconnect()
