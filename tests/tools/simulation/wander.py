"""Runs by luck, for scenarios that are too large to be known whole; and what is wrong made short.

The same seed gives the same run. A schedule that something is wrong with is shrunk by leaving moves out, as
many at a time as can be, for as long as anything is still wrong with what is left. What comes of it is the
shortest there is where all schedules that short can be explored; else no one move of it can be left out.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .explore import Violation, explore, is_stuck, replay, stuck
from .laws import Laws
from .moves import Game, Move

__all__ = ["Wandered", "shrunk", "wander"]

PATIENCE: Final = 200
"""After how many moves in which nobody came further a run is looked at, whether it still has an end."""


FEW: Final = 5_000
"""So many states are explored for a shorter schedule."""


@dataclass(frozen=True, slots=True)
class Wandered:
    """What came of runs by luck.

    Attributes:
        runs: how many there were.
        moves: how many moves they had together.
        states: how many states they passed, each counted once.
        seconds: of the processor that it took.
        seed: of the run in which something was wrong; None if nothing was.
        violation: what that is, shrunk.
    """

    runs: int
    moves: int
    states: int
    seconds: float
    seed: int | None = None
    violation: Violation | None = None


def wander(
    game: Game, runs: int, seed: int = 0, about: str = "", clock: Callable[[], float] = time.process_time
) -> Wandered:
    """Runs a scenario so many times, with seeds from one on, until something is wrong."""
    begin, laws, moves = clock(), Laws(game, about), 0
    seen = {game.start}
    for count in range(runs):
        schedule, problem = _run(game, laws, random.Random(seed + count), seen)  # noqa: S311, nothing is secret
        moves += len(schedule)
        if problem:
            violation = shortest(game, shrunk(game, Violation(problem, tuple(schedule)), about))
            return Wandered(count + 1, moves, len(seen), clock() - begin, seed + count, violation)
    return Wandered(runs, moves, len(seen), clock() - begin)


def _run(game: Game, laws: Laws, luck: random.Random, seen: set[tuple[int, ...]]) -> tuple[list[Move], str]:
    state, schedule, idle = game.start, [], 0
    while not game.is_over(state):
        move, after = luck.choice(game.moves(state))
        schedule.append(move)
        if problem := laws.broken_by(state, after):
            return schedule, problem
        idle = idle + 1 if after in seen else 0
        state = after
        seen.add(state)
        if idle > PATIENCE and idle % PATIENCE == 0 and is_stuck(game, state):
            return schedule, stuck(game, state)
    return schedule, laws.broken_at_end(state)


def shortest(game: Game, violation: Violation) -> Violation:
    """The same by a shortest schedule, if there are not too many that are shorter."""
    found = explore(game, FEW, violation.what).violation
    return found if found and len(found.schedule) < len(violation.schedule) else violation


def shrunk(game: Game, violation: Violation, about: str = "") -> Violation:
    """A violation whose schedule is such that something is right as soon as any one move is left out."""
    at_once = max(len(violation.schedule) // 2, 1)
    while at_once:
        shorter = _without_some(game, violation, at_once, about)
        if shorter is None:
            at_once //= 2
        else:
            violation = shorter
    return violation


def _without_some(game: Game, violation: Violation, at_once: int, about: str) -> Violation | None:
    schedule = violation.schedule
    for start in range(0, len(schedule), at_once):
        found = replay(game, schedule[:start] + schedule[start + at_once :], about, strict=False)
        if found is not None and len(found.schedule) < len(schedule):
            return found
    return None
