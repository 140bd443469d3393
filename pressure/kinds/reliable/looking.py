"""The methods that look at a reliable queue, and the one that moves what is due."""

from __future__ import annotations

from pressure.kinds.kind import at_least_one
from pressure.kinds.methods import method
from pressure.kinds.reliable import operations
from pressure.kinds.reliable.carrying import Carrying
from pressure.kinds.reliable.model import Delivered, Info, Pending
from pressure.protocol.steps import Operation


class Looking(Carrying):
    """The part of a reliable queue that tells how it is; see ``ReliableMethods``."""

    @method
    def move_due(self) -> Operation[int]:
        """Have what is due delivered next, as every pop does. One round trip, or two without scripts.

        Returns:
            How many messages were.
        """
        return self._move_due()

    def _move_due(self) -> Operation[int]:
        on = yield from self._on()
        return (yield from operations.move(self._context, on))

    @method
    def inspect(self, start: int = 0, count: int = 10) -> Operation[list[Delivered]]:
        """Messages that wait, from one place on; a negative one counts from the end. Two round trips."""
        return self._inspect(start, at_least_one(count, "count"))

    def _inspect(self, start: int, count: int) -> Operation[list[Delivered]]:
        on = yield from self._on()
        found = yield from operations.inspect(self._context, on, start, count)
        return [self._decoding(each) for each in found]

    @method
    def pending(self, start: int = 0, count: int = 10) -> Operation[list[Pending]]:
        """Messages that are delivered and not acknowledged, from one place on. Three round trips at most.

        A negative place counts from the end. With the module they are in the order of their last delivery, on
        a stream in that of their ids.
        """
        return self._pending(start, at_least_one(count, "count"))

    def _pending(self, start: int, count: int) -> Operation[list[Pending]]:
        on = yield from self._on()
        found = yield from operations.pending(self._context, on, start, count)
        return [Pending(self._decoding(each.message), each.since, each.idle) for each in found]

    @method
    def info(self) -> Operation[Info]:
        """How many messages there are, and where. Three round trips."""
        return self._info()

    def _info(self) -> Operation[Info]:
        on = yield from self._on()
        return (yield from operations.info(self._context, on))
