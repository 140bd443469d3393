"""Expiry options: from a TTL or timestamp argument to wall time in milliseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..declarations.registry import by_version, chosen
from ..numbers.numbers import MAX, MIN, read_integer
from ..protocol import errors
from ..protocol.errors import CommandError

if TYPE_CHECKING:
    from ..clients.session import Session

__all__ = ["absolute", "event_of_past", "from_argument"]

UNITS: Final = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
"""For each option: the milliseconds in its unit, and whether it is relative to now."""


event_of_past: Final = by_version("del", {"valkey-8.1+": "overdue"})
"""The event of a key whose deadline is set to a time in the past."""


def absolute(session: Session, command: bytes, unit: bytes, amount: bytes) -> int:
    """The wall time, in milliseconds, of an option such as ``EX 10``; raises ``CommandError`` if below 1."""
    number = read_integer(amount)
    if number <= 0:
        raise CommandError(chosen(session.engine.version, errors.invalid_expire)(command))
    return scaled(session, command, number, *UNITS[unit])


def from_argument(session: Session, command: bytes, amount: bytes, unit: bytes) -> int:
    """The wall time, in milliseconds, of an EXPIRE argument; it may be in the past."""
    return scaled(session, command, read_integer(amount), *UNITS[unit])


def scaled(session: Session, command: bytes, number: int, factor: int, relative: bool) -> int:
    milliseconds = number * factor
    when = milliseconds + (session.engine.now.milliseconds if relative else 0)
    if not (MIN <= milliseconds <= MAX and when <= MAX):
        return chosen(session.engine.version, too_far)(session, command, milliseconds, relative)
    return when


def too_far(session: Session, command: bytes, milliseconds: int, relative: bool) -> int:
    """Refuses a time that has more than 64 bits."""
    raise CommandError(chosen(session.engine.version, errors.invalid_expire)(command))
