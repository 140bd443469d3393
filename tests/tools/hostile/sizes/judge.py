"""Compares two curves: whether miniredis takes far more than Redis at the largest size, or grows faster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from .servers import Cost

__all__ = ["MEMORY_FLOOR", "TIME_FLOOR", "Curve", "Step", "merged", "verdict"]

FACTOR: Final = 20
"""How many times as much as Redis miniredis may take at the largest size."""

TIME_FLOOR: Final = 0.005
MEMORY_FLOOR: Final = float(16 << 20)
"""Below these, what miniredis takes is noise."""

LEAST_TIME: Final = 0.0002
LEAST_MEMORY: Final = float(4 << 20)
"""Below these, what Redis takes is noise."""

NOTICED: Final = 4
"""Growth is judged from so many times the floor on, and from so many times what Redis takes."""

EXCESS: Final = 0.4
"""By how much an exponent of growth may be larger than Redis's: 0 is constant, 1 linear, 2 quadratic."""


@dataclass(frozen=True, slots=True)
class Step:
    """One size.

    Attributes:
        size: of what grows.
        ours: what it took miniredis; None if miniredis did not answer in time, or ended.
        theirs: what it took redis-server.
        failure: why there is nothing of miniredis.
    """

    size: int
    ours: Cost | None
    theirs: Cost
    failure: str = ""


@dataclass(slots=True)
class Curve:
    """All sizes that were tried.

    Attributes:
        steps: smallest first.
        ended: why it does not go on to the largest size.
        is_whole: False if it ended because this machine took too long to build what a larger size needs.
    """

    steps: list[Step] = field(default_factory=list)
    ended: str = ""
    is_whole: bool = True


def merged(one: Curve, other: Curve) -> Curve:
    """What each size took at its best in two runs: whatever else runs on the machine only adds to it."""
    longer, shorter = (one, other) if len(one.steps) > len(other.steps) else (other, one)
    again = {step.size: step for step in shorter.steps}
    steps = [better(step, again.get(step.size, step)) for step in longer.steps]
    return Curve(steps, longer.ended, longer.is_whole)


def better(one: Step, other: Step) -> Step:
    """The least of what a size took in two runs, of each server."""
    answered = [step.ours for step in (one, other) if step.ours is not None]
    ours = least(answered) if answered else None
    return Step(one.size, ours, least([one.theirs, other.theirs]), one.failure)


def least(costs: Sequence[Cost]) -> Cost:
    return costs[0]._replace(
        seconds=min(cost.seconds for cost in costs), memory=min(cost.memory for cost in costs)
    )


def verdict(curve: Curve) -> str:
    """What is wrong, or nothing."""
    if not curve.steps:
        return ""
    last = curve.steps[-1]
    if last.ours is None:
        return f"at {last.size:,} {last.failure}, Redis took {last.theirs.seconds:.3f} s"
    measured = [(step.size, step.ours, step.theirs) for step in curve.steps if step.ours is not None]
    time = excess(
        [(size, ours.seconds, theirs.seconds) for size, ours, theirs in measured], TIME_FLOOR, LEAST_TIME
    )
    memory = excess(
        [(size, ours.memory, theirs.memory + theirs.traffic) for size, ours, theirs in measured],
        MEMORY_FLOOR,
        LEAST_MEMORY,
    )
    found = []
    if time:
        found.append(f"{time}: {last.ours.seconds:.3f} s at {last.size:,}, Redis {last.theirs.seconds:.3f} s")
    if memory:
        ours, theirs = last.ours.memory >> 20, last.theirs.memory >> 20
        found.append(f"memory {memory}: {ours} MiB at {last.size:,}, Redis {theirs} MiB")
    return "; ".join(found)


def excess(points: Sequence[tuple[int, float, float]], floor: float, least: float) -> str:
    """How far ours is from theirs in points of a size, ours and theirs; nothing if near enough."""
    _, ours, theirs = points[-1]
    theirs = max(theirs, least)
    if ours > FACTOR * max(theirs, floor):
        return f"{ours / theirs:.0f} times as much"
    if ours < NOTICED * max(theirs, floor):
        return ""
    risen = [(size, max(a, floor), max(b, least)) for size, a, b in points if a >= floor]
    if len(risen) == 1 < len(points):
        size, a, b = points[len(points) - len(risen) - 1]
        risen.insert(0, (size, max(a, floor), max(b, least)))
    if len(risen) < 2:
        return ""
    mine, real = (slope([(point[0], point[which]) for point in risen]) for which in (1, 2))
    return f"grows with exponent {mine:.1f}, Redis's {real:.1f}" if mine - real > EXCESS else ""


def slope(points: Sequence[tuple[int, float]]) -> float:
    """The exponent of growth: how steep a line through the points is, both axes being logarithmic."""
    xs, ys = [math.log(size) for size, _ in points], [math.log(value) for _, value in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    across = sum((each - x) ** 2 for each in xs)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / across if across else 0.0
