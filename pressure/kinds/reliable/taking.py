"""The methods that deliver messages of reliable queues: what waits, in one or in several; what was left."""

from __future__ import annotations

from typing import Self

from pressure.kinds.kind import at_least_one, milliseconds
from pressure.kinds.methods import method
from pressure.kinds.reliable import operations, popping
from pressure.kinds.reliable.carrying import Carrying
from pressure.kinds.reliable.model import Delivered
from pressure.protocol.steps import Operation, Patience


class Taking(Carrying):
    """The part of a reliable queue that delivers; see ``ReliableMethods``."""

    @method
    def pop(
        self, count: int = 1, block: bool = True, timeout: float | None = None
    ) -> Operation[list[Delivered]]:
        """Deliver the messages at the front.

        One round trip, and with the module another where there are some; another for what is due.

        Args:
            count: How many, at most.
            block: Whether to wait for a first one.
            timeout: How long to wait, in seconds; None for ever.

        Returns:
            The messages, to be acknowledged; none if none came in time.
        """
        return self._pop(at_least_one(count, "count"), self._patience(block, timeout))

    def _pop(self, count: int, patience: Patience) -> Operation[list[Delivered]]:
        on = yield from self._on()
        found = yield from popping.pop(self._context, on, count, patience)
        return [self._decoding(each) for each in found]

    @method
    def pop_any(
        self, *others: Self, count: int = 1, block: bool = True, timeout: float | None = None
    ) -> Operation[list[tuple[Self, Delivered]]]:
        """Deliver messages of this queue first, then of the others, in the order of their priority.

            for queue, message in urgent.pop_any(normal, count=10):
                queue.ack(message)

        With the module all are one command. On streams each queue is asked after the one before it, so that a
        message that comes to the first meanwhile may come after one of the second; and of several who wait
        for the same queues not the first is served, but the quickest. In a cluster all queues have to be in
        one slot.

        With the module two round trips, or one if there is nothing; on streams one for each queue that is
        asked. Another if nothing is there, to see what is due; a wait adds two on streams.

        Args:
            *others: Queues on the same server, of the same flavour.
            count: How many messages of all of them together, at most.
            block: Whether to wait for a first one.
            timeout: How long to wait, in seconds; None for ever.

        Returns:
            The messages, each with its queue, to be acknowledged there; none if none came in time.

        Raises:
            ValueError: A queue is on another server, or carried in another way.
        """
        queues = (self, *others)
        if any(each._server != self._server for each in others):
            raise ValueError("all queues must be on one server")
        return self._pop_any(queues, at_least_one(count, "count"), self._patience(block, timeout))

    def _pop_any(
        self, queues: tuple[Self, ...], count: int, patience: Patience
    ) -> Operation[list[tuple[Self, Delivered]]]:
        on = []
        for queue in queues:
            on.append((yield from queue._on()))  # noqa: PERF401, an operation each
        found = yield from popping.pop_any(self._context, on, count, patience)
        return [(queues[number], queues[number]._decoding(each)) for number, each in found]

    @method
    def recover(self, min_idle: float, count: int = 1) -> Operation[list[Delivered]]:
        """Deliver again what was delivered long ago and not acknowledged. Two to four round trips.

        Args:
            min_idle: Seconds since it was delivered, or since its last heartbeat; longer than anything takes.
            count: How many, at most.

        Returns:
            The messages, to be acknowledged. What was delivered too often goes to the queue of the dead.
        """
        return self._recover(at_least_one(count, "count"), milliseconds(min_idle, "min_idle"))

    def _recover(self, count: int, idle: int) -> Operation[list[Delivered]]:
        on = yield from self._on()
        found = yield from operations.recover(self._context, on, count, idle)
        return [self._decoding(each) for each in found]
