"""Times to live: from what a client said to a wall time in milliseconds, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import errors
from .errors import CommandError
from .numbers import MAX, MIN, read_integer

if TYPE_CHECKING:
    from .session import Session

__all__ = ["absolute", "from_argument"]

UNITS: Final = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
"""For each option: milliseconds in its unit, and whether it counts from now."""


def absolute(session: Session, command: bytes, unit: bytes, amount: bytes) -> int:
    """The wall time, in milliseconds, of an option such as ``EX 10``, which must be positive."""
    number = read_integer(amount)
    if number <= 0:
        raise CommandError(errors.invalid_expire(command))
    return scaled(session, command, number, *UNITS[unit])


def from_argument(session: Session, command: bytes, amount: bytes, unit: bytes) -> int:
    """The wall time, in milliseconds, of an EXPIRE, which may lie in the past."""
    return scaled(session, command, read_integer(amount), *UNITS[unit])


def scaled(session: Session, command: bytes, number: int, factor: int, relative: bool) -> int:
    milliseconds = number * factor
    when = milliseconds + (session.engine.now.milliseconds if relative else 0)
    if not (MIN <= milliseconds <= MAX and when <= MAX):
        raise CommandError(errors.invalid_expire(command))
    return when
