"""The commands on sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from typing import Any, Final, TypeAlias

from ..model import Operation
from .base import Outcome, States
from .redis import WRONG_TYPE, AnyOrder, Command, Words, number, on, with_value

__all__ = ["SETS"]

Members: TypeAlias = frozenset[bytes]


def _sadd(members: Members, words: Words) -> tuple[Any, Members]:
    after = members.union(words)
    return number(len(after) - len(members)), after


def _srem(members: Members, words: Words) -> tuple[Any, Members]:
    after = members.difference(words)
    return number(len(members) - len(after)), after


def _spop(states: States, operation: Operation) -> Iterator[Outcome]:
    (stored,) = states
    if operation.argument:
        raise ValueError("SPOP with a count is not in the model")
    if stored is None:
        yield None, states
    elif stored.kind != "set":
        yield WRONG_TYPE, states
    else:
        for member in stored.value:
            left = with_value("set", stored, stored.value - {member}, frozenset())
            yield (member,), (left,)


def _smove(states: States, operation: Operation) -> Iterator[Outcome]:
    source, target, (_, member) = states[0], states[-1], operation.argument
    if source is None:
        yield number(0), states
    elif any(stored is not None and stored.kind != "set" for stored in states):
        yield WRONG_TYPE, states
    elif len(states) == 1 or member not in source.value:
        yield number(member in source.value), states
    else:
        there = frozenset() if target is None else target.value
        left = with_value("set", source, source.value - {member}, frozenset())
        yield number(1), (left, with_value("set", target, there | {member}, frozenset()))


def _combined(
    combine: Callable[[Members, Members], Members], states: States, operation: Operation
) -> Iterator[Outcome]:
    if any(each is not None and each.kind != "set" for each in states):
        yield WRONG_TYPE, states
        return
    keys = operation.keys_in()
    stored = dict(zip(dict.fromkeys(keys), states, strict=True))
    members: Iterator[Members] = (each.value if (each := stored[key]) else frozenset() for key in keys)
    yield AnyOrder([(member,) for member in reduce(combine, members)]), states


SETS: Final[Mapping[str, Command]] = {
    "SADD": on("set", frozenset(), _sadd), "SREM": on("set", frozenset(), _srem),
    "SCARD": on("set", frozenset(), lambda members, _: (number(len(members)), members)),
    "SISMEMBER": on("set", frozenset(), lambda members, words: (number(words[0] in members), members)),
    "SMEMBERS": on("set", frozenset(), lambda members, _: (AnyOrder((each,) for each in members), members)),
    "SPOP": Command(_spop), "SMOVE": Command(_smove, lambda operation: operation.keys_in(0, 1)),
    "SINTER": Command(partial(_combined, frozenset.intersection), Operation.keys_in),
    "SUNION": Command(partial(_combined, frozenset.union), Operation.keys_in),
    "SDIFF": Command(partial(_combined, frozenset.difference), Operation.keys_in),
}  # fmt: skip
"""What each command does."""
