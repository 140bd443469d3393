"""What a picture of a history shows: the operations that a verdict is about, and those nearest to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .model import NEVER, History, Operation, Verdict

__all__ = ["MOST", "NEAR", "Scene", "scene_of"]

MOST = 200
"""Operations in a drawing at most."""

NEAR = 20
"""Operations that a verdict is about whose neighbours are shown."""


@dataclass(frozen=True)
class Scene:
    """What is shown.

    Attributes:
        operations: as they began.
        concerned: those that the verdict is about.
        numbers: the place of each operation in the order that the verdict gives, from 1 on.
        verdict: what is said of the history.
        left_out: how many operations are not shown.
    """

    operations: tuple[Operation, ...]
    concerned: frozenset[Operation]
    numbers: dict[Operation, int]
    verdict: Verdict
    left_out: int

    @cached_property
    def clients(self) -> list[str]:
        """The lanes."""
        return sorted({operation.client for operation in self.operations})

    @cached_property
    def moments(self) -> list[int]:
        """All beginnings and ends, in order; each a step."""
        known = {moment for each in self.operations for moment in (each.invoked, each.end)}
        return sorted(known - {NEVER})

    def until(self, operation: Operation) -> int | None:
        """Where a bar ends; for an open one, where its client began something else, if it did."""
        if operation.returned is not None:
            return operation.returned
        later = (each.invoked for each in self.operations if each.client == operation.client)
        return min((moment for moment in later if moment > operation.invoked), default=None)

    def blocked_until(self, operation: Operation) -> int:
        """Until when it can only have waited: what it got was not on its way before."""
        got = operation.result[-1:] if operation.result else ()
        if not operation.name.lower().endswith(("get", "pop", "receive", "get_many")):
            return operation.invoked
        puts = (each.invoked for each in self.operations if got and got[0] in each.argument and _puts(each))
        return max(min(puts, default=operation.invoked), operation.invoked)

    def title(self, operation: Operation) -> str:
        """All that is known of an operation."""
        began = (operation.invoked - self.moments[0]) / 1000
        took = "never came back"
        if operation.returned is not None:
            took = f"took {(operation.returned - operation.invoked) / 1000:,.1f} µs"
        place = f"; number {self.numbers[operation]} in the order" if operation in self.numbers else ""
        about = "; this is what is wrong" if operation in self.concerned else ""
        return f"{operation} (began at {began:,.1f} µs, {took}{place}{about})"


def _puts(operation: Operation) -> bool:
    return operation.name in {"put", "put_many", "LPUSH", "RPUSH"}


def scene_of(history: History, verdict: Verdict, most: int = MOST) -> Scene:
    """The operations that a verdict is about, and those nearest to them."""
    queues = {operation.queue for operation in verdict.operations}
    mine = [each for each in history.operations if not queues or each.queue in queues]
    wanted = verdict.operations[:NEAR]
    if len(mine) > most and wanted:
        mine.sort(key=lambda each: min(_distance(each, one) for one in wanted))
    shown = sorted(mine[:most], key=lambda operation: operation.invoked)
    numbers = {operation: number for number, operation in enumerate(verdict.order, 1)}
    concerned = frozenset(verdict.operations)
    return Scene(tuple(shown), concerned, numbers, verdict, len(history.operations) - len(shown))


def _distance(one: Operation, other: Operation) -> int:
    """0 for the same; otherwise how far their nearest ends are apart."""
    ends = [each for each in (one.invoked, one.returned) if each is not None]
    others = [each for each in (other.invoked, other.returned) if each is not None]
    return min(abs(mine - theirs) for mine in ends for theirs in others)
