"""The methods of reliable queues, defined once for every flavour: messages that are acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic

from pressure.checks import milliseconds
from pressure.codecs import Sendable, V
from pressure.errors import ItemLostError, QueueEmptyError
from pressure.kinds.reliable import delaying, operations
from pressure.kinds.reliable.base import BACKENDS
from pressure.kinds.reliable.consuming import ReliableConsumeMethods
from pressure.kinds.reliable.inspecting import ReliableInspectMethods
from pressure.kinds.reliable.model import Capabilities, DeadLetter, Delivered, Info, Pending
from pressure.kinds.reliable.worker import WorkerOptions, exponential, work_loop
from pressure.methods.methods import Block, CallbackOperation, callback_method, context_manager, method
from pressure.protocol.operation import Deadline, Operation

__all__ = [
    "BACKENDS",
    "Capabilities",
    "DeadLetter",
    "Delivered",
    "Info",
    "Pending",
    "ReliableMethods",
    "exponential",
]


class ReliableMethods(ReliableConsumeMethods[V], ReliableInspectMethods[V]):
    """A queue whose messages are acknowledged; at-least-once delivery, with delays, retries and dead letters.

    A popped message stays on the server until it is acknowledged. A message that is not acknowledged in time
    can be redelivered, to any worker that calls ``recover`` or ``work``. The queue is a stream with a
    consumer group; with ``backend="module"`` it uses the commands of the module RedisMQ (``MQ.PUSH`` and
    others). ``capabilities`` returns how the two differ.

    Every method may raise ``ConnectionFailedError``, ``OutcomeUnknownError``, ``ServerReplyError`` and, on a
    Redis Cluster, ``ClusterError``, as those of ``pressure.Queue`` do. If the reply to a pop is
    lost, its messages can be recovered.

    Args:
        name: The queue's name; the main key is ``queue:<name>``. ``<name>:dead`` is the name of the
            dead-letter queue, which is a queue like any other.
        url: Where the server is; this and the next four are as for ``pressure.Queue``.
        client: A redis-py client whose settings to use.
        host: The server's name or address.
        port: Its port.
        db: Its database number.
        scripts: Whether to run scripts if the server allows them; without scripts, some methods take more
            round trips.
        codec: Converts objects to bytes and back; without a codec, values are bytes.
        key: The main key, instead of ``queue:<name>``.
        backend: ``"stream"``, or ``"module"`` for the commands of RedisMQ; the same for all clients.
        group: The consumer group's name, on a stream. Each group gets every message that is pushed, and a
            message is deleted once all of them have acknowledged it. A message that is delayed or retried
            goes to the group of the client that delayed or retried it, and to no other.
        max_deliveries: How often a message may be delivered; after that it goes to the dead-letter
            queue. None for no limit.

    Raises:
        ValueError: Arguments exclude each other, or one is out of range.
        TypeError: The name is neither ``bytes`` nor ``str``, or ``client`` is not a redis-py client.
    """

    @method
    def push(self, *values: Sendable[V], delay: float = 0.0) -> Operation[list[bytes]]:
        """Add messages at the end of the queue, in one atomic step. One round trip; with a delay, two.

        Args:
            *values: The values of the messages.
            delay: Seconds until the messages can be delivered.

        Returns:
            The ids of the messages. ``cancel`` takes those of delayed messages. When a delayed message is
            delivered, its id begins with this one.

        Raises:
            TypeError: A value cannot be sent; nothing was sent.
        """
        data = [self._item_codec.data(value) for value in values]
        if later := milliseconds(delay, "delay"):
            return delaying.delay(self._context, self._state, data, later)
        return operations.push(self._context, self._state, data)

    @method
    def cancel(self, id: bytes) -> Operation[bool]:  # noqa: A002
        """Remove a delayed message. One round trip, or two without scripts.

        The server looks at every message that is due in the same millisecond.

        Args:
            id: What ``push`` returned for the message.

        Returns:
            False if the message was delivered or cancelled already; then nothing was changed.

        Raises:
            TypeError: The id is not bytes.
        """
        if not isinstance(id, bytes):
            raise TypeError(f"cancel takes an id that push returned, not {type(id).__name__}")
        return delaying.cancel(self._context, self._state, id)

    @method
    def ack(self, *messages: Delivered[V] | bytes) -> Operation[list[bytes]]:
        """Acknowledge messages, given as messages or as their ids: they are removed.

        One round trip; on a stream without scripts, two. Twice as many if some of the messages were delayed
        or retried and others were not.

        Returns:
            The ids of the messages that were still pending. A missing id means that another client recovered
            and acknowledged the message, so it may be processed twice.
        """
        return self._ack(_ids(messages))

    def _ack(self, ids: list[bytes]) -> Operation[list[bytes]]:
        return operations.ack(self._context, self._state, ids)

    @method
    def retry(
        self, message: Delivered, delay: float | None = None, error: BaseException | None = None
    ) -> Operation[bool]:
        """Redeliver a popped message later, or move it to the dead-letter queue after ``max_deliveries``.

        One round trip; without scripts, a few.

        Args:
            message: The message.
            delay: Seconds until it is redelivered; None for 1, 2, 4... by its deliveries, up to an hour.
            error: Why it failed, for the dead letter.

        Returns:
            False if the message was no longer pending; then nothing was changed.
        """
        if not isinstance(message, Delivered):
            raise TypeError(f"retry takes what pop or recover returned, not {type(message).__name__}")
        seconds = exponential()(message.deliveries) if delay is None else delay
        return self._retry(message, milliseconds(seconds, "delay"), error)

    def _retry(self, message: Delivered[V], delay: int, error: BaseException | None) -> Operation[bool]:
        return operations.retry(self._context, self._state, message, delay, error)

    @method
    def heartbeat(self, *messages: Delivered[V] | bytes) -> Operation[list[bytes]]:
        """Restart the idle time of messages, so that no client recovers them for another ``min_idle``.

        One round trip; with the module, two. On a stream, give messages and not their ids: it forgets when a
        message was delivered first, which is kept beside it if it is known.

        Returns:
            On a stream, the ids of the messages that are still pending. With the module, all ids, since it
            does not tell which are pending.
        """
        _ids(messages)  # raises TypeError
        return self._heartbeat(messages)

    def _heartbeat(self, messages: Sequence[Delivered[V] | bytes]) -> Operation[list[bytes]]:
        return operations.heartbeat(self._context, self._state, messages)

    @context_manager
    def take(self, block: bool = True, timeout: float | None = None) -> Block[Delivered[V]]:
        """Pop a message for a ``with`` block, and acknowledge it when the block ends without an exception.

        After an exception the message stays pending, and can be recovered.

            with queue.take() as message:
                work_on(message.value)

        Args:
            block: Whether to wait for a message.
            timeout: How long to wait, in seconds; None for no limit.

        Raises:
            QueueEmptyError: No message arrived in time.
            ItemLostError: At the end of the block: another client had recovered and acknowledged the message.
        """
        enter = self._take(self._deadline(block, timeout))
        return Block(enter, lambda message, error: None if error else self._taken(message))

    def _take(self, deadline: Deadline) -> Operation[Delivered[V]]:
        found = yield from self._pop(1, deadline)
        if not found:
            raise QueueEmptyError(f"queue {self} is empty")
        return found[0]

    def _taken(self, message: Delivered[V]) -> Operation[None]:
        if not (yield from self._ack([message.id])):
            raise ItemLostError(
                f"queue {self}: another client has acknowledged the message; it was done twice"
            )

    @callback_method
    def work(
        self,
        handle: Callable[[Delivered[V]], Any],
        *,
        min_idle: float = 60.0,
        heartbeat: float | None = None,
        backoff: Callable[[int], float] | None = None,
        max_messages: int | None = None,
        until_empty: bool = False,
    ) -> CallbackOperation[int]:
        """Call a function for each message, and acknowledge the message when the function returns.

        Messages that were not acknowledged in time come first. If the function raises an ``Exception``, the
        error is logged (logger ``pressure.worker``) and the message is redelivered: after the backoff, or
        without a backoff once it has been idle for ``min_idle``.

        Args:
            handle: Called with each message. In ``pressure.aio`` and ``pressure.trio`` it must be a coroutine
                function (``async def``), or a lambda or decorated function that returns an awaitable; here it
                must not be one.
            min_idle: After how many seconds without acknowledgement or heartbeat a message is redelivered.
            heartbeat: Seconds between two heartbeats while a message is handled, so that handling may take
                longer than ``min_idle``; None for no heartbeats.
            backoff: Takes how often a message was delivered, and returns the seconds until the message is
                redelivered after a failure; such as ``exponential()``.
            max_messages: End after this many messages.
            until_empty: End when no message can be delivered.

        Returns:
            How many messages were handled and acknowledged.

        Raises:
            TypeError: The handler or the backoff cannot be used; nothing was popped.
        """
        options = WorkerOptions(handle, min_idle, heartbeat, backoff, max_messages, until_empty)
        idle = options.check(coroutines=self._has_coroutines)
        return work_loop(options, idle, _QueueOperations(self), self._context.clock)


class _QueueOperations(Generic[V]):
    """The operations of a queue that a worker uses; see ``WorkerOperations``."""

    def __init__(self, queue: ReliableMethods[V]) -> None:
        self.recover = queue._recover
        self.ack = queue._ack
        self.heartbeat = queue._heartbeat
        self._queue = queue

    def pop(self, count: int, timeout: float) -> Operation[list[Delivered[V]]]:
        return self._queue._pop(count, self._queue._deadline(True, timeout))

    def retry(self, message: Delivered[V], delay: float, error: Exception) -> Operation[bool]:
        return self._queue._retry(message, milliseconds(delay, "backoff"), error)


def _ids(messages: tuple[Delivered[V] | bytes, ...]) -> list[bytes]:
    return [_id(each) for each in messages]


def _id(message: Delivered[V] | bytes) -> bytes:
    if isinstance(message, Delivered | bytes):
        return message.id if isinstance(message, Delivered) else message
    raise TypeError(f"a message is what pop or recover returned, or its id, not {type(message).__name__}")
