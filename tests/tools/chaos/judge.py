"""What has to hold of what the workers wrote down, and the figures of a run."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from .journal import Event

__all__ = ["Blow", "Findings", "judged"]


@dataclass(frozen=True, slots=True)
class Blow:
    """Something that was done to a worker or a server.

    Attributes:
        when: seconds.
        kind: what was done, such as ``killed``.
        role: the role that the worker held at that moment; empty if none.
    """

    when: float
    kind: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """What came of a run.

    Attributes:
        put: values whose put was acknowledged.
        doubtful: values whose put may or may not have been done.
        delivered: values that came out at least once.
        again: deliveries beyond the first of each value.
        unsettled: deliveries that were under way when something died: begun, and not known to be settled.
        standstill: the longest time in seconds without a delivery.
        alone: the longest of it after the last blow to a holder of a role: nothing else was in the way.
        blows: how many of each kind.
        recovery: seconds until a role that was hit worked again, by the kind of blow.
        errors: what workers were told, and how often.
        wrong: what should not be, a sentence each.
    """

    put: int = 0
    doubtful: int = 0
    delivered: int = 0
    again: int = 0
    unsettled: int = 0
    standstill: float = 0.0
    alone: float = 0.0
    blows: Counter[str] = field(default_factory=Counter)
    recovery: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    wrong: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The figures, for people."""
        lines = [
            f"{self.put:,} messages put, {self.doubtful:,} more of which nobody knows",
            f"{self.delivered:,} messages delivered, and {self.again:,} times one of them again",
            f"{self.unsettled:,} deliveries were under way when something died",
            "done to workers and servers: " + _counted(self.blows),
            "told to workers: " + (_counted(self.errors) or "nothing"),
            f"standstill: {self.standstill:.1f} s; after the last blow to a holder {self.alone:.1f} s",
        ]
        lines += [
            f"a role's holder was {kind}: worked again after {median(times):.2f} s (median of {len(times)}), "
            f"{max(times):.2f} s at most"
            for kind, times in sorted(self.recovery.items())
        ]
        return "\n".join((*lines, *(f"WRONG: {each}" for each in self.wrong)))


def _counted(what: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(what.items()))


def judged(
    events: Sequence[Event], blows: Sequence[Blow], left: Iterable[str] = (), *, most: float = 20.0
) -> Findings:
    """What came of a run.

    Args:
        events: what the workers wrote down, in order.
        blows: what was done to them.
        left: the values that are in the queue at the end.
        most: seconds for which the queue may stand still after a holder was hit, and no other was.
    """
    of: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        of[event.kind].append(event)
    put = {event.value for event in of["put"]}
    doubtful = {event.value for event in of["putting"]} - put
    times = [event.when for event in of["got"]]
    still = max((after - before for before, after in pairwise(times)), default=0.0)
    hits = sorted(blow.when for blow in blows if blow.role)
    alone = max((_undisturbed(before, after, hits) for before, after in pairwise(times)), default=0.0)
    deliveries, settled = (
        Counter(event.value for event in of["got"]),
        Counter(each.value for each in of["done"]),
    )
    wrong = [
        *_lost(put, deliveries, left),
        *(f"{value} came, and nobody put it" for value in deliveries.keys() - put - doubtful),
        *_doubled(settled),
        *_disordered(of["got"], settled),
        *([f"the queue stood still for {alone:.1f} s"] if alone > most else []),
    ]
    return Findings(
        put=len(put), doubtful=len(doubtful), delivered=len(deliveries),
        again=deliveries.total() - len(deliveries), unsettled=deliveries.total() - settled.total(),
        standstill=still, alone=alone, blows=Counter(blow.kind for blow in blows),
        recovery=_recovery(of, blows),
        errors=Counter(event.value for event in of["error"]), wrong=tuple(wrong),
    )  # fmt: skip


def _undisturbed(before: float, after: float, hits: Sequence[float]) -> float:
    """How much of a standstill there was after the last holder was hit in it."""
    last = bisect_left(hits, after)
    return after - max(before, hits[last - 1] if last else before)


def _lost(put: set[str], deliveries: Counter[str], left: Iterable[str]) -> Iterator[str]:
    for value in sorted(put - deliveries.keys() - set(left)):
        yield f"{value} was put, and is lost"


def _doubled(settled: Counter[str]) -> Iterator[str]:
    """A value may come again as long as no delivery of it was acknowledged.

    What came again after that would be acknowledged again. It does not count by itself that it came: a worker
    may be frozen before it writes down what it was given long before.
    """
    return (f"{value} was acknowledged {count} times" for value, count in settled.items() if count > 1)


def _disordered(got: Sequence[Event], settled: Counter[str]) -> Iterator[str]:
    """The values of one producer come in order, as far as each was delivered once and acknowledged."""
    last: dict[str, int] = {}
    deliveries = Counter(event.value for event in got)
    for event in got:
        if deliveries[event.value] == settled[event.value] == 1:
            producer, number = event.value.rsplit(".", 1)
            if int(number) < last.get(producer, -1):
                yield f"{event.value} came after {producer}.{last[producer]}"
            last[producer] = int(number)


def _recovery(of: dict[str, list[Event]], blows: Sequence[Blow]) -> dict[str, list[float]]:
    """How long it took until somebody worked again in a role whose holder was hit."""
    times = {"producer": [each.when for each in of["put"]], "consumer": [each.when for each in of["got"]]}
    found: dict[str, list[float]] = defaultdict(list)
    for blow in blows:
        if blow.role:
            after = bisect_right(times[blow.role], blow.when)
            if after < len(times[blow.role]):
                found[blow.kind].append(times[blow.role][after] - blow.when)
    return dict(found)
