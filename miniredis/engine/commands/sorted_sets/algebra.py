"""Unions, intersections and differences of sorted sets, and of sets, whose members have the score 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ...clients.session import Session
from ...declarations.registry import CountedKeys, Keys, command
from ...keyspace.keyspace import Database
from ...numbers.doubles import read_double
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Pairs, Reply
from ...values.sets import SetValue
from ...values.sorted_sets import SortedSet
from ..sets.algebra import read_limit

INPUTS: Final = CountedKeys(1, "RO access")
STORED: Final = (Keys(1, "OW update"), CountedKeys(2, "RO access"))

KEYS: Final = "numkeys:integer key#0..."
KEYS_BEHIND: Final = "destination#0 numkeys:integer key#1..."
WEIGHING: Final = "[WEIGHTS weight:integer]... [AGGREGATE aggregate(SUM|MIN|MAX)]"

Scores: TypeAlias = Mapping[bytes, float]

SCORES: Final[dict[type, Callable[[Any], Scores]]] = {
    SetValue: lambda values: dict.fromkeys(values.members, 1.0),
    SortedSet: lambda values: values.scores,
}
"""For each type that can take part, a function that returns the score of each member."""


def read_inputs(db: Database, keys: list[bytes]) -> list[Scores]:
    return [scores_at(db, key) for key in keys]


def scores_at(db: Database, key: bytes) -> Scores:
    value = db.lookup_read(key)
    if value is None:
        return {}
    if type(value) not in SCORES:
        raise CommandError(errors.WRONG_TYPE)
    return SCORES[type(value)](value)


# Combining scores

Aggregate: TypeAlias = Callable[[float, float], float]


def number(score: float) -> float:
    """A score; 0 for not-a-number."""
    return 0.0 if math.isnan(score) else score


AGGREGATES: Final[dict[bytes, Aggregate]] = {
    b"SUM": lambda score, other: number(score + other),
    b"MIN": lambda score, other: other if other < score else score,
    b"MAX": lambda score, other: other if other > score else score,
}


@dataclass(slots=True)
class Options:
    """The options of these commands."""

    weights: list[float] = field(default_factory=list)
    aggregate: Aggregate = AGGREGATES[b"SUM"]
    with_scores: bool = False

    def read(self, words: list[bytes], keys: int, *, may_weigh: bool, may_show_scores: bool) -> None:
        """Parses the options after ``keys`` keys."""
        self.weights = [1.0] * keys
        at = 0
        while at < len(words):
            left = len(words) - at - 1
            match words[at].upper():
                case b"WEIGHTS" if may_weigh and left >= keys:
                    operands = words[at + 1 : at + 1 + keys]
                    self.weights = [read_double(each, errors.NOT_A_WEIGHT) for each in operands]
                    at += keys
                case b"AGGREGATE" if may_weigh and left and words[at + 1].upper() in AGGREGATES:
                    self.aggregate = AGGREGATES[words[at + 1].upper()]
                    at += 1
                case b"WITHSCORES" if may_show_scores:
                    self.with_scores = True
                case _:
                    raise CommandError(errors.SYNTAX)
            at += 1


Combine: TypeAlias = Callable[[list[Scores], Options], dict[bytes, float]]


def smallest_first(inputs: list[Scores], weights: list[float]) -> list[tuple[Scores, float]]:
    """The order in which Redis processes the inputs; rounded sums depend on it."""
    return sorted(zip(inputs, weights, strict=True), key=lambda each: len(each[0]))


def union(inputs: list[Scores], options: Options) -> dict[bytes, float]:
    united: dict[bytes, float] = {}
    for scores, weight in smallest_first(inputs, options.weights):
        for member, score in scores.items():
            weighed = number(weight * score)
            known = united.get(member)
            united[member] = weighed if known is None else options.aggregate(known, weighed)
    return united


def intersection(inputs: list[Scores], options: Options) -> dict[bytes, float]:
    (smallest, weight), *others = smallest_first(inputs, options.weights)
    common: dict[bytes, float] = {}
    for member, score in smallest.items():
        if not all(member in scores for scores, _ in others):
            continue
        result = number(weight * score)
        for scores, other_weight in others:
            result = options.aggregate(result, scores[member] * other_weight)
        common[member] = result
    return common


def difference(inputs: list[Scores], _: Options) -> dict[bytes, float]:
    first, *others = inputs
    return {
        member: score for member, score in first.items() if not any(member in scores for scores in others)
    }


# The commands


def read_keys(args: list[bytes], at: int) -> tuple[list[bytes], list[bytes]]:
    """The keys, counted by an argument, and the words after them."""
    count = read_integer(args[at])
    if count < 1:
        raise CommandError(errors.no_input_key(args[0].lower()))
    words = args[at + 1 :]
    if count > len(words):
        raise CommandError(errors.SYNTAX)
    return words[:count], words[count:]


def answer(session: Session, args: list[bytes], combine: Combine) -> Reply:
    """Runs a command that returns its result."""
    keys, words = read_keys(args, 1)
    inputs, options = read_inputs(session.db, keys), Options()
    options.read(words, len(keys), may_weigh=combine is not difference, may_show_scores=True)
    result = combine(inputs, options)
    ordered = sorted((score, member) for member, score in result.items())
    if options.with_scores:
        return Pairs((member, score) for score, member in ordered)
    return [member for _, member in ordered]


def keep(session: Session, args: list[bytes], combine: Combine, event: str) -> int:
    """Runs a command that stores its result; returns the number of members."""
    keys, words = read_keys(args, 2)
    inputs, options = read_inputs(session.db, keys), Options()
    options.read(words, len(keys), may_weigh=combine is not difference, may_show_scores=False)
    result = SortedSet.of(combine(inputs, options), session.engine.packing)
    return session.db.store_or_delete(args[1], result, event)


@command(
    "ZUNION",
    -3,
    "readonly movablekeys",
    acl="sortedset",
    keys=INPUTS,
    since="6.2.0",
    syntax=f"{KEYS} {WEIGHING} [WITHSCORES]",
)
def zunion(session: Session, args: list[bytes]) -> Reply:
    """Returns the members of at least one of the given sorted sets."""
    return answer(session, args, union)


@command(
    "ZINTER",
    -3,
    "readonly movablekeys",
    acl="sortedset",
    keys=INPUTS,
    since="6.2.0",
    syntax=f"{KEYS} {WEIGHING} [WITHSCORES]",
)
def zinter(session: Session, args: list[bytes]) -> Reply:
    """Returns the members that all given sorted sets have in common."""
    return answer(session, args, intersection)


@command(
    "ZDIFF",
    -3,
    "readonly movablekeys",
    acl="sortedset",
    keys=INPUTS,
    since="6.2.0",
    syntax=f"{KEYS} [WITHSCORES]",
)
def zdiff(session: Session, args: list[bytes]) -> Reply:
    """Returns the members of the first sorted set that no other given one has."""
    return answer(session, args, difference)


@command(
    "ZUNIONSTORE",
    -4,
    "write denyoom movablekeys",
    acl="sortedset",
    keys=STORED,
    since="2.0.0",
    syntax=f"{KEYS_BEHIND} {WEIGHING}",
)
def zunionstore(session: Session, args: list[bytes]) -> Reply:
    """Stores the union of sorted sets; returns how many members it has."""
    return keep(session, args, union, "zunionstore")


@command(
    "ZINTERSTORE",
    -4,
    "write denyoom movablekeys",
    acl="sortedset",
    keys=STORED,
    since="2.0.0",
    syntax=f"{KEYS_BEHIND} {WEIGHING}",
)
def zinterstore(session: Session, args: list[bytes]) -> Reply:
    """Stores the intersection of sorted sets; returns how many members it has."""
    return keep(session, args, intersection, "zinterstore")


@command(
    "ZDIFFSTORE",
    -4,
    "write denyoom movablekeys",
    acl="sortedset",
    keys=STORED,
    since="6.2.0",
    syntax=KEYS_BEHIND,
)
def zdiffstore(session: Session, args: list[bytes]) -> Reply:
    """Stores the difference of sorted sets; returns how many members it has."""
    return keep(session, args, difference, "zdiffstore")


@command(
    "ZINTERCARD",
    -3,
    "readonly movablekeys",
    acl="sortedset",
    keys=INPUTS,
    since="7.0.0",
    syntax=f"{KEYS} [LIMIT limit:integer]",
)
def zintercard(session: Session, args: list[bytes]) -> Reply:
    """Counts the members that all given sorted sets have in common, up to a limit."""
    keys, words = read_keys(args, 1)
    inputs = read_inputs(session.db, keys)
    limit = read_limit(words)
    common = len(intersection(inputs, Options([1.0] * len(keys))))
    return min(common, limit) if limit else common
