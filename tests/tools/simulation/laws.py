"""What has to hold in every state, and of every step; ``endings`` has what has to hold when all is over.

The invariant is that of a queue whose roles are free. Its strong form holds where the clients are ours and
run scripts: ``:not_full`` has one element if and only if there is room. In its weaker form the element is
there whenever there is room, and the bound may be passed by one. From the first death on it is asked for when
a repair was made.

Each law is a generator that says what is wrong, a sentence each. To add one: a generator, and its name in
``broken_by``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final, TypeAlias

from .clients import Error
from .contents import Contents, short, text
from .endings import LOST, Endings
from .moves import Game, State

__all__ = ["Laws"]

Wrong: TypeAlias = Iterator[str]

#: What may come of each kind of deed, beside success, if somebody closes the queue or deletes it.
REFUSALS: Final = {
    "put": ("close", "delete"),
    "get": ("close", "delete"),
    "receive": ("close", "delete"),
    "close": ("close twice", "delete"),
    "delete": ("delete twice",),
    "wait for a close": ("delete",),
    "repair": ("delete",),
    "repair by force": ("delete",),
}
ERRORS: Final = {"close": "QueueClosedError", "delete": "QueueDoesNotExistError"}
#: What else may come of it where somebody dies, or roles are taken away.
IN_VAIN: Final = ("QueueInUseError", "QueueFullError", "QueueEmptyError")


class Laws:
    """The laws for one scenario; each state of the server is judged once.

    Args:
        game: the scenario.
        about: what is wrong has to have these words in it; empty for anything.
    """

    def __init__(self, game: Game, about: str = "") -> None:
        self._game = game
        self._about = about
        self._kinds = [deed.kind for deed in game.deeds]
        self._over_filling = sum(len(deed.values) for deed in game.deeds if deed.kind == "over-filling put")
        self._endings = Endings(game)
        self._known: dict[tuple[Any, ...], str] = {}

    @cached_property
    def _allowed(self) -> dict[str, frozenset[str]]:
        return {kind: frozenset(self._errors(kind)) for kind in self._kinds}

    def _errors(self, kind: str) -> Iterator[str]:
        """What a deed may raise."""
        if kind == "create":
            yield "QueueAlreadyExistsError"
        for reason in REFUSALS.get(kind.removeprefix("over-filling "), ()):
            other, _, twice = reason.partition(" ")
            if self._kinds.count(other) > bool(twice):
                yield ERRORS[other]
        if self._game.scenario.goes_on:
            yield from (*LOST, "QueueInUseError")
        if self._game.scenario.tries is not None:
            yield from IN_VAIN
            if "create" in self._kinds:
                yield ERRORS["delete"]

    def broken_by(self, before: State, after: State) -> str:
        """What is wrong with a move, or in the state that it has led to; empty if nothing is."""
        return self.broken_on_the_way(before, after) or self._broken_in(before, after)

    def broken_on_the_way(self, before: State, after: State) -> str:
        """What is wrong with a move itself; enough to ask for if the state it leads to was judged before."""
        return self._once(self._step, before[0], after[0]) if before[0] != after[0] else ""

    def _broken_in(self, before: State, after: State) -> str:
        if before[0] != after[0] and (problem := self._once(self._server, after[0])):
            return problem
        for who, number in enumerate(after[1:]):
            if number != before[who + 1] and (problem := self._once(self._result, who, number)):
                return problem
        return self._first(self._twice(after))

    def broken_at_end(self, state: State) -> str:
        """What is wrong when nobody does anything more; empty if nothing is."""
        return self._first(self._endings.of(state)) or self._once(self._endings.repaired, state[0])

    def _once(self, law: Callable[..., Wrong], *numbers: int) -> str:
        key = (law.__name__, *numbers)
        if (said := self._known.get(key)) is None:
            said = self._known[key] = self._first(law(*numbers))
        return said

    def _first(self, problems: Wrong) -> str:
        return next((problem for problem in problems if self._about in problem), "")

    def _server(self, number: int) -> Wrong:
        """Of the server's state, whatever the clients are about to do."""
        now, died = self._game.contents(number), self._game.has_died(number)
        for key, count in now.roles.items():
            if count > 1:
                yield f"{short(key)} has {count} elements: the role is there twice"
        slack = self._over_filling + (self._game.weak or died)
        if now.limit and len(now.stored) > now.limit + slack:
            yield f"there are {len(now.stored)} values, and the bound is {now.limit}"
        if not died and not self._game.is_repaired:
            yield from self._endings.quiet(now)

    def _step(self, one: int, other: int) -> Wrong:
        """Of the way from one state of the server to another."""
        before, after = self._game.contents(one), self._game.contents(other)
        if before.limit is None:
            if after.limit is None and len(after.values) > len(before.values):
                yield "a value is put to a queue that was deleted"
            return
        fresh = [value for value in after.values if value not in before.stored]
        if after.values[: len(fresh)] != tuple(fresh):
            yield "a value goes in at the wrong end"
        stayed = tuple(value for value in after.values if value in before.values)
        if after.limit is not None and stayed != before.values[: len(stayed)]:
            yield "a value comes out that is not the oldest"
        back = tuple(value for value in after.values if value in before.unacked)
        if back != after.values[len(after.values) - len(back) :]:
            yield "a value that is put back does not come next"
        if fresh and before.marks:
            yield "a value is put to a queue that is closed"
        if self._reopened(before, after):
            yield "the queue was closed, and is open again"

    def _reopened(self, before: Contents, after: Contents) -> bool:
        if after.limit is None or not after.roles[self._game.keys.consumer_free]:
            return False  # who has popped a mark puts it back before its role
        return before.marks > after.marks == 0

    def _result(self, who: int, number: int) -> Wrong:
        """Of what a client's last operation came to."""
        client = self._game.clients[who]
        local = client.states[number]
        if not local.results or not isinstance(local.results[-1], Error):
            return
        deed, error = client.member.deeds[len(local.results) - 1], local.results[-1]
        if (
            not (error.kind in LOST and (local.dead or self._game.scenario.goes_on))
            and error.kind not in self._allowed[deed.kind]
        ):
            yield f"{client.member.name}'s {deed.kind} raised {error.kind}: {error.text}"

    def _twice(self, state: State) -> Wrong:
        """A value that somebody has got is nowhere else."""
        seen = [*self._game.contents(state[0]).stored]
        for client, number in zip(self._game.clients, state[1:], strict=True):
            seen += client.states[number].delivered
        if len(set(seen)) != len(seen):
            yield f"{text(next(value for value in seen if seen.count(value) > 1))} is there twice"
