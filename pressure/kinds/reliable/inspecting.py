"""The methods of reliable queues that read their state, and those that move due messages and dead letters."""

from __future__ import annotations

from dataclasses import replace

from pressure.checks import whole
from pressure.codecs import V
from pressure.kinds.reliable import delaying, operations, redriving
from pressure.kinds.reliable.base import ReliableBase
from pressure.kinds.reliable.model import DeadLetter, Delivered, Info, Pending
from pressure.methods.methods import method
from pressure.protocol.operation import Operation


class ReliableInspectMethods(ReliableBase[V]):
    """The methods that inspect a queue; see ``ReliableMethods``."""

    @method
    def move_due(self) -> Operation[int]:
        """Put due messages behind all waiting messages. One round trip, or two without scripts.

        This is for programs that read the queue's key themselves. ``pop`` delivers due messages anyway, and
        does not let them wait behind the others.

        Returns:
            How many messages were due.
        """
        return delaying.move(self._context, self._state)

    @method
    def inspect(self, start: int = 0, count: int = 10) -> Operation[list[Delivered[V]]]:
        """The messages that wait to be delivered, in order; they stay in the queue. Two round trips.

        Delayed messages are not among them, not even if they are due.

        Args:
            start: The place of the first message to return: 0 is the next one to be delivered, -1 the last.
            count: How many messages to return, at most.
        """
        return self._inspect(whole(start, "start", None), whole(count, "count"))

    def _inspect(self, start: int, count: int) -> Operation[list[Delivered[V]]]:
        found = yield from operations.inspect(self._context, self._state, start, count)
        return [self._decoding(each) for each in found]

    @method
    def pending(self, start: int = 0, count: int = 10) -> Operation[list[Pending[V]]]:
        """The messages that are delivered and not acknowledged yet. Three round trips at most.

        Messages that were delayed come first. With the module the order is that of the last deliveries, on a
        stream that of the ids.

        Args:
            start: The place of the first message to return: 0 is the first in this order, -1 the last.
            count: How many messages to return, at most.
        """
        return self._pending(whole(start, "start", None), whole(count, "count"))

    def _pending(self, start: int, count: int) -> Operation[list[Pending[V]]]:
        found = yield from operations.pending(self._context, self._state, start, count)
        return [Pending(self._decoding(each.message), each.since, each.idle) for each in found]

    @method
    def info(self) -> Operation[Info]:
        """How many messages wait, are delivered, are delayed or are dead letters. Four round trips."""
        return operations.info(self._context, self._state)

    @method
    def dead(self, max: int = 10) -> Operation[list[DeadLetter[V]]]:  # noqa: A002
        """The oldest dead letters, with the reason for each; they stay where they are. One round trip.

        With the module, three. The dead-letter queue is a queue like any other:
        ``ReliableQueue("jobs:dead")`` delivers its messages.

        Args:
            max: How many, at most.
        """
        return self._dead(whole(max, "max"))

    def _dead(self, count: int) -> Operation[list[DeadLetter[V]]]:
        found = yield from operations.dead_letters(self._context, self._state, count)
        return [replace(each, message=self._decoding(each.message)) for each in found]

    @method
    def redrive(self, max: int) -> Operation[int]:  # noqa: A002
        """Push dead letters to the queue again, the oldest first, and remove them from the dead-letter queue.

        Dead letters that are pending at a consumer are left out. If the client dies during the call, a call
        at least a minute later also redrives the letters that it had taken. A few round trips for each
        hundred.

        Args:
            max: How many, at most.

        Returns:
            How many dead letters were pushed.

        Raises:
            PressureError: Its ``done`` says how many were pushed before the error, at least.
        """
        return redriving.redrive(self._context, self._state, whole(max, "max"))
