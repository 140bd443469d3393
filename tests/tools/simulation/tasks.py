"""Scenarios that are to be explored, one after the other or in processes, and a row of a table for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from .documents import HOLES
from .explore import Violation, explore
from .moves import Game
from .scenario import Scenario
from .scenarios import SCENARIOS
from .wander import wander

__all__ = ["HEAD", "Task", "explored"]

MODES: Final = {"plain": False, "scripts": True}

HEAD: Final = (
    f"{'scenario':28} {'mode':8}{'faults':>6} {'states':>9} {'moves':>9} {'ends':>5} {'CPU s':>8} "
    f"{'states/s':>9}  verdict"
)


@dataclass(frozen=True, slots=True)
class Task:
    """A scenario that is to be explored, and how.

    Attributes:
        name: of the scenario.
        mode: ``plain`` or ``scripts``.
        faults: how many may die; None for as many as the scenario says.
        free: whether a wait may end at any moment.
        limit: after how many states to stop.
        runs: how many runs by luck, instead of all; 0 for all.
        seed: of the first of them.
    """

    name: str
    mode: str
    faults: int | None
    free: bool
    limit: int
    runs: int
    seed: int

    @property
    def scenario(self) -> Scenario:
        """The scenario, with as many deaths as were asked for."""
        found = SCENARIOS[self.name] if self.name in SCENARIOS else HOLES[self.name].scenario
        if self.faults is None:
            return found
        tries = found.tries if self.faults == 0 or found.tries is not None else 1
        return replace(found, faults=self.faults, tries=tries)

    def game(self) -> Game:
        """It, state by state."""
        return Game(self.scenario, scripts=MODES[self.mode], free=self.free)

    @property
    def about(self) -> str:
        """What is to be found."""
        return HOLES[self.name].about if self.name in HOLES else ""


def explored(task: Task) -> tuple[str, Violation | None]:
    """Explores one: its row of the table, and what is wrong."""
    if task.runs:
        return wandered(task)
    found = explore(task.game(), task.limit, task.about)
    verdict = "right in all" if found.whole else f"stopped at {found.states:,} states; right so far"
    row = row_of(task, found.states, found.moves, f"{found.ends}", found.seconds)
    return f"{row}  {found.violation.what if found.violation else verdict}", found.violation


def wandered(task: Task) -> tuple[str, Violation | None]:
    found = wander(task.game(), task.runs, task.seed, task.about)
    row = row_of(task, found.states, found.moves, "-", found.seconds)
    if found.violation is not None:
        return f"{row}  seed {found.seed}: {found.violation.what}", found.violation
    return f"{row}  right in {found.runs:,} runs by luck from seed {task.seed} on; not all states", None


def row_of(task: Task, states: int, moves: int, ends: str, seconds: float) -> str:
    return (
        f"{task.name:28} {task.mode:8}{task.scenario.faults:>6} {states:>9,} {moves:>9,} {ends:>5} "
        f"{seconds:>8.1f} {states / seconds if seconds else 0:>9,.0f}"
    )
