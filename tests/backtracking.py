"""Finds regular expressions that take more than linear time, by their structure.

Python's engine tries one way after another to match. It takes quadratic time or worse exactly if some text can
be read in more and more ways as it grows. So a pattern becomes an automaton whose states are the places of the
pattern that take a character, and in that automaton two shapes are looked for (Weber and Seidl, 1991):

- two ways from a state back to itself that read the same text: exponential, as ``(a+)+``;
- two states, each with a way back to itself, and a way from the first to the second, all three reading the same
  text: quadratic or worse, as ``a+a+``.

A possessive repeat or an atomic group never gives back what it took: it is judged alone, and is one state of the
pattern around it. A search tries every place of the text: that is a loop before the pattern.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple

__all__ = ["SEARCHES", "WHOLE", "fault"]

WHOLE: Final = "fullmatch"
SEARCHES: Final = frozenset({"search", "findall", "finditer", "sub", "subn", "split"})
FEW: Final = 9
"""A repeat that may happen more often counts as one without an end."""

OTHERS: Final = 256
"""Stands for all characters beyond the first 256."""
ALL: Final = (1 << OTHERS + 1) - 1
ESCAPES: Final = {
    sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_NOT_DIGIT: r"\D", sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S", sre.CATEGORY_WORD: r"\w", sre.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
ATOMIC: Final = (sre.ATOMIC_GROUP, sre.POSSESSIVE_REPEAT)
REPEATS: Final = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
ASSERTIONS: Final = (sre.ASSERT, sre.ASSERT_NOT)


class Fragment(NamedTuple):
    """A part of a pattern: whether it fits the empty text, and the states it begins and ends in."""

    nullable: bool
    first: tuple[int, ...]
    last: tuple[int, ...]


EMPTY: Final = Fragment(nullable=True, first=(), last=())


class Automaton:
    """The states of a pattern; ``follow`` tells from which to which a step leads, and in how many ways."""

    def __init__(self, flags: int, *, keeps_atomic: bool) -> None:
        self.flags = flags
        self.keeps_atomic = keeps_atomic
        self.takes: list[int] = []  # of each state, the characters as bits
        self.follow: dict[int, Counter[int]] = defaultdict(Counter)
        self.apart: list[Any] = []  # the contents of atomic groups and assertions, judged alone

    def state(self, characters: int) -> Fragment:
        self.takes.append(characters)
        number = len(self.takes) - 1
        return Fragment(nullable=False, first=(number,), last=(number,))

    def join(self, before: Iterable[int], after: Iterable[int]) -> None:
        for one in before:
            self.follow[one].update(after)

    def sequence(self, parts: Iterable[Any]) -> Fragment:
        whole = EMPTY
        for part in parts:
            new = self.part(*part)
            self.join(whole.last, new.first)
            first = whole.first + new.first if whole.nullable else whole.first
            last = new.last + whole.last if new.nullable else new.last
            whole = Fragment(whole.nullable and new.nullable, first, last)
        return whole

    def part(self, kind: Any, value: Any) -> Fragment:
        if kind in ATOMIC and self.keeps_atomic:
            return self.atomic(kind, value)
        if kind in REPEATS:
            low, high, item = value
            fragment = self.sequence(item)
            if high == sre.MAXREPEAT or high > max(low, FEW):
                self.join(fragment.last, fragment.first)
            return fragment._replace(nullable=low == 0 or fragment.nullable)
        if kind in {sre.SUBPATTERN, sre.ATOMIC_GROUP}:
            return self.sequence(value[-1] if kind is sre.SUBPATTERN else value)
        if kind is sre.BRANCH:
            ways = [self.sequence(way) for way in value[1]]
            first, last = (sum(each, ()) for each in zip(*[way[1:] for way in ways], strict=True))
            return Fragment(any(way.nullable for way in ways), first, last)
        if kind in ASSERTIONS:
            self.apart.append(value[1])
            return EMPTY
        if kind is sre.AT:
            return self.begin() if value is sre.AT_BEGINNING and not self.keeps_atomic else EMPTY
        return self.state(self.characters(kind, value))

    def begin(self) -> Fragment:
        """A state for ``^`` in a search: it takes the end of a line with MULTILINE, and else nothing."""
        return self.state(1 << ord("\n") if self.flags & re.MULTILINE else 0)

    def atomic(self, kind: Any, value: Any) -> Fragment:
        """One state that takes what the group begins with; the group is to be judged alone."""
        inner = value[2] if kind is sre.POSSESSIVE_REPEAT else value
        self.apart.append(inner)
        alone = Automaton(self.flags, keeps_atomic=False)
        fragment = alone.sequence(inner)
        characters = 0
        for each in fragment.first:
            characters |= alone.takes[each]
        nullable = fragment.nullable or (kind is sre.POSSESSIVE_REPEAT and value[0] == 0)
        return self.state(characters)._replace(nullable=nullable)

    def characters(self, kind: Any, value: Any) -> int:
        if kind is sre.ANY:
            return ALL if self.flags & re.DOTALL else ALL & ~(1 << ord("\n"))
        if kind is sre.LITERAL:
            return self.cased(value)
        if kind is sre.NOT_LITERAL:
            return ALL & ~self.cased(value)
        if kind is sre.RANGE:
            return sum({1 << min(each, OTHERS) for each in range(value[0], min(value[1], OTHERS) + 1)})
        if kind is sre.CATEGORY:
            fits = re.compile(ESCAPES[value], self.flags & re.ASCII).fullmatch
            return sum(1 << each for each in range(OTHERS + 1) if fits(chr(each)))
        if kind is sre.IN:
            chosen = 0
            for each in value:
                chosen |= 0 if each[0] is sre.NEGATE else self.characters(*each)
            return ALL & ~chosen if value[0][0] is sre.NEGATE else chosen
        raise NotImplementedError(f"{kind} in a pattern: teach this module what it takes")

    def cased(self, code: int) -> int:
        if code >= OTHERS or not self.flags & re.IGNORECASE:
            return 1 << min(code, OTHERS)
        return 1 << ord(chr(code).lower()) | 1 << min(ord(chr(code).upper()), OTHERS)

    # Ways

    def steps(self, states: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The states that several readers of one text reach by the next character, the same for all."""
        found: list[tuple[int, tuple[int, ...]]] = [(ALL, ())]
        for state in states:
            found = [
                (common & self.takes[to], (*before, to))
                for common, before in found
                for to in self.follow[state]
                if common & self.takes[to]
            ]
        return (after for _, after in found)

    def reach(self, start: tuple[int, ...], avoided: Container[int] = ()) -> set[tuple[int, ...]]:
        """The tuples of states that are reached in one step or more, without an avoided state at their end."""
        seen: set[tuple[int, ...]] = set()
        fresh = [start]
        while fresh:
            new = {each for each in self.steps(fresh.pop()) if each[-1] not in avoided} - seen
            seen |= new
            fresh += new
        return seen

    def is_exponential(self) -> bool:
        for state in range(len(self.takes)):
            back = [pair for pair in self.reach((state, state)) if (state, state) in self.reach(pair)]
            inside = {one for one, other in back if one == other} | {state}
            if any(one != other for one, other in back) and (state, state) in back:
                return True
            if back and any(self.follow[one][to] > 1 for one in inside for to in inside):
                return True
        return False

    def is_polynomial(self, firsts: Iterable[int], harmless: frozenset[int]) -> bool:
        loops = [state for state in range(len(self.takes)) if (state,) in self.reach((state,))]
        return any(
            (one, other, other) in self.reach((one, one, other), harmless)
            for one in firsts
            for other in loops
            if one != other and one in loops and other not in harmless
        )


def fault(pattern: str | bytes, flags: int = 0, use: str = "search") -> str | None:
    """Why a pattern may take more than linear time, if it is used in this way; None if it cannot."""
    tree = parser.parse(pattern, flags)
    return judge(tree, tree.state.flags, use)


def judge(tree: Any, flags: int, use: str) -> str | None:
    automaton = Automaton(flags, keeps_atomic=True)
    whole = automaton.sequence(tree)
    harmless = frozenset(() if use == WHOLE else whole.last)  # from there a match cannot fail
    if automaton.is_exponential():
        return "exponential: a repeat in a repeat reads the same text in several ways"
    if automaton.is_polynomial(range(len(automaton.takes)), harmless):
        return "quadratic: two repeats in a row can share a text in many ways"
    if use in SEARCHES:
        anywhere = Automaton(flags, keeps_atomic=False)
        before = anywhere.state(ALL)
        whole = anywhere.sequence(tree)
        anywhere.join(before.last, before.first + whole.first)
        if anywhere.is_polynomial(before.first, frozenset(whole.last)):
            return "quadratic: at every place of a text a search can read far, and fail"
    for inner in automaton.apart:
        if (found := judge(inner, flags, "match")) is not None:
            return found
    return None
