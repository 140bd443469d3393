"""The commands on strings. A string is bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from ..model import Operation
from .base import Outcome, States
from .redis import WRONG_TYPE, Command, Refusal, Stored, Words, number, on

__all__ = ["STRINGS", "added"]

Answered: TypeAlias = tuple[Any, bytes | None]

_NUMBER: Final = re.compile(rb"0|-?[1-9][0-9]*")
_OK: Final = (b"OK",)


def added(value: bytes, amount: int) -> bytes | None:
    """A number that is stored, and another one, in 64 bits; None if there is no such number."""
    if not _NUMBER.fullmatch(value) or not -(2**63) <= int(value) + amount < 2**63:
        return None
    return b"%d" % (int(value) + amount)


def _get(value: bytes | None, words: Words) -> Answered:  # noqa: ARG001  (as all commands)
    return None if value is None else (value,), value


def _getdel(value: bytes | None, words: Words) -> Answered:
    return _get(value, words)[0], None


def _append(value: bytes | None, words: Words) -> Answered:
    value = (value or b"") + words[0]
    return number(len(value)), value


def _strlen(value: bytes | None, words: Words) -> Answered:  # noqa: ARG001  (as all commands)
    return number(len(value or b"")), value


def _add(sign: int) -> Callable[[bytes | None, Words], Answered]:
    def add(value: bytes | None, words: Words) -> Answered:
        (amount,) = map(int, words or (b"1",))
        total = added(b"0" if value is None else value, sign * amount)
        return (Refusal("ERR"), value) if total is None else ((total,), total)

    return add


def _set(states: States, operation: Operation) -> Iterator[Outcome]:
    """SET with NX, XX, GET, KEEPTTL, EX and PX."""
    (before,), (value, *rest) = states, operation.argument
    options = [word.upper() for word in rest]
    time = None
    for unit, milliseconds in ((b"EX", 1000), (b"PX", 1)):
        if unit in options:
            place = options.index(unit)
            time = int(options[place + 1]) * milliseconds
            del options[place : place + 2]
    if set(options) - {b"NX", b"XX", b"GET", b"KEEPTTL"}:
        raise ValueError(f"SET has options that the model does not know: {options}")
    answer: Any = _OK
    if b"GET" in options:
        if before is not None and before.kind != "string":
            yield WRONG_TYPE, states
            return
        answer = None if before is None else (before.value,)
    if (b"NX" in options and before is not None) or (b"XX" in options and before is None):
        yield answer if b"GET" in options else None, states
        return
    stored: Stored | None = Stored("string", value)
    if b"KEEPTTL" in options and before is not None:
        stored = before._replace(kind="string", value=value)
    elif time is not None:
        stored = Stored("string", value).for_milliseconds(time, operation)
    yield answer, (stored,)


def _setex(milliseconds: int) -> Command:
    def step(states: States, operation: Operation) -> Iterator[Outcome]:  # noqa: ARG001  (as all commands)
        time, value = operation.argument
        yield _OK, (Stored("string", value).for_milliseconds(int(time) * milliseconds, operation),)

    return Command(step)


def _setnx(states: States, operation: Operation) -> Iterator[Outcome]:
    (before,), (value,) = states, operation.argument
    yield (number(1), (Stored("string", value),)) if before is None else (number(0), states)


def _getset(states: States, operation: Operation) -> Iterator[Outcome]:
    (before,), (value,) = states, operation.argument
    if before is not None and before.kind != "string":
        yield WRONG_TYPE, states
    else:
        yield None if before is None else (before.value,), (Stored("string", value),)


STRINGS: Final[Mapping[str, Command]] = {
    "SET": Command(_set), "SETEX": _setex(1000), "PSETEX": _setex(1), "SETNX": Command(_setnx),
    "GETSET": Command(_getset), "GET": on("string", None, _get), "GETDEL": on("string", None, _getdel),
    "APPEND": on("string", None, _append), "STRLEN": on("string", None, _strlen),
    "INCR": on("string", None, _add(1)), "INCRBY": on("string", None, _add(1)),
    "DECR": on("string", None, _add(-1)), "DECRBY": on("string", None, _add(-1)),
}  # fmt: skip
"""What each command does."""
