"""What has to hold of the rows that came out, to the row.

A row that was put comes out once, in its order. A server that goes back changes that, and only for rows that the pipeline
names: rows of batches that the sink says are lost may be missing, and rows that the source says it reads again may come twice
and later. What the server had of each row at that moment (``Kept``) says which rows these are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Kept", "Told", "wrong"]


@dataclass(frozen=True, slots=True)
class Kept:
    """What the server has after it went back.

    Attributes:
        first: the number that the stream gives to the first claimed row.
        claimed: the rows that are claimed and not acknowledged.
        queue: those that wait, the next first.
        put: those that came out, or are decided to.
    """

    first: int = 0
    claimed: Sequence[int] = ()
    queue: Sequence[int] = ()
    put: frozenset[int] = frozenset()

    @property
    def end(self) -> int:
        """The number that the stream gives to the next row."""
        return self.first + len(self.claimed)

    def named(self, numbers: Iterable[int]) -> set[int]:
        """The claimed rows that have these numbers in the stream."""
        return {self.claimed[each - self.first] for each in numbers if self.first <= each < self.end}

    def doubled(self, last: int) -> set[int]:
        """Those that come twice if the source reads again all before this number of the stream.

        The rows from ``end`` on wait, and Spark may have had them on their way when the server went back.
        """
        return {*self.queue[: last - self.end], *self.put.intersection(self.claimed)}


@dataclass(slots=True)
class Told:
    """What the pipeline said of a server that has gone back, by the stream's numbers of rows.

    Attributes:
        lost: the rows of batches that the sink says are lost.
        again: the row before which the source says that rows may come again, and the one that the server knew last.
    """

    lost: set[int] = field(default_factory=set)
    again: set[tuple[int, int]] = field(default_factory=set)

    def read_again(self, kept: Kept) -> int | None:
        """The number before which the source said that rows may come again, after this; None if it said nothing."""
        return max((row for row, end in self.again if end == kept.end), default=None)


def wrong(
    came: Sequence[int], wanted: Collection[int], unknown: Collection[int], kept: Sequence[Kept], told: Told
) -> tuple[list[str], str]:
    """What does not hold of one queue, and what rollbacks did.

    Args:
        came: the rows that came out, the oldest first.
        wanted: those that were put.
        unknown: those that may have been put.
        kept: what the server had after each time it went back.
        told: what the pipeline said of that.
    """
    counts = Counter(came)
    read_again = [(each, last) for each in kept if (last := told.read_again(each)) is not None]
    may_be_lost = {row for each in kept for row in each.named(told.lost)}
    more = Counter(row for each, last in read_again for row in each.doubled(last))
    late = {row for each, last in read_again for row in (*each.claimed, *each.doubled(last))}
    lost, in_order = {*wanted} - counts.keys(), [each for each in dict.fromkeys(came) if each not in late]
    doubled = sum(count > 1 for count in counts.values())
    found = [
        f"{len(some)} rows {what}, such as {sorted(some)[:5]}"
        for what, some in {
            "lost": lost - may_be_lost,
            "doubled": {each for each, count in counts.items() if count > 1 + more[each]},
            "that nobody put": counts.keys() - {*wanted} - {*unknown},
            "out of order": {after for before, after in pairwise(in_order) if after < before},
        }.items()
        if some
    ]
    return found, f"{len(lost)} lost of {len(may_be_lost)} named, {doubled} doubled of {len(more)} named"
