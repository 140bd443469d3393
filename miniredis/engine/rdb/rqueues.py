"""Reliable queues in a payload of our own: the last id, what is undelivered, what is delivered."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from ..numbers.numbers import MAX
from ..values.rqueues import Delivery, RQueue
from .kinds import MODULE_2
from .modules import END, module_id, read_text, read_unsigned, text, unsigned
from .reader import BadDataError, Reader, length

__all__ = ["MODULE_ID", "dump_rqueue", "load_rqueue"]

MODULE_ID: Final = module_id("mr-RQUEUE", 1)
"""Not the number of the module's own type: what that writes is laid out otherwise, and lacks the last id."""

MOST_DELIVERIES: Final = MAX >> 1
"""Nobody counts so far; a payload that says so would let the counter leave 64 bits."""

Id = tuple[int, int]

FIRST: Final[Id] = (0, 0)
"""Below every id: what the last one of a queue is before there is any."""


def dump_rqueue(queue: RQueue) -> bytes:
    """A queue as a miniredis server reads it; any other refuses it."""
    parts = [bytes([MODULE_2]), length(MODULE_ID), two(queue.last), unsigned(len(queue.undelivered))]
    parts += [dump_id(each) + text(payload) for each, payload in queue.undelivered]
    parts.append(unsigned(len(queue.delivered)))
    for each, (payload, time, deliveries) in queue.delivered.items():
        parts += [dump_id(each), text(payload), unsigned(time), unsigned(deliveries)]
    return b"".join([*parts, END])


def dump_id(text: bytes) -> bytes:
    milliseconds, _, sequence = text.partition(b"-")
    return two((int(milliseconds), int(sequence)))


def two(number: Id) -> bytes:
    return unsigned(number[0]) + unsigned(number[1])


def load_rqueue(reader: Reader) -> RQueue:
    """A queue; raises ``BadDataError`` where its ids are not such as a queue gives."""
    queue = RQueue()
    queue.last = read_two(reader)
    undelivered = [(read_two(reader), read_text(reader)) for _ in range(read_unsigned(reader))]
    delivered = [(read_two(reader), read_delivery(reader)) for _ in range(read_unsigned(reader))]
    before = {number for number, _ in delivered}
    rising = [max(before, default=FIRST), *(number for number, _ in undelivered)]
    if len(before) != len(delivered) or FIRST in before or max(rising) > queue.last:
        raise BadDataError
    if any(one >= other for one, other in pairwise(rising)):
        raise BadDataError
    queue.undelivered.extend((id_text(number), payload) for number, payload in undelivered)
    queue.delivered.update((id_text(number), delivery) for number, delivery in delivered)
    return queue.copy()


def read_delivery(reader: Reader) -> Delivery:
    payload, time, deliveries = read_text(reader), read_unsigned(reader), read_unsigned(reader)
    if time > MAX or not 0 < deliveries <= MOST_DELIVERIES:
        raise BadDataError
    return payload, time, deliveries


def read_two(reader: Reader) -> Id:
    return read_unsigned(reader), read_unsigned(reader)


def id_text(number: Id) -> bytes:
    return b"%d-%d" % number
