"""What a bounded queue with roles forbids: too many values, refusals, two at once, and puts after a close."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from .contents import gone_from, illegal, looked
from .model import NEVER, Facts, Operation, Verdict
from .values import Case, Values

__all__ = ["crowded", "falsely_closed", "falsely_full", "shared_role"]


def crowded(case: Case) -> Iterator[Verdict]:
    """A moment at which more values than the bound were in the queue for certain."""
    values, bound, facts = case.values, case.bound, case.facts
    if not bound:
        return
    most = bound + facts.slack
    entered, left = _certain(values)
    if facts.overfilling:
        yield from _put_onto_full(values, most, entered, left, facts)
        return
    place = 0
    for count, moment in enumerate(entered, 1):
        while place < len(left) and left[place] <= moment:
            place += 1
        if count - place > most:
            reason = f"{count - place} values were in the queue, and its bound is {bound}"
            yield illegal("bound", reason, *_present(values, moment))
            return


def _certain(values: Values) -> tuple[list[int], list[int]]:
    """The moments by which a value was in for certain, and those from which on one may be out, in order.

    What is being received is out, and stays so: it may go back though others were put meanwhile.
    """
    out = list(values.get_from)
    for row, look in looked(values):
        out[row] = min(out[row], look.receive.invoked)
    entered = sorted(moment for moment in values.put_to if moment != NEVER)
    left = [moment for moment, put in zip(out, values.put_to, strict=True) if moment != NEVER != put]
    count = len(values.names)
    left += [moment for moment, most, _ in values.open_takes for _ in range(min(most, count))]
    return entered, sorted(left)


def _put_onto_full(
    values: Values, most: int, entered: Sequence[int], left: Sequence[int], facts: Facts
) -> Iterator[Verdict]:
    """Puts of those who do not over-fill, during all of which there was no room."""
    for put in dict.fromkeys(values.putters):
        if put.client in facts.overfilling or put.returned is None:
            continue
        there = bisect_left(entered, put.invoked) - bisect_right(left, put.returned)
        if there >= most:
            reason = f"{put.client} put onto {there} values, and the bound is {most - facts.slack}"
            yield illegal("bound", reason, put, *_present(values, put.invoked - 1))


def _present(values: Values, moment: int) -> list[Operation]:
    """The puts of what was there for certain."""
    rows = zip(values.putters, values.put_to, values.get_from, strict=True)
    return list(dict.fromkeys(put for put, to, got in rows if to <= moment < got))


def falsely_full(case: Case) -> Iterator[Verdict]:
    """Answers that there is no room, at no moment of which the queue can have been full.

    A client that died may have taken the room along, until somebody heals the queue.
    """
    values, bound = case.values, case.bound
    if not values.full:
        return
    entered, died = sorted(values.put_from), _first_that_died(values)
    taken = zip(values.names, values.get_to, strict=True)
    left = sorted(moment for name, to in taken if (moment := values.settled_to.get(name, to)) != NEVER)
    for put in values.full:
        most = bisect_right(entered, put.end) - bisect_left(left, put.invoked)
        if put.end < died and (bound == 0 or most < (bound or 1)):
            of = "" if bound is None else f", and its bound is {bound or 'none'}"
            reason = f"{put.client} was told that it is full; {most} values were in it at most{of}"
            yield illegal("full", reason, put)


def _first_that_died(values: Values) -> int:
    """When the first of those operations began of which nobody knows how they ended."""
    opened = [moment for moment, _, _ in values.open_takes]
    opened += [begun for begun, to in zip(values.put_from, values.put_to, strict=True) if to == NEVER]
    opened += [look.receive.invoked for look in values.looks if not look.back]
    return min(opened, default=NEVER)


def falsely_closed(case: Case) -> Iterator[Verdict]:
    """Puts and closes that succeeded after a close, and answers that it is closed before it was."""
    values = case.values
    closed = [close for close in values.closes if close.returned is not None]
    if closed:
        first, *others = sorted(closed, key=attrgetter("end"))
        final = set(case.final or ())
        for row, begun in enumerate(values.put_from):
            seen = values.getters[row] is not None or values.names[row] in final
            if begun > first.end and (seen or values.put_to[row] != NEVER):
                put = values.putters[row]
                yield illegal("closed", f"{put.client} put after the queue was closed", first, put)
        for close in others:
            reason = f"{close.client} closed the queue, and {first.client} did, too"
            yield illegal("closed", reason, first, close)
    begun = min((close.invoked for close in values.closes), default=NEVER)
    for told in values.shut:
        if told.end < begun:
            reason = f"{told.client} was told that the queue is closed before it was"
            yield illegal("closed", reason, told, *values.closes[:1])


def shared_role(case: Case) -> Iterator[Verdict]:
    """Two at work in one role: a run of values with another's in it, or something got while another holds."""
    yield from _mixed_puts(case)
    yield from _mixed_gets(case.values)
    yield from _beside_holders(case.values)


def _mixed_puts(case: Case) -> Iterator[Verdict]:
    """A ``put_many`` among whose values, as they came or are there still, there is one of another client."""
    values = case.values
    batches = dict.fromkeys(put for put in values.putters if put.name == "put_many")
    if not batches:
        return
    gone = gone_from(case)
    got = sorted((moment, row) for row, moment in enumerate(values.get_from) if values.getters[row])
    begun = [moment for moment, _ in got]
    for batch in batches:
        rows = [
            row
            for value in batch.argument
            if (row := values.rows.get(value)) is not None
            and (values.getters[row] or values.put_to[row] != NEVER)
        ]
        if len(rows) < 2:
            continue
        after, before = min(values.get_to[row] for row in rows), max(gone[row] for row in rows)
        for _, row in got[bisect_right(begun, after) : bisect_left(begun, before)]:
            if values.get_to[row] < before and values.putters[row].client != batch.client:
                reason = f"{values.names[row]!r} came in the middle of what {batch.client} put at once"
                yield illegal("exclusive", reason, batch, values.putters[row], values.getters[row])


def _mixed_gets(values: Values) -> Iterator[Verdict]:
    """A ``get_many`` that got what was put around a value that another client got."""
    put = sorted((moment, row) for row, moment in enumerate(values.put_from))
    begun = [moment for moment, _ in put]
    for batch in dict.fromkeys(get for get in values.getters if get and get.name == "get_many"):
        rows = [row for value in batch.result or () if (row := values.rows.get(value)) is not None]
        if len(rows) < 2:
            continue
        after, before = min(values.put_to[row] for row in rows), max(values.put_from[row] for row in rows)
        for _, row in put[bisect_right(begun, after) : bisect_left(begun, before)]:
            getter = values.getters[row]
            if getter and values.put_to[row] < before and getter.client != batch.client:
                reason = (
                    f"{getter.client} got {values.names[row]!r} out of the middle of what {batch.client} got"
                )
                yield illegal("exclusive", reason, batch, values.putters[row], getter)


def _beside_holders(values: Values) -> Iterator[Verdict]:
    holds = sorted(values.holds, key=lambda hold: hold[1])
    last: dict[str, tuple[int, Operation]] = {}
    for role, since, until, holder in holds:
        if role in last and last[role][0] > since and last[role][1].client != holder.client:
            reason = f"{last[role][1].client} and {holder.client} held the role of the {role} at once"
            yield illegal("exclusive", reason, last[role][1], holder)
        last[role] = max(last.get(role, (0, holder)), (until, holder), key=lambda each: each[0])
    yield from _done_beside(holds, "producer", values.putters)
    takers = [operation for _, operation, _ in values.takes] + [look.receive for look in values.looks]
    yield from _done_beside(holds, "consumer", takers)


def _done_beside(
    holds: Sequence[tuple[str, int, int, Operation]], role: str, done: Sequence[Operation]
) -> Iterator[Verdict]:
    """Operations that began and ended while another client held their role."""
    mine = [hold for hold in holds if hold[0] == role]
    begun = [since for _, since, _, _ in mine]
    for operation in dict.fromkeys(done) if mine else ():
        place = bisect_left(begun, operation.invoked) - 1
        if place < 0:
            continue
        _, _, until, holder = mine[place]
        if until > operation.end and holder.client != operation.client:
            reason = f"{operation.client} was at work while {holder.client} held the role of the {role}"
            yield illegal("exclusive", reason, holder, operation)
