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
from pressure.driver import Driver, Interrupt
from pressure.errors import QueueClosedError
from pressure.keys import Keys
from pressure.lease import ThreadKeeper
from pressure.protocol import Diagnosis, Operation, RepairReport, Stats
from pressure.receiving import Receiving

T = TypeVar("T")


class Queue:
    """A queue of byte strings, shared by every client of a Redis server (pressure protocol 0.15).

    One client produces and one consumes at any moment: each holds a role, and other clients wait until it is
    free. ``get`` delivers at most once: a consumer that dies after the server has removed a value loses that
    value. ``receive`` delivers at least once.

    Every method may also raise ``ConnectionFailedError`` (the server cannot be reached; nothing was changed),
    ``OutcomeUnknownError`` (the connection was lost during the operation), ``ServerReplyError`` (the server
    refused a command) and, on a Redis Cluster, ``ClusterError`` (the name has no hash tag).

    Args:
        name: The queue's name: any bytes; a ``str`` is encoded as UTF-8.
        url: The server's URL: ``redis://``, ``rediss://`` (TLS) or ``unix://``;
            ``redis+sentinel://host:port,host:port/name/db`` for the master that Sentinels know as ``name``;
            ``redis+cluster://host:port,host:port`` for the node of a cluster that has the queue.
        client: A ``redis.Redis``, also one of ``Sentinel.master_for``, whose settings to use. The queue makes
            its own connections with these settings.
        host: The server's host name or address.
        port: The server's port.
        db: The number of the database.
        prefix: What the names of all keys begin with.
        scripts: Whether to use Lua scripts where the server allows them. Without scripts every operation
            takes more round trips, and concurrent puts and gets may exceed the bound by one.
        codec: Encodes objects as values and decodes them: ``"json"``, ``"msgpack"`` (needs that package),
            ``"pickle"`` (lets everybody who can put run code in this process, and so warns with
            ``UnsafeCodecWarning``), or an object with ``encode`` and ``decode``. Default: values are bytes.
        lease: For how many seconds this client holds a role; a background thread or task renews the lease
            while the client works. When a client hangs or cannot reach the server, its lease runs out. Then
            ``repair`` of a queue object with a lease frees the role even if that client is still connected,
            and the client's next operation fails with ``QueueInUseError``. Default: no lease.

    The environment gives what is not passed: ``REDIS_URL``, or else ``REDIS_SERVER``, ``REDIS_PORT`` and
    ``REDIS_DB``; and ``PRESSURE_PREFIX``. The defaults are 127.0.0.1, 6379, 0 and ``__pressure__``.

    Attributes:
        interrupt: A function that is called before each wait, about once a second. If it returns an
            exception, the waiting operation gives its role back and raises that exception. It lets a program
            stop a thread that waits.

    Raises:
        ValueError: An argument has a wrong value, or excludes another.
        TypeError: An argument has a wrong type, such as a name that is neither ``bytes`` nor ``str``.
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
        self._define = Definition(self.keys, scripts=scripts, codec=codec, lease=lease)
        self._keeper = None if lease is None else ThreadKeeper(lease, self._renew)
        self.interrupt: Interrupt | None = None
        self._driver = Driver(where, self.keys, self._keeper)

    @property
    def name(self) -> bytes:
        """The queue's name."""
        return self.keys.name

    def __repr__(self) -> str:
        where = self._driver.connections.settings.address
        return f"<{type(self).__qualname__} {self.keys} at {where}>"

    def _run(self, operation: Operation[T]) -> T:
        return self._driver.run(operation, self._wish)

    def _wish(self) -> BaseException | None:
        return None if self.interrupt is None else self.interrupt()

    def _renew(self, names: Collection[bytes]) -> None:
        assert self._keeper is not None
        self._driver.aside(self._define.renew(names), self._keeper.pause)

    def create(self, bound: int = 0) -> None:
        """Create the queue (pressure protocol 0.15, Create), in one step that either happens or does not.

        Args:
            bound: How many values the queue may hold; 0 means any number.

        Raises:
            QueueAlreadyExistsError: The queue exists, an unfinished delete left one of its keys, or it would
                share a key with another queue (``jobs:closed`` beside ``jobs``).
            ValueError: The bound is not an integer from 0 to 2**63 - 1.
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
            block: Whether to wait for the producer role and for room.
            timeout: Longest time to wait in all, in seconds; None for no limit.
            overfill: Do not wait for room: put the value even if the queue is full. For emergencies, such as
                a client that has to hand over its data before it ends.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted, perhaps while waiting.
            QueueClosedError: It is closed.
            QueueInUseError: Another client held the producer role until the timeout.
            QueueFullError: The queue was full until the timeout.
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

        To other clients it looks like one ``put`` after the other: as many values are put at once as there is
        room for.

        Args:
            values: The values, as ``put`` takes them.
            block: Whether to wait for the producer role and for room.
            timeout: Longest time to wait in all, in seconds; None for no limit.
            overfill: Do not wait for room.

        Raises:
            PressureError: As in ``put``; its attribute ``done`` says how many of the values were put, the
                first ones; if the connection was lost (``OutcomeUnknownError``), how many at least.
            TypeError: One of the values is not what ``put`` takes; nothing was sent.
            ValueTooLongError: One of them has more than 512 MiB; nothing was sent.
        """
        self._run(self._define.put_many(values, block, timeout, overfill))

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the value at the front of the queue (pressure protocol 0.15, Get).

        A closed queue still delivers the values that are left in it.

        Args:
            block: Whether to wait for the consumer role and for a value.
            timeout: Longest time to wait in all, in seconds; None for no limit.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted, perhaps while waiting.
            QueueClosedError: It is closed and empty.
            QueueInUseError: Another client held the consumer role until the timeout.
            QueueEmptyError: The queue was empty until the timeout.
            CodecError: The codec cannot decode the value; the error has its bytes.
        """
        return self._run(self._define.get(block, timeout))

    def get_nowait(self) -> Any:
        """``get`` without waiting (pressure protocol 0.15, Get (Non-Blocking))."""
        return self.get(block=False)

    def get_many(self, max: int, block: bool = True, timeout: float | None = None) -> list[Any]:  # noqa: A002
        """Take up to ``max`` values from the front of the queue, at least one, in few round trips.

        Several values have 16 MiB together at most (about that without scripts), so that fewer than ``max``
        may be returned. To other clients it looks like one ``get`` after the other. A client that dies
        loses all values that it has taken.

        Args:
            max: How many values to take at most.
            block: Whether to wait for the consumer role and for a first value.
            timeout: Longest time to wait in all, in seconds; None for no limit.

        Raises:
            PressureError: As in ``get``.
            ValueError: ``max`` is below 1.
        """
        return self._run(self._define.get_many(max, block, timeout))

    def receive(self, block: bool = True, timeout: float | None = None) -> Receiving:
        """Take the value at the front for a ``with`` block, and acknowledge it at the end of the block.

        If the block ends without an exception, the message is removed from the queue. If the block raises,
        the message goes back to the front. If the client dies, ``repair`` puts the message back. In both
        cases it will be redelivered, so delivery is at least once. This client holds the consumer role until
        the block ends: other consumers wait.

            with queue.receive() as message:
                work_on(message.value)

        A message that fails each time would be redelivered for ever: ``message.reject()`` sets it aside.

        Args:
            block: Whether to wait for the consumer role and for a value.
            timeout: Longest time to wait in all, in seconds; None for no limit.

        Raises:
            PressureError: As in ``get``, when the block begins. When it ends, ``QueueInUseError`` means that
                a repair has freed the role meanwhile, and ``OutcomeUnknownError`` that the connection was
                lost; in both cases the message may be redelivered.
        """
        return Receiving(
            lambda: self._define.receive(block, timeout), lambda: self._driver.checkout(self._wish)
        )

    def rejected(self, max: int) -> list[bytes]:  # noqa: A002
        """The rejected messages, the oldest first; they stay where they are.

        They are returned as bytes even if the queue has a codec, since it may have failed to decode them.

        Args:
            max: How many to look at, at most; fewer are given if they have more than 16 MiB together.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            ValueError: ``max`` is below 1.
        """
        return self._run(self._define.rejected(max))

    def redrive(self, max: int, block: bool = True, timeout: float | None = None) -> int:  # noqa: A002
        """Put rejected messages at the end of the queue again, the oldest first.

        If the client dies during the call, one message may be both in the queue and among the rejected.

        Args:
            max: How many to put, at most.
            block: Whether to wait for the producer role and for room.
            timeout: Longest time to wait in all, in seconds; None for no limit.

        Returns:
            How many were put.

        Raises:
            PressureError: As in ``put``; its attribute ``done`` says how many were put before.
            ValueError: ``max`` is below 1.
        """
        return self._run(self._define.redrive(max, block, timeout))

    def peek(self) -> Any:
        """The value that ``get`` would return next; it stays in the queue.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            QueueEmptyError: The queue is empty.
            CodecError: The codec cannot decode the value.
        """
        return self._run(self._define.peek())

    def peek_many(self, max: int) -> list[Any]:  # noqa: A002
        """The next values, the first one first; they stay in the queue.

        Args:
            max: How many values to look at, at most; fewer are given if they have more than 16 MiB together.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            CodecError: The codec cannot decode one of the values.
            ValueError: ``max`` is below 1.
        """
        return self._run(self._define.peek_many(max))

    def stats(self) -> Stats:
        """The queue at one moment: length, bound, counters, and the holders of its roles.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        return self._run(self._define.stats())

    def holder(self, role: str) -> bytes | None:
        """The client that holds the role ``"producer"`` or ``"consumer"`` at this moment.

        Returns:
            The holder's id; None if the role is free, empty if the holder has not written its id yet.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            ValueError: There is no such role.
        """
        return self._run(self._define.holder(role))

    def __iter__(self) -> Iterator[Any]:
        """Take values from the queue, one after the other, until it is closed and empty.

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
        """Close the queue for ever (pressure protocol 0.15, Close).

        Nothing can be put any more; the values that are in it can still be got. ``disconnect`` closes
        connections instead.

        Args:
            timeout: Longest time to wait for the producer role, in seconds; None for no limit.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            QueueClosedError: It is closed already.
            QueueInUseError: Another client held the producer role until the timeout.
        """
        self._run(self._define.close(timeout))

    def wait_closed(self, timeout: float | None = None) -> bool:
        """Wait until the queue is closed.

        Args:
            timeout: Longest time to wait, in seconds; None for no limit.

        Returns:
            True if the queue is closed, False if it was still open at the timeout.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted, perhaps while waiting.
        """
        return self._run(self._define.wait_closed(timeout))

    def delete(self, timeout: float | None = None) -> None:
        """Delete the queue and its values (pressure protocol 0.15, Delete), or finish an interrupted delete.

        Clients that wait in ``put``, ``get`` or ``close`` get ``QueueDoesNotExistError``. The holders of the
        roles finish what they do; the delete waits for them.

        Args:
            timeout: Longest time to wait for both roles, in seconds; None for no limit.

        Raises:
            QueueDoesNotExistError: None of its keys exists.
            QueueInUseError: Another client held a role until the timeout. The queue is half deleted: it does
                not exist for other clients, and a second ``delete`` or ``repair`` removes its last keys.
        """
        self._run(self._define.delete(timeout))

    def repair(self, force: bool = False, role: str | None = None) -> RepairReport:
        """Free the roles of dead clients, and finish an interrupted create or delete.

        Without ``force`` a role is freed only if its holder is certainly dead: the holder is a client of
        this package, the role has not changed for five seconds, the holder's process has no connection to
        the server, and the server has been up, and master, for a minute. So the call takes five seconds if a
        role is held. Unacknowledged messages go back to the front, and wrong counters are corrected.

        Args:
            force: Free the roles even if their holders are alive. The next operation of such a holder fails
                with ``QueueInUseError``.
            role: Free only this role, ``"producer"`` or ``"consumer"``.

        Returns:
            What was repaired, and what was not, with the reason.

        Raises:
            QueueDoesNotExistError: None of its keys exists.
            ValueError: There is no such role.
        """
        return self._run(self._define.repair(force, role))

    def doctor(self) -> Diagnosis:
        """Check the queue without changing it: its state, the holders of its roles, and its problems.

        Problems are: what ``repair`` would mend, keys that contradict each other, rejected messages, and a
        likely deadlock, such as a producer that waits for room while no client consumes.

        Raises:
            QueueDoesNotExistError: None of its keys exists.
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
        """Whether the queue holds as many values as its bound allows; False without a bound.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        count, bound = self._run(self._define.length_and_bound())
        return 0 < bound <= count

    def disconnect(self) -> None:
        """Close this object's idle connections. The queue stays; the object can be used again."""
        if self._keeper is not None:
            self._keeper.stop()
        self._driver.connections.disconnect()

    def __enter__(self) -> Queue:
        """The object itself. The end of the block disconnects it, and leaves the queue as it is."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disconnect()
