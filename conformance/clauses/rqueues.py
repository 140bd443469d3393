"""The commands of RedisMQ's README, asked of servers that have them; its messages are asked of any in ``queues``.

A plain Redis has none of these commands. Decided is what the README leaves open; the published module and its
later versions say it.
"""

from __future__ import annotations

from typing import Final

from .model import Clause, Level

__all__ = ["RQUEUES"]

THERE: Final = ("reliable-queues",)


def of(id_: str, place: str, text: str, *, level: Level = "must") -> Clause:
    return Clause(id_, ("redismq",), place, level, text, THERE)


RQUEUES: Final = (
    of("mq.type", "The Reliable Queue", "A queue is a type of its own."),
    of("mq.fifo", "The Reliable Queue", "What is pushed first is popped first."),
    of("mq.two-lists", "The Reliable Queue", "What is popped goes from the undelivered to the delivered."),
    of("mq.memory", "The Reliable Queue", "What is acknowledged takes no memory any more."),
    of("mq.push.creates", "MQ.PUSH", "A push to a missing key creates the queue."),
    of("mq.push.ids", "MQ.PUSH", "Each element is given an id like a stream's, in the order of the arguments."),
    of("mq.push.wrong-type", "MQ.PUSH", "A key that holds something else is an error."),
    of("mq.pop.reply", "MQ.POP", "A pop answers an array of so many elements, each its id and its payload."),
    of("mq.pop.missing", "MQ.POP", "Of a missing key a pop answers null."),
    of("mq.pop.wrong-type", "MQ.POP", "A key that holds something else is an error."),
    of("mq.pop.nothing", "MQ.POP", "With nothing undelivered a pop answers null.", level="decided"),
    of("mq.pop.count-bad", "MQ.POP", "A count below 1, or no number, is an error and pops nothing.", level="decided"),
    of("mq.pop.keys", "MQ.POP", "With KEYS the first key goes first, and each element names its key.", level="decided"),
    of("mq.pop.block", "MQ.POP", "With BLOCK a pop waits, and who waits longest is served first.", level="decided"),
    of("mq.pop.timed-out", "MQ.POP", "When the time of BLOCK is over the reply is null.", level="decided"),
    of("mq.ack.removes", "MQ.ACK", "What is acknowledged leaves the delivered."),
    of("mq.ack.reply", "MQ.ACK", "The reply has the ids that were removed, and no others."),
    of("mq.ack.nothing", "MQ.ACK", "Of a missing key it is null, with nothing delivered it is empty.", level="decided"),
    of("mq.recover.elapsed", "MQ.RECOVER", "What was delivered so long ago is recovered, and nothing else."),
    of("mq.recover.count", "MQ.RECOVER", "Up to so many elements are, each its id and its payload."),
    of("mq.recover.deliveries", "MQ.RECOVER", "Its deliveries are one more."),
    of("mq.recover.timestamp", "MQ.RECOVER", "The time of its last delivery is the server's time now."),
    of("mq.recover.moves", "MQ.RECOVER", "It goes to the end of the delivered, which stay ordered by last delivery."),
    of("mq.inspect.undelivered", "MQ.INSPECT", "The undelivered are told from a place on, each its id and payload."),
    of("mq.inspect.negative", "MQ.INSPECT", "A negative start counts from the end."),
    of("mq.inspect.pending", "MQ.INSPECT", "With PENDING the delivered: id, payload, last delivery, elapsed, deliveries."),
    of("mq.inspect.missing", "MQ.INSPECT", "A missing key is an error; a place past the end is empty.", level="decided"),
    of("mq.info", "MQ.QINFO", "The last id and both lengths are told.", level="decided"),
)  # fmt: skip
