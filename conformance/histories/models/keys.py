"""The commands on keys of all types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ..model import NEVER, Operation
from .base import Outcome, States
from .redis import Command, Refusal, number

__all__ = ["KEYS"]


def _del(states: States, operation: Operation) -> Iterator[Outcome]:  # noqa: ARG001  (as all commands)
    yield number(sum(stored is not None for stored in states)), (None,) * len(states)


def _exists(states: States, operation: Operation) -> Iterator[Outcome]:
    keys = operation.keys_in()
    there = {key for key, stored in zip(dict.fromkeys(keys), states, strict=True) if stored is not None}
    yield number(sum(key in there for key in keys)), states


def _type(states: States, operation: Operation) -> Iterator[Outcome]:  # noqa: ARG001
    (stored,) = states
    yield (b"none" if stored is None else stored.kind.encode(),), states


def _expire(milliseconds: int) -> Command:
    def step(states: States, operation: Operation) -> Iterator[Outcome]:
        (stored,), (time,) = states, operation.argument
        if stored is None:
            yield number(0), states
        else:
            yield number(1), (stored.for_milliseconds(int(time) * milliseconds, operation),)

    return Command(step)


def _persist(states: States, operation: Operation) -> Iterator[Outcome]:  # noqa: ARG001
    (stored,) = states
    if stored is None or stored.since == NEVER:
        yield number(0), states
    else:
        yield number(1), (stored.for_ever,)


def _rename(states: States, operation: Operation) -> Iterator[Outcome]:  # noqa: ARG001
    if states[0] is None:
        yield Refusal("ERR"), states
    else:
        yield (b"OK",), (states if len(states) == 1 else (None, states[0]))


KEYS: Final[Mapping[str, Command]] = {
    "DEL": Command(_del, Operation.keys_in), "UNLINK": Command(_del, Operation.keys_in),
    "EXISTS": Command(_exists, Operation.keys_in), "RENAME": Command(_rename, Operation.keys_in),
    "TYPE": Command(_type), "EXPIRE": _expire(1000), "PEXPIRE": _expire(1), "PERSIST": Command(_persist),
}  # fmt: skip
"""What each command does."""
