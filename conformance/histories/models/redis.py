"""The keys of a Redis server: a value of some type in each, which may be gone after a time.

A row of a table is a command's name and a ``Command``; ``on`` makes one of a function on one key's value. A
key whose time is over may be gone, and is gone for certain ``LATE`` after that: the clock of the server may
have been corrected meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias

from ..model import NEVER, Operation
from .base import Model, Outcome, States, one_key

__all__ = [
    "WRONG_TYPE",
    "AnyOrder",
    "Command",
    "Refusal",
    "Stored",
    "Words",
    "between",
    "number",
    "on",
    "on_pairs",
    "redis_model",
]

_MILLISECOND: Final = 1_000_000

LATE: Final = 1_000 * _MILLISECOND
"""Nanoseconds after the end of its time at which a key is gone for certain."""

EARLY: Final = _MILLISECOND
"""Nanoseconds before it at which it may be gone: Redis counts milliseconds."""

Words: TypeAlias = Sequence[bytes]


class Stored(NamedTuple):
    """The value of a key; a key without one is None.

    Attributes:
        kind: its type, such as ``list``.
        value: it can be hashed, and is not empty unless it is a string.
        since: from when on it may have run out.
        until: from when on it has run out for certain.
    """

    kind: str
    value: Any
    since: int = NEVER
    until: int = NEVER

    def for_milliseconds(self, count: int, operation: Operation) -> Stored | None:
        """The same with a time from an operation on; nothing if the time is over at once."""
        if count <= 0:
            return None
        since = operation.invoked + count * _MILLISECOND
        until = min(operation.end + count * _MILLISECOND + LATE, NEVER)
        return self._replace(since=since - EARLY, until=until)

    @property
    def for_ever(self) -> Stored:
        """The same without a time."""
        return self._replace(since=NEVER, until=NEVER)


class Refusal(Exception):  # noqa: N818  (the answer of a server, and not raised)
    """An answer that is an error; its text is the error's code."""


WRONG_TYPE: Final = Refusal("WRONGTYPE")


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """An answer whose items may come in any order; each is one word, or several that belong together."""

    items: Iterable[tuple[bytes, ...]]

    def fits(self, result: tuple[bytes, ...] | None) -> bool:
        """Whether a result consists of these items."""
        items = sorted(self.items)
        size = len(items[0]) if items else 1
        return result is not None and items == sorted(
            result[place : place + size] for place in range(0, len(result), size)
        )


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes:
        step: from what is stored at its keys and the operation to the possible outcomes.
        keys: its keys.
    """

    step: Callable[[States, Operation], Iterable[Outcome]]
    keys: Callable[[Operation], tuple[str, ...]] = one_key


def on(kind: str, empty: Any, function: Callable[[Any, Words], tuple[Any, Any]]) -> Command:
    """A command on one key that has to be of a type.

    Args:
        kind: the type.
        empty: the value of a key that is not there.
        function: from the value and the words behind the key to the answer, and the value then.
    """

    def step(states: States, operation: Operation) -> Iterator[Outcome]:
        (stored,) = states
        if stored is not None and stored.kind != kind:
            yield WRONG_TYPE, states
            return
        before = empty if stored is None else stored.value
        answer, value = function(before, operation.argument)
        yield answer, (with_value(kind, stored, value, empty),)

    return Command(step)


def on_pairs(kind: str, function: Callable[[dict[bytes, Any], Words], Any]) -> Command:
    """A command on one key that has pairs; the function changes them in place, and answers."""

    def changed(pairs: frozenset[tuple[bytes, Any]], words: Words) -> tuple[Any, Any]:
        values = dict(pairs)
        return function(values, words), frozenset(values.items())

    return on(kind, frozenset(), changed)


def between(places: Words, size: int) -> slice:
    """The items of so many between two places, which may count from the end, both included."""
    start, stop = (place + size if place < 0 else place for place in map(int, places))
    return slice(max(start, 0), max(stop + 1, 0))


def with_value(kind: str, stored: Stored | None, value: Any, empty: Any) -> Stored | None:
    """What is stored at a key when its value has changed; nothing if the value is empty."""
    if value == empty:
        return None
    return Stored(kind, value) if stored is None else stored._replace(value=value)


def number(count: int) -> tuple[bytes, ...]:
    """A number as an answer."""
    return (b"%d" % count,)


def redis_model(*tables: Mapping[str, Command]) -> Model:
    """The model of a server that knows the commands of some tables."""
    commands = {name: command for table in tables for name, command in table.items()}

    def step(states: States, operation: Operation) -> Iterator[Outcome]:
        for alive in product(*(_perhaps_gone(stored, operation) for stored in states)):
            yield from commands[operation.name].step(alive, operation)

    def keys(operation: Operation) -> tuple[str, ...]:
        return tuple(dict.fromkeys(commands[operation.name].keys(operation)))

    return Model("redis", commands.keys(), None, step, keys, {"WRONGTYPE"})


def _perhaps_gone(stored: Stored | None, operation: Operation) -> Iterator[Stored | None]:
    if stored is None or operation.end >= stored.since:
        yield None
    if stored is not None and operation.invoked <= stored.until:
        yield stored
