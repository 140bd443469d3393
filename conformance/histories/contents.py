"""What a FIFO queue's values must be: put before they are got, got once, and never lost.

What an open get may have taken counts for it. A get that is open can have taken a value that nobody else
got, as long as it began before anything that was put later was got; the values that need an open get are
given one each.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from .model import NEVER, Operation, Verdict
from .values import Case, Look, Values

__all__ = ["counted", "duplicate", "gone_from", "invented", "lost", "mismatched"]


def illegal(violation: str, reason: str, *operations: Operation | None) -> Verdict:
    """The verdict."""
    return Verdict("illegal", violation, reason, tuple(each for each in operations if each is not None))


def invented(case: Case) -> Iterator[Verdict]:
    """Values that were got without a put, before it, or though it failed."""
    values = case.values
    for value, operation in _seen(case):
        row = values.rows.get(value)
        if row is None:
            refused = values.refused.get(value)
            what = "though its put failed" if refused else "and nobody put it"
            yield illegal("invented", f"{value!r} came, {what}", refused, operation)
        elif operation is not None and operation.end < values.put_from[row]:
            reason = f"{value!r} was got before its put began"
            yield illegal("invented", reason, operation, values.putters[row])


def mismatched(case: Case) -> Iterator[Verdict]:
    """More values than a get asked for, and an acknowledgement of what was not received."""
    for operations in case.values.mismatched:
        last = operations[-1]
        if len(operations) == 1:
            what = f"got {len(last.result or ())} values, which is more than it asked for"
        else:
            what = f"did {last.name} of another value than it had received"
        yield illegal("mismatched", f"{last.client} {what}", *operations)


def _seen(case: Case) -> Iterator[tuple[bytes, Operation | None]]:
    values = case.values
    yield from ((value, operation) for value, operation, _ in values.takes)
    yield from ((look.value, look.receive) for look in values.looks)
    yield from ((value, None) for value in case.final or ())


def duplicate(case: Case) -> Iterator[Verdict]:
    """Values that came after they had been taken for good."""
    values, final = case.values, case.final
    taken: dict[bytes, Operation] = {}
    for value, operation, _ in values.takes:
        if value in taken:
            yield illegal("duplicate", f"{value!r} was got twice", taken[value], operation)
        taken.setdefault(value, operation)
    for look in values.looks:
        first = taken.get(look.value)
        if first is not None and first.end < look.receive.invoked:
            yield illegal("duplicate", f"{look.value!r} came again", first, look.receive)
    seen: set[bytes] = set()
    for value in final or ():
        if value in taken or value in seen:
            reason = f"{value!r} is in the queue at the end, though it was got or is there twice"
            yield illegal("duplicate", reason, taken.get(value))
        seen.add(value)


def lost(case: Case) -> Iterator[Verdict]:
    """Values whose put was acknowledged, and that are nowhere; or that were overtaken and never came."""
    values, final = case.values, case.final
    maybe = {look.value for look in values.looks if not look.back}
    kept = set(final or ()) | maybe
    missing = [
        row
        for row, getter in enumerate(values.getters)
        if getter is None and values.put_to[row] != NEVER and values.names[row] not in kept
    ]
    if missing:
        yield from _given_to_open_gets(values, missing, everything=final is not None)


def _given_to_open_gets(values: Values, missing: Sequence[int], *, everything: bool) -> Iterator[Verdict]:
    overtaken = Overtaken(values)
    due = sorted((overtaken.since(row), row) for row in missing)
    if not everything:  # what nobody overtook is in the queue still
        due = [(since, row) for since, row in due if since != NEVER]
    begun = open_moments(values)
    for place, (since, row) in enumerate(due):
        if place >= len(begun) or begun[place] > since:
            yield _lost(values, row, overtaken, everything=everything)
            return


def _lost(values: Values, row: int, overtaken: Overtaken, *, everything: bool) -> Verdict:
    put, value = values.putters[row], values.names[row]
    if everything:
        reason = f"{value!r} was put, was not got, and is not in the queue at the end"
        return illegal("loss", reason, put)
    other = overtaken.by(row)
    reason = f"{value!r} never came, though {values.names[other]!r}, which was put later, did"
    seen = next((look.receive for row, look in looked(values) if row == other), None)
    return illegal("order", reason, put, values.putters[other], values.getters[other] or seen)


def open_moments(values: Values) -> list[int]:
    """Since when each value that an open operation may have taken may have been; no more than there are."""
    count = len(values.names)
    return sorted(moment for moment, most, _ in values.open_takes for _ in range(min(most, count)))


class Overtaken:
    """Says since when a value that did not come was overtaken by one that was put later.

    A value has overtaken others as soon as it was at the front: got, or received and put back.
    """

    def __init__(self, values: Values) -> None:
        self._values = values
        front = _at_front(values)
        self._later = sorted(range(len(values.names)), key=values.put_from.__getitem__)
        self._begun = [values.put_from[row] for row in self._later]
        least, self._soonest = NEVER, list[tuple[int, int]]()
        for row in reversed(self._later):
            least, who = min((least, self._soonest[-1][1] if self._soonest else row), (front[row], row))
            self._soonest.append((least, who))
        self._soonest.reverse()

    def _soonest_after(self, row: int) -> tuple[int, int]:
        place = bisect_right(self._begun, self._values.put_to[row])
        return self._soonest[place] if place < len(self._soonest) else (NEVER, row)

    def since(self, row: int) -> int:
        """The moment by which one that was put wholly later was at the front; never, if none was."""
        return self._soonest_after(row)[0]

    def by(self, row: int) -> int:
        """The one."""
        return self._soonest_after(row)[1]


def _at_front(values: Values) -> list[int]:
    """The latest moment at which each value was at the front for the first time; never, if nobody saw it."""
    front = list(values.get_to)
    for row, look in looked(values):
        front[row] = min(front[row], look.receive.end)
    return front


def counted(case: Case) -> Iterator[Verdict]:
    """What can be said of values that were put more than once: how often each came."""
    values, final = case.values, case.final
    came = Counter(value for value, _, _ in values.takes)
    left = Counter(final or ())
    spare = len(open_moments(values))
    maybe = Counter(look.value for look in values.looks if not look.back)
    for value, puts in values.repeated.items():
        sure = sum(put.returned is not None for put in puts)
        if came[value] + left[value] > len(puts):
            yield illegal("duplicate", f"{value!r} was put {len(puts)} times and came more often", *puts)
        elif final is not None and came[value] + left[value] + maybe[value] + spare < sure:
            yield illegal("loss", f"{value!r} was put {sure} times and came less often", *puts)


def gone_from(case: Case) -> list[int]:
    """The earliest moment at which each value may have been taken for good; never, if it is there still."""
    values, stays = case.values, set(case.final or ())
    opened = min((moment for moment, _, _ in values.open_takes), default=NEVER)
    unsettled = {row: look.receive.invoked for row, look in looked(values) if not look.back}
    return [
        moment if moment != NEVER or values.names[row] in stays else min(opened, unsettled.get(row, NEVER))
        for row, moment in enumerate(values.get_from)
    ]


def looked(values: Values) -> Iterator[tuple[int, Look]]:
    """What was looked at, with its number."""
    return ((row, look) for look in values.looks if (row := values.rows.get(look.value)) is not None)
