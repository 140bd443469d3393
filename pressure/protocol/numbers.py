"""Numbers that others may have written: bounds, counters, deliveries, times.

Rule: whatever stands there, reading it ends in a number, or in an error that names the queue and the key.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pressure.errors import MalformedQueueError
from pressure.keys import Keys
from pressure.text import printable

__all__ = ["bound_in", "by_hand", "count_in", "malformed", "moment", "not_a_number", "number_in"]

#: What INCRBY takes for a number, of 64 bits; it is what it writes.
_NUMBER: Final = re.compile(rb"0|-?[1-9][0-9]{0,18}")
#: What is a bound: nobody adds to it, so that leading zeros do no harm.
_BOUND: Final = re.compile(rb"[0-9]{1,19}")
_FURTHEST: Final = 1 << 63
#: How much of a key's value an error quotes.
_QUOTED: Final = 60


def number_in(data: Any) -> int | None:
    """The number that some bytes are; None if they are none that Redis counts with."""
    if not isinstance(data, bytes) or not _NUMBER.fullmatch(data):
        return None
    number = int(data)
    return number if -_FURTHEST <= number < _FURTHEST else None


def bound_in(data: Any) -> int | None:
    """The bound that some bytes are; None if they are none. Scripts (``lua``) take the same for one."""
    return int(data) if isinstance(data, bytes) and _BOUND.fullmatch(data) else None


def count_in(data: Any) -> int | None:
    """The number of 0 or more that some bytes are, 0 if there are none; None if they are no such number."""
    number = 0 if data is None else number_in(data)
    return number if number is not None and number >= 0 else None


def moment(score: Any) -> int:
    """A score as a whole number of milliseconds; infinity is far away."""
    return int(max(-_FURTHEST, min(float(score), _FURTHEST)))


def not_a_number(what: str, data: bytes | None) -> str:
    """Says of something that it should be a number of 0 or more."""
    quoted = repr((data or b"")[:_QUOTED]) + ("..." if data and len(data) > _QUOTED else "")
    return f"its {what} is not a number of 0 or more: {quoted}"


def by_hand(keys: Keys) -> str:
    """What helps where the bound is no number."""
    return f"set key {printable(keys.bound)} to the right number by hand"


def malformed(queue: object, what: str, data: bytes | None, remedy: str) -> MalformedQueueError:
    """The error for that."""
    return MalformedQueueError(f"queue {queue}: {not_a_number(what, data)}; {remedy}")
