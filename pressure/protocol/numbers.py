"""Read numbers that any client may have written: bounds, counters, deliveries, times.

Rule: what is not a number becomes None, or an error that names the queue and says what is wrong.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pressure.errors import MalformedQueueError
from pressure.keys import Keys
from pressure.text import printable

#: The text of a number as INCRBY reads and writes it; ``number_in`` checks that it fits in 64 bits.
_NUMBER: Final = re.compile(rb"0|-?[1-9][0-9]{0,18}")
#: The text of a bound. No command adds to a bound, so leading zeros are allowed.
_BOUND: Final = re.compile(rb"[0-9]{1,19}")
_FURTHEST: Final = 1 << 63
#: How many bytes of a key's value an error quotes.
_QUOTED: Final = 60


def number_in(data: Any) -> int | None:
    """The number in a reply; None if it is not one that INCRBY accepts."""
    if not isinstance(data, bytes) or not _NUMBER.fullmatch(data):
        return None
    number = int(data)
    return number if -_FURTHEST <= number < _FURTHEST else None


def bound_in(data: Any) -> int | None:
    """The bound in a reply; None if it is not a bound. The scripts in ``lua`` use the same test."""
    return int(data) if isinstance(data, bytes) and _BOUND.fullmatch(data) else None


def count_in(data: Any) -> int | None:
    """The count in a reply, 0 if the key does not exist; None if it is not a number of 0 or more."""
    number = 0 if data is None else number_in(data)
    return number if number is not None and number >= 0 else None


def milliseconds_in(score: Any) -> int:
    """A score of a sorted set as milliseconds; an infinite one is clipped to 64 bits."""
    return int(max(-_FURTHEST, min(float(score), _FURTHEST)))


def not_a_number(what: str, data: bytes | None) -> str:
    """The text of an error about a value that is not a number of 0 or more."""
    quoted = repr((data or b"")[:_QUOTED]) + ("..." if data and len(data) > _QUOTED else "")
    return f"its {what} is not a number of 0 or more: {quoted}"


def how_to_set_bound(keys: Keys) -> str:
    """The text of an error: how to correct a bound that is not a number."""
    return f"set key {printable(keys.bound)} to the right number by hand"


def malformed(queue: object, what: str, data: bytes | None, remedy: str) -> MalformedQueueError:
    """The error about a key that should hold a number of 0 or more, and what to do about it."""
    return MalformedQueueError(f"queue {queue}: {not_a_number(what, data)}; {remedy}")
