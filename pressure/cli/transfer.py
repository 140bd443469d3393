"""``put`` and ``get``: move messages from standard input into a queue, and from a queue to standard output.

Rules:
    - Messages that arrived together are put together; ``put`` does not wait for more to arrive.
    - ``get`` takes together what is in the queue, and does not wait for more: as many messages as its output
      takes at once, judged by the lengths of the last ones.
    - At their end, even after an error, they print how many messages were acknowledged, and each lost one.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Sequence
from typing import Final

from pressure.cli.call import Call
from pressure.cli.counting import counting, messages_of, writer_of
from pressure.cli.framing import FORMATS
from pressure.cli.options import QUEUE
from pressure.cli.progress import Meter
from pressure.cli.status import DONE, LostError
from pressure.cli.stop import Stop
from pressure.cli.streams import Writer
from pressure.errors import (
    MalformedQueueError,
    OutcomeUnknownError,
    PressureError,
    QueueClosedError,
    QueueFullError,
)
from pressure.queue import Queue

#: How many messages are put or taken in one round trip at most.
_RUN: Final = 256


def put(call: Call) -> int:
    """Put messages from the arguments, or else from standard input."""
    if call.arguments.kind != QUEUE:
        from pressure.cli import kinds

        return kinds.put(call)
    options = call.arguments
    queue, framing = call.queue(options.name), FORMATS[options.format]()
    source, runs = messages_of(call, framing)
    with counting(call, "put", framing.unit, queue, source) as meter:
        if options.create:
            queue.create(options.bound or 0)
        producer = _Producer(call, queue, meter)
        for run in runs:
            producer.put(run)
        if options.close:
            queue.shutdown(options.timeout)
    return DONE


def _bound(queue: Queue) -> int:
    try:
        return queue.stats().bound
    except MalformedQueueError:  # a counter is wrong; or the bound is, and then the put fails
        return 0


class _Producer:
    """Puts messages, several in one round trip.

    One round trip has at most as many messages as the bound, so a put holds the role no longer than consumers
    need to empty the queue. With ``--acks`` each message is put alone, so that after a crash at most one is
    stored and not acknowledged.
    """

    def __init__(self, call: Call, queue: Queue, meter: Meter) -> None:
        self._call = call
        self._queue = queue
        self._meter = meter
        lines = FORMATS["lines"]()
        acks = call.arguments.acks
        self._acks = Writer(sys.stdout.fileno(), lines, call.signals) if acks else None
        self._most = 1 if acks else min(_RUN, _bound(queue) or _RUN)

    def put(self, run: Sequence[bytes]) -> None:
        """Put all messages of ``run`` in order."""
        while run:
            self._call.signals.check()
            some = run[: self._most]
            run = run[self._put(some) :]
            if self._acks:
                self._acks.write(b"%d" % self._meter.messages)

    def _put(self, some: Sequence[bytes]) -> int:
        """Put messages; returns how many were put. That is fewer if the queue was full until the timeout."""
        options, done = self._call.arguments, len(some)
        try:
            self._queue.put_many(some, timeout=options.timeout, overfill=options.overfill)
        except PressureError as error:
            done = error.done
            error.__notes__ = []  # they say how many were put, which is printed at the end
            if isinstance(error, OutcomeUnknownError) and len(some) > 1:
                error.add_note(f"any of the {len(some)} messages that were sent last may be in the queue")
            if not done or not isinstance(error, QueueFullError):
                raise
        finally:
            for message in some[:done]:
                self._meter.add(message)
        return done


def get(call: Call) -> int:
    """Write messages to standard output, up to ``--count``, until the queue is closed and empty."""
    if call.arguments.kind != QUEUE:
        from pressure.cli import kinds

        return kinds.get(call)
    options, output = call.arguments, sys.stdout.fileno()
    queue = call.queue(options.name, output)
    framing = FORMATS[options.format]()
    writer = writer_of(call, output, framing)
    with counting(call, "get", framing.unit, queue, output) as meter:
        take = _reliably if options.reliable else _plainly
        most = options.run or 1
        try:
            while options.count is None or meter.messages < options.count:
                writer.wait_ready()
                left = most if options.count is None else options.count - meter.messages
                ready = take(queue, writer, meter, min(left, most), options.timeout)
                most = options.run or ready
        except QueueClosedError:
            if options.delete:
                queue.delete(options.timeout)
    return DONE


def _plainly(queue: Queue, writer: Writer, meter: Meter, most: int, timeout: float | None) -> int:
    """Take messages and write them; returns how many to take next: as many as ``_next_run`` says.

    If the process is killed, messages not yet written are lost.
    """
    values = queue.get_many(most, timeout=timeout)
    longest = 0
    for number, value in enumerate(values):
        try:
            longest = max(longest, writer.write(value))
        except (Stop, OSError) as error:
            raise LostError(str(error), values[number:]) from error
        meter.add(value)
    return _next_run(len(values), longest)


def _next_run(taken: int, longest: int) -> int:
    """How many messages to take next, after ``taken`` of which the longest had so many bytes in the output.

    That is twice as many, if a pipe that is ready accepts them without waiting; at least one.
    """
    return max(1, min(2 * taken, _RUN, select.PIPE_BUF // longest))


def _reliably(queue: Queue, writer: Writer, meter: Meter, _: int, timeout: float | None) -> int:
    """Take a message and write it; returns 1. It goes back to the queue unless it was written."""
    with queue.receive(timeout=timeout) as message:
        writer.write(message.data)
    meter.add(message.data)
    return 1
