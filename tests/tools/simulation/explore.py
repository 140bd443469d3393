"""All states of a scenario, breadth first, so that what is found is found by a shortest schedule.

Every state is reached once, by whichever moves came first, and judged by ``laws``. When all are known those
are left from which nobody's moves lead to an end: there somebody waits in vain.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pressure.protocol import Command

from .laws import Laws
from .moves import Game, Move, State

__all__ = ["STUCK", "Found", "Violation", "explore", "is_stuck", "replay", "stuck"]

STUCK: Final = "nobody comes to an end any more"


@dataclass(frozen=True, slots=True)
class Violation:
    """Something wrong.

    Attributes:
        what: a sentence.
        schedule: the moves that lead there.
    """

    what: str
    schedule: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What exploring came to.

    Attributes:
        states: how many were reached.
        moves: how many led from one to another.
        ends: how many of the states are ends.
        seconds: of the processor that it took.
        whole: whether these are all.
        violation: what is wrong, if anything is.
    """

    states: int
    moves: int
    ends: int
    seconds: float
    whole: bool
    violation: Violation | None


class Explorer:
    """The states that were reached, in the order in which they were, and how."""

    def __init__(self, game: Game, limit: int, about: str) -> None:
        self._game = game
        self._about = about
        self._laws = Laws(game, about)
        self._limit = limit
        self.states: list[State] = [game.start]
        self._numbers: dict[State, int] = {game.start: 0}
        self._from = array("L", [0])
        self._edges = (array("L"), array("L"))
        self.ends: list[int] = []
        self.expanded = 0

    @property
    def moves(self) -> int:
        """How many moves there are between them."""
        return len(self._edges[0])

    @property
    def whole(self) -> bool:
        """Whether all states are known."""
        return self.expanded == len(self.states)

    def violation(self) -> Violation | None:
        """Goes on until something is wrong, all is known, or there are too many states."""
        for number, state in enumerate(self.states):
            if len(self.states) > self._limit:
                break
            if wrong := self._expand(number, state):
                return wrong
            self.expanded += 1
        return self._stuck()

    def _expand(self, number: int, state: State) -> Violation | None:
        game, laws = self._game, self._laws
        if game.is_over(state):
            self.ends.append(number)
            problem = laws.broken_at_end(state)
            return Violation(problem, self._schedule(number)) if problem else None
        for move, after in game.moves(state):
            known = self._numbers.get(after)
            if known is None:
                known = self._numbers[after] = len(self.states)
                self.states.append(after)
                self._from.append(number)
                problem = laws.broken_by(state, after)
            else:
                problem = laws.broken_on_the_way(state, after)
            self._edges[0].append(number)
            self._edges[1].append(known)
            if problem:
                return Violation(problem, (*self._schedule(number), move))
        return None

    def _stuck(self) -> Violation | None:
        """The first state from which no moves lead to an end, or to a state of which that is not known."""
        fine = self._lead_to_an_end()
        first = fine.find(0)
        if first < 0:
            return None
        left = (number for number in range(first, len(self.states)) if not fine[number])
        shown = next((number for number in left if self._is_still(number)), first)
        problem = stuck(self._game, self.states[shown])
        return Violation(problem, self._schedule(shown)) if self._about in problem else None

    def _lead_to_an_end(self) -> bytearray:
        """Of each state 1 if moves lead from it to an end, or to a state of which that is not known."""
        origins, targets = self._edges
        last, before = array("q", [-1]) * len(self.states), array("q", [-1]) * len(targets)
        for edge, target in enumerate(targets):  # the edges into a state, as a chain
            before[edge], last[target] = last[target], edge
        fine = bytearray(len(self.states))
        left = [*self.ends, *range(self.expanded, len(self.states))]
        for number in left:
            fine[number] = 1
        while left:
            edge = last[left.pop()]
            while edge >= 0:
                if not fine[origins[edge]]:
                    fine[origins[edge]] = 1
                    left.append(origins[edge])
                edge = before[edge]
        return fine

    def _is_still(self, number: int) -> bool:
        """Whether nobody can go on; only time can pass, if that."""
        return all(move.endswith("~") for move, _ in self._game.moves(self.states[number]))

    def _schedule(self, number: int) -> tuple[Move, ...]:
        moves: list[Move] = []
        while number:
            before, after = self._from[number], self.states[number]
            options = self._game.moves(self.states[before])
            moves.append(next(move for move, state in options if state == after))
            number = before
        return tuple(reversed(moves))


def explore(
    game: Game, limit: int = 2_000_000, about: str = "", clock: Callable[[], float] = time.process_time
) -> Found:
    """Explores a scenario.

    Args:
        game: the scenario.
        limit: after how many states to stop.
        about: what is wrong has to have these words in it; empty for anything.
        clock: tells seconds; those of the processor, unless others are wanted.
    """
    begin, explorer = clock(), Explorer(game, limit, about)
    violation = explorer.violation()
    return Found(
        len(explorer.states), explorer.moves, len(explorer.ends), clock() - begin, explorer.whole, violation
    )


def stuck(game: Game, state: State) -> str:
    """Who waits for what, where all wait for ever."""
    waiting = (f"{game.names[who]} for {_lists(commands[0])}" for who, commands in game.server(state).waiting)
    return f"{STUCK}: {', '.join(waiting) or 'they go round in circles'}"


def _lists(command: Command) -> str:
    """What a blocking command waits for."""
    keys = [str(word, "utf-8", "replace") for word in command[1:-1] if isinstance(word, bytes)]
    return " and ".join(key.partition("jobs")[2] or "a value" for key in keys if "jobs" in key)


def is_stuck(game: Game, state: State, limit: int = 20_000) -> bool:
    """Whether no moves lead from a state to an end, as far as so many states tell."""
    seen, left = {state}, [state]
    for each in left:
        if game.is_over(each) or len(seen) > limit:
            return False
        for _, after in game.moves(each):
            if after not in seen:
                seen.add(after)
                left.append(after)
    return True


def replay(
    game: Game, schedule: tuple[Move, ...], about: str = "", *, strict: bool = True
) -> Violation | None:
    """Plays a schedule, and then looks whether there is a way to an end.

    Args:
        game: the scenario.
        schedule: the moves.
        about: what is wrong has to have these words in it; empty for anything.
        strict: whether each of them has to be possible; else those that are not are left out.

    Raises:
        ValueError: a move is not possible.
    """
    laws, state = Laws(game, about), game.start
    played: list[Move] = []
    for move in schedule:
        possible = {} if game.is_over(state) else dict(game.moves(state))
        if move not in possible:
            if strict:
                after = f"after {' '.join(played)}" if played else "as the first move"
                here = ", ".join(possible) or "none, as the game is over"
                raise ValueError(f"the move {move} is not possible {after}; possible are: {here}")
            continue
        played.append(move)
        before, state = state, possible[move]
        if problem := laws.broken_by(before, state):
            return Violation(problem, tuple(played))
    if game.is_over(state):
        problem = laws.broken_at_end(state)
    else:
        problem = stuck(game, state) if is_stuck(game, state) else ""
    return Violation(problem, tuple(played)) if problem and about in problem else None
