"""The order of a FIFO queue: nothing is overtaken, and nobody finds it empty while something is in it.

With distinct values these two, beside what ``contents`` asks for, are all that there is to linearizability
of a queue without a bound (Henzinger, Sezgin and Vafeiadis, Aspect-oriented linearizability proofs, CONCUR
2013: VFresh, VRepet, VOrd, VWit). Each is one sort and one sweep.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from .contents import gone_from, illegal, looked
from .model import NEVER, Operation, Verdict
from .values import Case, Values

__all__ = ["falsely_empty", "out_of_order"]

_UNKNOWN = -NEVER
"""A moment before all others."""


def out_of_order(case: Case) -> Iterator[Verdict]:
    """A value that was put wholly before another one, and got wholly after it."""
    yield from _swept(case.values, _left(case))
    yield from _batches(case.values)


def _left(case: Case) -> dict[int, int]:
    """The place of each value that was left, by its number."""
    values, final = case.values, case.final
    rows = (values.rows.get(value) for value in final or ())
    return {row: place for place, row in enumerate(rows) if row is not None and values.getters[row] is None}


def _swept(values: Values, left: dict[int, int]) -> Iterator[Verdict]:
    """Goes through the values as their puts began; of those whose puts were over, which was got last?"""
    taken, front = _moments(values, left)
    over = sorted((to, row) for row, to in enumerate(values.put_to) if taken[row] != _UNKNOWN)
    last, who, place = _UNKNOWN, -1, 0
    for begun, at_front, row in sorted(front):
        while place < len(over) and over[place][0] < begun:
            earlier = over[place][1]
            place += 1
            if taken[earlier] > last:
                last, who = taken[earlier], earlier
        if at_front < last:
            yield _overtaken(values, who, row)


def _moments(values: Values, left: dict[int, int]) -> tuple[list[int], list[tuple[int, int, int]]]:
    """When each value was taken at the earliest if anybody knows, and which was at the front by when."""
    end = _end(values)
    taken = [_UNKNOWN if moment == NEVER else moment for moment in values.get_from]
    front = [
        (begun, to, row) for row, (begun, to) in enumerate(zip(values.put_from, values.get_to, strict=True))
    ]
    for row, place in left.items():
        taken[row] = end + place
        front[row] = (values.put_from[row], end + place, row)
    for row, look in looked(values):
        front.append((values.put_from[row], look.receive.end, row))
        if taken[row] == _UNKNOWN and not look.back:
            taken[row] = look.receive.invoked
    return taken, front


def _end(values: Values) -> int:
    """A moment behind all that is known."""
    looks = [look.receive.end for look in values.looks]
    known = (moment for column in (values.put_from, values.put_to, values.get_to, looks) for moment in column)
    return max((moment for moment in known if moment != NEVER), default=0) + 1


def _overtaken(values: Values, first: int, second: int) -> Verdict:
    reason = f"{values.names[first]!r} was put before {values.names[second]!r}, and came after it"
    rows = (first, second)
    getters = (values.getters[row] for row in (second, first))
    return illegal("order", reason, *(values.putters[row] for row in rows), *getters)


def _batches(values: Values) -> Iterator[Verdict]:
    """Values that were put by one operation, and got in another order; or the other way round."""
    rows = values.rows
    for operation in _many(values.putters):
        mine = [row for value in operation.argument if (row := rows.get(value)) is not None]
        got = [row for row in mine if values.getters[row] is not None]
        yield from _ascending(values, got)
    for operation in _many(values.getters):
        got = [row for value in operation.result or () if (row := rows.get(value)) is not None]
        yield from _as_put(values, got)


def _many(operations: Sequence[Operation | None]) -> Iterator[Operation]:
    """Those of several values, each once."""
    last = None
    for operation in operations:
        if operation is not None and operation is not last and operation.name.endswith("_many"):
            yield operation
        last = operation


def _ascending(values: Values, rows: Sequence[int]) -> Iterator[Verdict]:
    last = -1
    for row in rows:
        if last >= 0 and values.get_to[row] < values.get_from[last]:
            yield _overtaken(values, last, row)
        if last < 0 or values.get_from[row] > values.get_from[last]:
            last = row


def _as_put(values: Values, rows: Sequence[int]) -> Iterator[Verdict]:
    """Of the values of one get: each was put before the next, or may have been."""
    last = -1
    for row in rows:
        if last >= 0:
            swapped = values.putters[row] is values.putters[last] and row < last
            if swapped or values.put_to[row] < values.put_from[last]:
                yield _overtaken(values, row, last)
        if last < 0 or values.put_from[row] > values.put_from[last]:
            last = row


def falsely_empty(case: Case) -> Iterator[Verdict]:
    """Answers that there is nothing, at no moment of which the queue can have been empty."""
    values = case.values
    if not values.empties:
        return
    begins, ends = _filled(case)
    for operation in values.empties:
        place = bisect_left(begins, operation.invoked) - 1
        if place >= 0 and ends[place] > operation.end:
            there = _there(values, operation)
            yield illegal(
                "empty", f"{operation.client} was told that it is empty, and it was not", operation, *there
            )


def _filled(case: Case) -> tuple[list[int], list[int]]:
    """The stretches of time during which something was in the queue for certain, in order."""
    gone, begins, ends = gone_from(case), list[int](), list[int]()
    for since, row in sorted((to, row) for row, to in enumerate(case.values.put_to) if to != NEVER):
        until = gone[row]
        if until <= since:
            continue
        if ends and since < ends[-1]:
            ends[-1] = max(ends[-1], until)
        else:
            begins.append(since)
            ends.append(until)
    return begins, ends


def _there(values: Values, operation: Operation, most: int = 4) -> list[Operation]:
    """Puts of some of what was there."""
    return [
        put
        for put, to, got in zip(values.putters, values.put_to, values.get_from, strict=True)
        if to < operation.end and got > operation.invoked
    ][:most]
