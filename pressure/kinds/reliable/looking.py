"""The methods that look at a reliable queue, and the one that moves what is due."""

from __future__ import annotations

from pressure.checks import whole
from pressure.kinds.methods import method
from pressure.kinds.reliable import operations
from pressure.kinds.reliable.carrying import Carrying
from pressure.kinds.reliable.model import Delivered, Info, Pending
from pressure.protocol.steps import Operation


class Looking(Carrying):
    """The part of a reliable queue that tells how it is; see ``ReliableMethods``."""

    @method
    def move_due(self) -> Operation[int]:
        """Make delayed messages that are due available to every pop. One round trip, or two without scripts.

        ``pop`` does so only when it finds nothing else. Call this under a constant backlog.

        Returns:
            How many messages were due.
        """
        return self._move_due()

    def _move_due(self) -> Operation[int]:
        on = yield from self._on()
        return (yield from operations.move(self._context, on))

    @method
    def inspect(self, start: int = 0, count: int = 10) -> Operation[list[Delivered]]:
        """The messages that wait to be delivered, in order; they stay in the queue. Two round trips.

        Args:
            start: The place of the first message to return: 0 is the next one to be delivered, -1 the last.
            count: How many messages to return, at most.
        """
        return self._inspect(whole(start, "start", None), whole(count, "count"))

    def _inspect(self, start: int, count: int) -> Operation[list[Delivered]]:
        on = yield from self._on()
        found = yield from operations.inspect(self._context, on, start, count)
        return [self._decoding(each) for each in found]

    @method
    def pending(self, start: int = 0, count: int = 10) -> Operation[list[Pending]]:
        """The messages that are delivered and not acknowledged yet. Three round trips at most.

        With the module they are in the order of their last delivery, on a stream in the order of their ids.

        Args:
            start: The place of the first message to return: 0 is the first in this order, -1 the last.
            count: How many messages to return, at most.
        """
        return self._pending(whole(start, "start", None), whole(count, "count"))

    def _pending(self, start: int, count: int) -> Operation[list[Pending]]:
        on = yield from self._on()
        found = yield from operations.pending(self._context, on, start, count)
        return [Pending(self._decoding(each.message), each.since, each.idle) for each in found]

    @method
    def info(self) -> Operation[Info]:
        """How many messages wait, are delivered, are delayed or are dead letters. Three round trips."""
        return self._info()

    def _info(self) -> Operation[Info]:
        on = yield from self._on()
        return (yield from operations.info(self._context, on))
