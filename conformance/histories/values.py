"""What became of each value of a FIFO queue: when it may have been put, and when it may have been taken.

A table of columns instead of an object for each value, since there may be half a million of them. A value
that was received and put back, or whose receiver died, was looked at: it was at the front then, and may
come again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from .model import NEVER, Facts, Operation

__all__ = ["Case", "Look", "Values", "collected"]


@dataclass(frozen=True, slots=True)
class Look:
    """A receive that did not take its value for good, or may not have.

    Attributes:
        value: what was received.
        receive: the operation.
        settled: the ``put_back``, or the ``ack`` that failed; None if there was neither.
        back: whether the value went back for certain.
    """

    value: bytes
    receive: Operation
    settled: Operation | None
    back: bool


@dataclass(slots=True)
class Values:
    """What became of each value, and what was answered without one.

    Attributes:
        rows: the number of each value that was put, or may have been.
        names: the values by number, as are the other columns.
        put_from: the earliest moment of its put.
        put_to: the latest moment; never, if nobody knows.
        putters: the operations.
        get_from: the earliest moment at which it was taken for good; never, if it was not.
        get_to: the latest moment at which it was at the front.
        getters: the operations.
        repeated: values that were put more than once; they are not in the table, but for the first.
        refused: values whose put failed.
        takes: all that was taken for good, and by whom.
        looks: what was received and not taken for certain.
        open_takes: moments since when something may have been taken, and how much at most.
        empties: operations that found nothing.
        shut: operations that were told that the queue is closed.
        closes: those that closed it, or may have.
        holds: a role, and since when and until when a client held it for certain, and the client's operation.
        full: puts that were told that there is no room.
        mismatched: gets that got more values than they asked for, and settlements of another value than was
            received, each behind its receive.
        settled_to: the ends of acknowledgements, by the values.
    """

    rows: dict[bytes, int] = field(default_factory=dict)
    names: list[bytes] = field(default_factory=list)
    put_from: list[int] = field(default_factory=list)
    put_to: list[int] = field(default_factory=list)
    putters: list[Operation] = field(default_factory=list)
    get_from: list[int] = field(default_factory=list)
    get_to: list[int] = field(default_factory=list)
    getters: list[Operation | None] = field(default_factory=list)
    repeated: dict[bytes, list[Operation]] = field(default_factory=dict)
    refused: dict[bytes, Operation] = field(default_factory=dict)
    takes: list[tuple[bytes, Operation, int]] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    open_takes: list[tuple[int, int, Operation]] = field(default_factory=list)
    empties: list[Operation] = field(default_factory=list)
    shut: list[Operation] = field(default_factory=list)
    closes: list[Operation] = field(default_factory=list)
    holds: list[tuple[str, int, int, Operation]] = field(default_factory=list)
    full: list[Operation] = field(default_factory=list)
    mismatched: list[tuple[Operation, ...]] = field(default_factory=list)
    settled_to: dict[bytes, int] = field(default_factory=dict)
    received: dict[str, Operation] = field(default_factory=dict)

    def put(self, value: bytes, operation: Operation) -> None:
        """A value was put, or may have been."""
        if value in self.rows:
            first = self.putters[self.rows[value]]
            self.repeated.setdefault(value, [first]).append(operation)
            return
        self.rows[value] = len(self.names)
        self.names.append(value)
        self.put_from.append(operation.invoked)
        self.put_to.append(operation.end)
        self.putters.append(operation)
        self.get_from.append(NEVER)
        self.get_to.append(NEVER)
        self.getters.append(None)


@dataclass(frozen=True, slots=True)
class Case:
    """What the rules look at.

    Attributes:
        values: of one queue.
        final: what was in it at the end, what comes next first; None if nobody looked.
        bound: of the queue; 0 if it has none, and None if nobody knows.
        facts: what is known of the run.
    """

    values: Values
    final: tuple[bytes, ...] | None = None
    bound: int | None = None
    facts: Facts = field(default_factory=Facts)


def collected(operations: Iterable[Operation]) -> Values:
    """The table of a queue's operations."""
    values = Values()
    others: list[tuple[Callable[[Values, Operation], None], Operation]] = []
    for operation in sorted(operations, key=attrgetter("invoked")):
        if operation.name in _PUTS:
            _put(values, operation)
        elif operation.name in _OTHERS:
            others.append((_OTHERS[operation.name], operation))
    for take, operation in others:  # a get may begin before the put of what it gets
        take(values, operation)
    for receive in values.received.values():
        values.looks.append(Look(_value(receive), receive, None, back=False))
    for value, operation, to in values.takes:
        row = values.rows.get(value)
        if row is not None and values.getters[row] is None:
            values.get_from[row], values.get_to[row] = operation.invoked, to
            values.getters[row] = operation
    return values


def _put(values: Values, operation: Operation) -> None:
    put: tuple[bytes, ...] = operation.argument
    if operation.outcome == "error":
        done = int(operation.result[0]) if operation.result else 0
        put = operation.argument[:done]
        values.refused.update(dict.fromkeys(operation.argument[done:], operation))
        _refused(values, operation)
    for value in put:
        values.put(value, operation)


def _take(values: Values, operation: Operation) -> None:
    if operation.outcome == "error":
        _nothing(values, operation)
    elif operation.outcome == "open":
        most = int(operation.argument[0]) if operation.name == "get_many" else 1
        values.open_takes.append((operation.invoked, most, operation))
    else:
        got = operation.result or ()
        if len(got) > (int(operation.argument[0]) if operation.name == "get_many" else 1):
            values.mismatched.append((operation,))
        if not got:
            values.empties.append(operation)
        values.takes += [(value, operation, operation.end) for value in got]


def _nothing(values: Values, operation: Operation) -> None:
    if operation.error in {"QueueEmptyError", "QueueClosedError"}:
        values.empties.append(operation)
    _refused(values, operation)


def _refused(values: Values, operation: Operation) -> None:
    if operation.error == "QueueClosedError":
        values.shut.append(operation)
    elif operation.error == "QueueFullError":
        values.full.append(operation)


def _receive(values: Values, operation: Operation) -> None:
    if operation.outcome != "ok":
        _take(values, operation)
        return
    if len(operation.result or ()) > 1:
        values.mismatched.append((operation,))
    if (before := values.received.pop(operation.client, None)) is not None:
        values.looks.append(Look(_value(before), before, None, back=False))
    values.received[operation.client] = operation


def _settle(values: Values, operation: Operation) -> None:
    receive = values.received.pop(operation.client, None)
    if receive is None:
        return
    if operation.outcome == "ok" and operation.argument and operation.argument != receive.result:
        values.mismatched.append((receive, operation))
    if operation.outcome == "ok":
        values.holds.append(("consumer", receive.end, operation.invoked, receive))
    if operation.outcome == "ok" and operation.name == "ack":
        values.takes.append((_value(receive), receive, receive.end))
        values.settled_to[_value(receive)] = operation.end
    else:
        back = operation.outcome == "ok"
        values.looks.append(Look(_value(receive), receive, operation, back))


def _value(receive: Operation) -> bytes:
    return (receive.result or (b"",))[0]


def _hold(values: Values, operation: Operation) -> None:
    if operation.returned is not None:
        role = operation.argument[0].decode("latin-1")
        values.holds.append((role, operation.invoked, operation.returned, operation))


def _close(values: Values, operation: Operation) -> None:
    if operation.outcome == "error":
        _refused(values, operation)
    else:
        values.closes.append(operation)


_PUTS: Final = frozenset({"put", "put_many"})

_OTHERS: Final[Mapping[str, Callable[[Values, Operation], None]]] = {
    "get": _take,
    "get_many": _take,
    "receive": _receive,
    "ack": _settle,
    "put_back": _settle,
    "close": _close,
    "hold": _hold,
}
"""What is noted of each operation, by its name; others say nothing of values."""
