"""The methods of reliable queues that deliver messages: ``pop``, ``pop_any`` and ``recover``."""

from __future__ import annotations

from typing import Any, TypeVar

from pressure.checks import milliseconds, whole
from pressure.codecs import V
from pressure.kinds.kind_check import check_kind
from pressure.kinds.reliable import operations, popping
from pressure.kinds.reliable.base import ReliableBase
from pressure.kinds.reliable.model import Delivered
from pressure.methods.methods import method
from pressure.protocol.operation import Deadline, Operation

#: The class of a queue. Not ``Self``: its bound has an unsolved ``V``, so mypy refuses every queue.
Q = TypeVar("Q", bound="ReliableConsumeMethods[Any]")


class ReliableConsumeMethods(ReliableBase[V]):
    """The methods that deliver messages; see ``ReliableMethods``."""

    @method
    def pop(
        self, count: int = 1, block: bool = True, timeout: float | None = None
    ) -> Operation[list[Delivered[V]]]:
        """Deliver the messages at the front of the queue, and delayed messages that are due.

        Due messages do not wait behind the others: they come first, in the order of their due times, as up to
        half of the messages, or in every second pop of a single message. One round trip, and one more after a
        wait. Without scripts one (with the module two), and up to five more if a message is due.

        Args:
            count: How many messages, at most.
            block: Whether to wait for a first message.
            timeout: How long to wait, in seconds; None for no limit.

        Returns:
            The messages, to be acknowledged; an empty list if no message arrived in time.
        """
        return self._pop(whole(count, "count"), self._deadline(block, timeout))

    @method
    def pop_nowait(self, count: int = 1) -> Operation[list[Delivered[V]]]:
        """``pop`` without waiting."""
        return self._pop(whole(count, "count"), self._deadline(False, None))

    def _pop(self, count: int, deadline: Deadline) -> Operation[list[Delivered[V]]]:
        found = yield from popping.pop(self._context, self._state, count, deadline)
        return [self._decoding(each) for each in found]

    @method
    def pop_any(
        self: Q, *others: Q, count: int = 1, block: bool = True, timeout: float | None = None
    ) -> Operation[list[tuple[Q, Delivered[V]]]]:
        """Deliver messages of several queues: those of this queue first, then of the others in their order.

            for queue, message in urgent.pop_any(normal, count=10):
                queue.ack(message)

        The queues are asked one after the other. So a message that is pushed to the first queue while the
        second is asked may be delivered after one of the second. Of several waiting clients, the fastest is
        served; with the module, the one that has waited longest. On a Redis Cluster all queues must be in one
        slot.

        Round trips: those of ``pop`` for each queue that is asked. A wait adds one for each queue on streams.

        Args:
            *others: More reliable queues on the same server and of the same flavour, the most important
                first.
            count: How many messages of all queues together, at most.
            block: Whether to wait for a first message.
            timeout: How long to wait, in seconds; None for no limit.

        Returns:
            The messages, each with the queue in which to acknowledge it; empty if none arrived in time.

        Raises:
            ValueError: A queue is on another server, or uses another backend.
        """
        queues = (self, *others)
        for each in others:
            if not isinstance(each, ReliableConsumeMethods):
                raise TypeError(f"pop_any takes queues like this one, not {type(each).__name__}")
            if each._server != self._server:
                raise ValueError(
                    f"queue {each} is not on the server of queue {self}; pop_any asks one server"
                )
        return self._pop_any(queues, whole(count, "count"), self._deadline(block, timeout))

    def _pop_any(
        self, queues: tuple[Q, ...], count: int, deadline: Deadline
    ) -> Operation[list[tuple[Q, Delivered[V]]]]:
        for each in queues[1:]:
            yield from check_kind(each._context)
        states = [queue._state for queue in queues]
        found = yield from popping.pop_any(self._context, states, count, deadline)
        return [(queues[number], queues[number]._decoding(each)) for number, each in found]

    @method
    def recover(self, min_idle: float, count: int = 1) -> Operation[list[Delivered[V]]]:
        """Redeliver messages that were not acknowledged in time. Two to six round trips.

        Args:
            min_idle: Seconds since a message was delivered, or since its last heartbeat. Make it longer than
                any worker needs for a message.
            count: How many messages, at most.

        Returns:
            The messages, to be acknowledged. A message that was delivered too often goes to the dead-letter
            queue instead.
        """
        return self._recover(whole(count, "count"), milliseconds(min_idle, "min_idle"))

    def _recover(self, count: int, idle: int) -> Operation[list[Delivered[V]]]:
        found = yield from operations.recover(self._context, self._state, count, idle)
        return [self._decoding(each) for each in found]
