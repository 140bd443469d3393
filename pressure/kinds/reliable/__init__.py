"""The queue of messages that are acknowledged, defined once for every flavour."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pressure.errors import ItemLostError, QueueEmptyError
from pressure.kinds.kind import milliseconds
from pressure.kinds.methods import Errand, Span, block, errand, method
from pressure.kinds.reliable import operations
from pressure.kinds.reliable.carrying import BACKENDS
from pressure.kinds.reliable.looking import Looking
from pressure.kinds.reliable.model import Capabilities, Delivered, Info, Pending
from pressure.kinds.reliable.taking import Taking
from pressure.kinds.reliable.worker import Plan, exponential, working
from pressure.protocol.steps import Operation, Patience

__all__ = ["BACKENDS", "Capabilities", "Delivered", "Info", "Pending", "ReliableMethods", "exponential"]


class ReliableMethods(Taking, Looking):
    """A queue whose messages are acknowledged; at least once, with delays, retries and a queue of the dead.

    What is popped stays on the server until it is acknowledged; what is not in time is recovered: delivered
    again, to anybody who asks. On a server with the commands of the module RedisMQ these carry the queue, and
    elsewhere a stream and a consumer group do; ``capabilities`` tells which, and what differs by it.

    Every method may raise ``ConnectionFailedError``, ``OutcomeUnknownError``, ``ServerReplyError`` and, on a
    Redis Cluster, ``ClusterError``, as those of ``pressure.Queue`` do. A pop whose reply is lost is
    recovered.

    Args:
        name: The queue's name; the main key is ``queue:<name>``. ``<name>:dead`` is the name of the queue of
            the dead, which is a queue like any other.
        url: Where the server is; this and the next four are as for ``pressure.Queue``.
        client: A redis-py client whose settings to use.
        host: The server's name or address.
        port: Its port.
        db: Its database number.
        scripts: Whether to run scripts where the server lets us; without them some methods take more round
            trips.
        codec: What turns objects into bytes and back; without one they are bytes.
        key: The main key, instead of the one by name.
        backend: ``"module"`` or ``"stream"``, instead of asking the server. All clients of a queue use one.
        group: The consumer group's name, on a stream.
        max_deliveries: How often a message may be delivered; then it goes to the queue of the dead. None for
            any number of times.

    Raises:
        ValueError: Arguments that exclude each other or cannot be meant.
        TypeError: A name that is neither ``bytes`` nor ``str``, or a ``client`` that is no redis-py client.
    """

    @method
    def push(self, *values: Any, delay: float = 0.0) -> Operation[list[bytes]]:
        """Add messages at the end, together. One round trip; with a delay, two.

        Args:
            *values: Their values.
            delay: Seconds until they can be delivered.

        Returns:
            Their ids; none for those that are delayed.

        Raises:
            TypeError: One of the values cannot be sent; nothing was sent.
        """
        return self._push([self._wrapping.data(value) for value in values], milliseconds(delay, "delay"))

    def _push(self, data: list[bytes], delay: int) -> Operation[list[bytes]]:
        on = yield from self._on()
        if not delay:
            return (yield from operations.push(self._context, on, data))
        yield from operations.delay(self._context, on, data, delay)
        return []

    @method
    def ack(self, *messages: Delivered | bytes) -> Operation[list[bytes]]:
        """Be done with messages, or with those that have these ids. One round trip.

        Returns:
            The ids of those that were delivered still; who misses one was too slow, and it may be done twice.
        """
        return self._ack(_ids(messages))

    def _ack(self, ids: list[bytes]) -> Operation[list[bytes]]:
        on = yield from self._on()
        return (yield from operations.ack(self._context, on, ids))

    @method
    def retry(self, message: Delivered, delay: float | None = None) -> Operation[bool]:
        """Have a message that was popped delivered again later, or never again if it was too often already.

        One round trip; without scripts, a few.

        Args:
            message: The message.
            delay: Seconds until then; None for 1, 2, 4... by its deliveries, up to an hour.

        Returns:
            False if it was not delivered any more, and nothing was done.
        """
        seconds = exponential()(message.deliveries) if delay is None else delay
        return self._retry(message, milliseconds(seconds, "delay"))

    def _retry(self, message: Delivered, delay: int) -> Operation[bool]:
        on = yield from self._on()
        return (yield from operations.retry(self._context, on, message, delay))

    @method
    def heartbeat(self, *messages: Delivered | bytes) -> Operation[list[bytes]]:
        """Say that messages are being worked on, so that nobody recovers them for another ``min_idle``.

        One round trip; with the module two.

        Returns:
            The ids of those that are delivered still, as far as the server tells: the module does not.
        """
        return self._heartbeat(_ids(messages))

    def _heartbeat(self, ids: list[bytes]) -> Operation[list[bytes]]:
        on = yield from self._on()
        return (yield from operations.heartbeat(self._context, on, ids))

    @block
    def take(self, block: bool = True, timeout: float | None = None) -> Span[Delivered]:
        """Pop a message for the length of a ``with`` block: acknowledged when the block ends well.

        When the block ends by an exception the message stays delivered, to be recovered.

            with queue.take() as message:
                work_on(message.value)

        Args:
            block: Whether to wait for a message.
            timeout: How long to wait, in seconds; None for ever.

        Raises:
            QueueEmptyError: None came in time.
            ItemLostError: At the end: it had been recovered and acknowledged by another.
        """
        enter = self._take(self._patience(block, timeout))
        return Span(enter, lambda message, error: None if error else self._taken(message))

    def _take(self, patience: Patience) -> Operation[Delivered]:
        found = yield from self._pop(1, patience)
        if not found:
            raise QueueEmptyError(f"queue {self} is empty")
        return found[0]

    def _taken(self, message: Delivered) -> Operation[None]:
        if not (yield from self._ack([message.id])):
            raise ItemLostError(f"queue {self}: the message was done with by another; it was done twice")

    @errand
    def work(
        self,
        handle: Callable[[Delivered], Any],
        *,
        min_idle: float = 60.0,
        heartbeat: float | None = None,
        backoff: Callable[[int], float] | None = None,
        max_messages: int | None = None,
        until_empty: bool = False,
    ) -> Errand[int]:
        """Handle messages one by one: what others left, else what waits. Acknowledges what went well.

        A message whose handling raises an ``Exception`` is logged, as ``pressure.worker``, and left to be
        recovered, or delayed where there is a backoff.

        Args:
            handle: Called with each message; with coroutines, a coroutine function.
            min_idle: For how long (seconds) others' messages are left alone.
            heartbeat: Seconds between two heartbeats while a message is handled, so that it may take longer
                than ``min_idle``; None for none.
            backoff: Seconds until a message that failed is delivered again, by how often it was delivered;
                such as ``exponential()``.
            max_messages: End after so many messages.
            until_empty: End when there is nothing to be delivered.

        Returns:
            How many messages were handled and acknowledged.
        """
        plan = Plan(handle, min_idle, heartbeat, backoff, max_messages, until_empty)
        return working(plan, plan.check(), _WorkerSteps(self), self._context.clock)


class _WorkerSteps:
    """What a worker does with a queue."""

    def __init__(self, queue: ReliableMethods) -> None:
        self.recover = queue._recover
        self.ack = queue._ack
        self.heartbeat = queue._heartbeat
        self._queue = queue

    def pop(self, count: int, timeout: float) -> Operation[list[Delivered]]:
        return self._queue._pop(count, self._queue._patience(True, timeout))

    def retry(self, message: Delivered, delay: float) -> Operation[bool]:
        return self._queue._retry(message, milliseconds(delay, "backoff"))


def _ids(messages: tuple[Delivered | bytes, ...]) -> list[bytes]:
    return [each.id if isinstance(each, Delivered) else each for each in messages]
