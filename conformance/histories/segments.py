"""Cuts the history of a FIFO queue where nothing is under way, so that each part can be judged by itself.

A part that begins with values in the queue begins with the puts that put them, at the moments at which they
did: nothing that the order rests on is lost. What came before a part is not known in it: a value that comes
once in each of two parts is ``invented`` in the second one, and not a ``duplicate``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

from .model import NEVER, Operation

__all__ = ["Segment", "segments"]

_PUTS = frozenset({"put", "put_many"})


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a history.

    Attributes:
        operations: what was carried over, and what happened in it.
        carried: how many of them were carried over: puts of what was in the queue when it began, and closes.
        last: whether nothing follows; only then do final contents belong to it.
    """

    operations: tuple[Operation, ...]
    carried: int
    last: bool


class _Contents:
    """What is in the queue, if all that has ended did what it says."""

    def __init__(self) -> None:
        self.puts: dict[bytes, Operation] = {}
        self.closes: list[Operation] = []
        self.received: dict[str, bytes] = {}

    def add(self, operation: Operation) -> None:
        """An operation has ended."""
        done = operation.outcome == "ok"
        if operation.name in _PUTS:
            count = len(operation.argument) if done else int((operation.result or (b"0",))[0])
            self.puts.update(dict.fromkeys(operation.argument[:count], operation))
        elif operation.name in {"get", "get_many"} and done:
            for value in operation.result or ():
                self.puts.pop(value, None)
        elif operation.name == "receive" and done:
            self.received[operation.client] = (operation.result or (b"",))[0]
        elif operation.name in {"ack", "put_back"}:
            value = self.received.pop(operation.client, b"")
            if done and operation.name == "ack":
                self.puts.pop(value, None)
        elif operation.name == "close" and done:
            self.closes.append(operation)

    def carried(self) -> list[Operation]:
        """As puts of what is left, and closes."""
        left: dict[Operation, list[bytes]] = {}
        for value, put in self.puts.items():
            left.setdefault(put, []).append(value)
        puts = [
            replace(put, argument=tuple(values), result=None, outcome="ok", error="")
            for put, values in left.items()
        ]
        return puts + self.closes


def _puts_first(operation: Operation) -> tuple[bool, int]:
    """A get may come back before the put of what it got."""
    return operation.name not in _PUTS, operation.end


def segments(operations: Iterable[Operation], size: int = 1) -> Iterator[Segment]:
    """Cuts the history of one queue.

    Args:
        operations: of one queue, in whatever order.
        size: a part has so many operations at least, before it ends where the queue is empty; from twice as
            many on it ends wherever nothing is under way.
    """
    part, contents = list[Operation](), _Contents()
    ended: list[Operation] = []
    carried, over = 0, -1
    for operation in sorted(operations, key=attrgetter("invoked")):
        fresh = len(part) - carried
        if operation.invoked > over and fresh >= size:
            for done in sorted(ended, key=_puts_first):
                contents.add(done)
            ended.clear()
            if not contents.received and (not contents.puts or fresh >= 2 * size):
                yield Segment(tuple(part), carried, last=False)
                part = contents.carried()
                carried = len(part)
        part.append(operation)
        ended.append(operation)
        over = max(over, NEVER if operation.outcome == "open" else operation.end)
    yield Segment(tuple(part), carried, last=True)
