"""``Queue``: a bounded, distributed queue on any Redis server, with the methods of ``queue.Queue``.

``QueueMethods`` declares each method once; the three classes ``Queue``, here, in ``pressure.aio`` and in
``pressure.trio``, are made of it. In ``pressure.methods``, ``consuming`` has those of its methods that take
messages, ``lifecycle`` those that change the queue as a whole, ``inspecting`` those that only read.

Rules:
    - Making a ``Queue`` object neither connects nor creates anything. ``create`` creates.
    - A method checks its arguments, and returns the operation that the flavour's driver runs.
    - One object may be used by several threads or tasks at once; each operation has a connection of its own.
    - ``close`` is about this object, as for files and sockets, so that ``contextlib.closing`` works;
      ``shutdown``, named as in ``queue.Queue``, is about the queue, for all clients.

To add a method: a definition in one of these four modules. All flavours have it then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Unpack, overload

from pressure import protocol
from pressure.checks import whole
from pressure.codecs import Codec, CodecName, Sendable, V, codec_of, sendable
from pressure.connections.arguments import ServerOptions
from pressure.connections.settings import SLICE
from pressure.errors import QueueClosedError
from pressure.execution.lease import lease_of
from pressure.keys import Keys, queue_name
from pressure.methods.consuming import ConsumeMethods
from pressure.methods.joining import UnfinishedTasks
from pressure.methods.lifecycle import LifecycleMethods
from pressure.methods.methods import method
from pressure.protocol import Context, Deadline, Operation, ServerFacts
from pressure.sync.flavour import Synchronous


class Options(ServerOptions, total=False):
    """The arguments of ``Queue`` beside its name and its codec; ``Queue`` describes them."""

    prefix: bytes | str | None
    lease: float | None
    heal: bool
    max_connections: int | None


class QueueMethods(ConsumeMethods[V], LifecycleMethods[V]):
    """A bounded FIFO queue on a Redis server, shared by all programs that know its name.

    It is a queue of the pressure protocol 0.15. Making the object neither connects nor creates anything.

    One client produces and one consumes at any moment: each holds a role, and other clients wait until it is
    free. ``get`` delivers at most once: a consumer that dies after the server has removed a value loses that
    value. ``receive`` delivers at least once.

    Every method may also raise ``ConnectionFailedError`` (the server cannot be reached; nothing was changed),
    ``OutcomeUnknownError`` (the connection was lost during the operation), ``ServerReplyError`` (the server
    refused a command) and, on a Redis Cluster, ``ClusterError`` (the name has no hash tag).

    Args:
        name: The queue's name: any bytes, but not empty; a ``str`` is encoded as UTF-8.
        url: The server's URL: ``redis://``, ``rediss://`` (TLS) or ``unix://``;
            ``redis+sentinel://host:port,host:port/name/db`` for the master that Sentinels know as ``name``;
            ``redis+cluster://host:port,host:port`` for the node of a cluster that has the queue;
            ``miniredis:path`` or ``miniredis:///absolute/path`` for a directory: the first process that uses
            it runs the server, and no other is needed. ``?appendfsync=everysec`` does not wait for the disk.
        client: A ``redis.Redis``, also one of ``Sentinel.master_for``. The queue takes over its settings, and
            makes connections of its own.
        host: The server's host name or address.
        port: The server's port.
        db: The number of the database.
        prefix: What the names of all keys begin with.
        scripts: Whether to use Lua scripts where the server allows them. Without scripts every operation
            takes more round trips, and concurrent puts and gets may exceed the bound by one.
        codec: Encodes objects as values and decodes them: ``"json"``, ``"msgpack"`` (needs that package),
            ``"pickle"`` (lets each client that can put run code in this process, and so warns with
            ``UnsafeCodecWarning``), or an object with ``encode`` and ``decode``. Default: values are bytes.
        lease: For how many seconds this client holds a role; a background thread or task renews the lease
            while the client works. When a client hangs or cannot reach the server, its lease runs out. Then
            its role is freed like that of a dead client, even if it is still connected, and the client's next
            operation fails with ``QueueInUseError``. Default: no lease.
        heal: Whether an operation that has waited for a role for some seconds frees it if its holder is dead.
            If not, only ``repair`` frees it.
        max_connections: How many connections this object has at most. If all are in use, operations take
            turns on the last one. Default: what the URL or the client says, or else 100.

    The environment replaces missing arguments: ``REDIS_URL``, or else ``REDIS_SERVER``, ``REDIS_PORT`` and
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
        codec: Codec[V] | str | None = None,
        lease: float | None = None,
        heal: bool = True,
        max_connections: int | None = None,
    ) -> None:
        where = self._settings(
            url=url,
            client=client,
            host=host,
            port=port,
            db=db,
            prefix=prefix,
            max_connections=max_connections,
        )
        keys = Keys.of(queue_name(name), where.prefix)
        server, lease = ServerFacts(scripts=scripts, in_cluster=where.in_cluster), lease_of(lease)
        self._context = Context(keys, time.monotonic, SLICE, server, lease, heal=heal)
        self._codec = codec_of(codec)
        self._unfinished = UnfinishedTasks()
        self._connect(where, keys, lease, self._renewal)

    def _renewal(self, holds: Collection[bytes]) -> Operation[None]:
        return protocol.renew(self._context, holds)

    @method
    def put(
        self, value: Sendable[V], block: bool = True, timeout: float | None = None, *, overfill: bool = False
    ) -> Operation[None]:
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
        return self._put(value, block, timeout, overfill)

    @method
    def put_nowait(self, value: Sendable[V], *, overfill: bool = False) -> Operation[None]:
        """``put`` without waiting (pressure protocol 0.15, Put (Non-Blocking))."""
        return self._put(value, False, None, overfill)

    def _put(self, value: Sendable[V], block: bool, timeout: float | None, overfill: bool) -> Operation[None]:
        data = self._encoded(value)
        deadline = Deadline.of(self._context, block, timeout)
        return protocol.put(self._context, data, deadline, overfill=overfill)

    def _encoded(self, value: Any) -> bytes:
        return sendable(self._codec.encode(value))

    @method
    def put_many(
        self,
        values: Iterable[Sendable[V]],
        block: bool = True,
        timeout: float | None = None,
        *,
        overfill: bool = False,
    ) -> Operation[None]:
        """Put values in a few round trips, in their order and with no value of another producer between them.

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
            TypeError: One of the values is not what ``put`` takes, or ``values`` is a single one; nothing was
                sent.
            ValueTooLongError: One of them has more than 512 MiB; nothing was sent.
        """
        if isinstance(values, str | bytes | bytearray | memoryview):
            raise TypeError(f"put_many takes several values, not one {type(values).__name__}; put takes one")
        encode: Callable[[Any], bytes] = self._codec.encode
        data = [*map(encode, values)]
        sendable(max(data, key=len, default=b""))
        deadline = Deadline.of(self._context, block, timeout)
        return protocol.put_many(self._context, data, deadline, overfill=overfill)

    @method
    def redrive(
        self,
        max: int,  # noqa: A002
        block: bool = True,
        timeout: float | None = None,
    ) -> Operation[int]:
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
        most = whole(max, "max")
        return protocol.redrive(self._context, Deadline.of(self._context, block, timeout), most)


class Queue(Synchronous, QueueMethods[V]):  # noqa: D101, that of the kind
    __doc__ = QueueMethods.__doc__

    if TYPE_CHECKING:  # the codec determines the type of the values

        @overload
        def __init__(
            self: Queue[bytes], name: bytes | str, *, codec: None = None, **options: Unpack[Options]
        ) -> None: ...
        @overload
        def __init__(self, name: bytes | str, *, codec: Codec[V], **options: Unpack[Options]) -> None: ...
        @overload
        def __init__(self, name: bytes | str, *, codec: CodecName, **options: Unpack[Options]) -> None: ...
        def __init__(self, *args: Any, **options: Any) -> None: ...

    def __iter__(self) -> Iterator[V]:
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
