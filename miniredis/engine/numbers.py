"""Numbers as Redis reads them from arguments.

Python's ``int`` and ``float`` take other things (spaces, underscores, plus signs, leading zeros), so the
reading is ours. The functions named after a C function of Redis take exactly what that function takes.
"""

from __future__ import annotations

import math
import re
from typing import Final

from .errors import (
    NOT_AN_INTEGER,
    NOT_POSITIVE,
    TIMEOUT_NEGATIVE,
    TIMEOUT_NOT_A_FLOAT,
    TIMEOUT_NOT_AN_INTEGER,
    CommandError,
)
from .longdouble import LongDouble

__all__ = [
    "MAX",
    "MIN",
    "fits",
    "leading_integer",
    "leading_long",
    "parse_double",
    "parse_integer",
    "read_integer",
    "read_milliseconds",
    "read_positive",
    "read_range",
    "read_timeout",
]

MIN: Final = -(1 << 63)
MAX: Final = (1 << 63) - 1

# Repeats are possessive (``++``, ``*+``): they never give back what they took, so that reading takes time in
# proportion to the text, whatever the text. tests/test_patterns.py judges all patterns by that.
DECIMAL: Final = re.compile(rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]++)?").fullmatch
HEXADECIMAL: Final = re.compile(
    rb"[+-]?0x(?:[0-9a-f]++(?:\.[0-9a-f]*+)?|\.[0-9a-f]++)(?:p[+-]?[0-9]++)?"
).fullmatch
INFINITE: Final = re.compile(rb"[+-]?inf(?:inity)?").fullmatch
ZERO: Final = ord("0")
SMALLEST_NORMAL: Final = 2.0**-1022
"""Below it, a double loses digits, which C reports as out of range."""


def parse_integer(text: bytes | bytearray) -> int | None:
    """A signed 64-bit integer in its one canonical form (``string2ll``), else None."""
    size = len(text)
    if size < 19 and text.isdigit() and (text[0] != ZERO or size == 1):
        return int(text)
    if size > DIGITS_OF_64 or not text[1:].isdigit():  # but for its sign
        return None
    try:
        value = int(text)
    except ValueError:
        return None
    return value if b"%d" % value == text and MIN <= value <= MAX else None


def fits(number: int, width: int) -> bool:
    """Whether an integer fits into so many bytes, sign included."""
    return -(1 << 8 * width - 1) <= number < 1 << 8 * width - 1


LEADING_INTEGER: Final = re.compile(rb"[ \t\n\v\f\r]*+([+-]?)0*+([0-9]*+)").match


def leading_integer(text: bytes) -> int:
    """The 32-bit integer at the start of a text, as C's ``atoi`` finds it; 0 if there is none."""
    return (leading_long(text) + (1 << 31)) % (1 << 32) - (1 << 31)


def leading_long(text: bytes) -> int:
    """The 64-bit integer at the start of a text, as ``strtol`` finds it; the nearest if it is too large."""
    match = LEADING_INTEGER(text)
    assert match is not None  # it fits the empty text
    number = int(match[2][:DIGITS_OF_64] or b"0")
    return max(-number, MIN) if match[1] == b"-" else min(number, MAX)


DIGITS_OF_64: Final = 21
"""More digits than a 64-bit integer has."""


def read_integer(text: bytes, error: bytes = NOT_AN_INTEGER) -> int:
    """An integer argument; raises ``error`` as a ``CommandError`` where it is none."""
    value = parse_integer(text)
    if value is None:
        raise CommandError(error)
    return value


def read_range(text: bytes, low: int, high: int, error: bytes) -> int:
    """An integer between two bounds, both allowed; raises ``error`` for anything else."""
    value = parse_integer(text)
    if value is None or not low <= value <= high:
        raise CommandError(error)
    return value


def read_positive(text: bytes) -> int:
    """A count of 0 or more (``getPositiveLongFromObjectOrReply``)."""
    value = read_integer(text, NOT_POSITIVE)
    if value < 0:
        raise CommandError(NOT_POSITIVE)
    return value


def read_timeout(text: bytes) -> int | None:
    """A blocking command's timeout in seconds, as whole milliseconds; None means for ever.

    The rounding is up, so -0.0001 is 0 and waits for ever (``getTimeoutFromObjectOrReply``).
    """
    if len(text) < 10 and text.isdigit():  # as most clients write it
        return int(text) * 1000 or None
    seconds = LongDouble.parse(text)
    if seconds is None:
        raise CommandError(TIMEOUT_NOT_A_FLOAT)
    milliseconds = seconds.ceiling_of_thousandfold()
    if milliseconds is None or not 0 <= milliseconds <= MAX:  # what is too large wraps to a negative number
        raise CommandError(TIMEOUT_NEGATIVE)
    return milliseconds or None


def parse_double(text: bytes) -> float | None:
    """A whole text, up to a NUL, as C's ``strtod`` takes it; None if it is no number, or out of range.

    White space before it is passed over, and no text at all counts as 0. Not-a-number is none.
    """
    if DECIMAL(text) and SMALLEST_NORMAL < abs(value := float(text)) < math.inf:  # as most are
        return value
    number = text.split(b"\0", 1)[0].lstrip(b" \t\n\v\f\r").lower()
    if not number:
        return 0.0 if text[:1] in {b"", b"\0"} else None
    if INFINITE(number):
        return float(number)
    try:
        if HEXADECIMAL(number):
            return float.fromhex(number.decode())
        value = float(number) if DECIMAL(number) else math.nan
    except OverflowError:
        return None
    lost = abs(value) < SMALLEST_NORMAL and bool(number.partition(b"e")[0].strip(b"+-.0"))
    return None if math.isinf(value) or math.isnan(value) or lost else value


def read_milliseconds(text: bytes) -> int | None:
    """A timeout in whole milliseconds; None means for ever."""
    milliseconds = read_integer(text, TIMEOUT_NOT_AN_INTEGER)
    if milliseconds < 0:
        raise CommandError(TIMEOUT_NEGATIVE)
    return milliseconds or None
