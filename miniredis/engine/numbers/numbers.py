"""Numbers as Redis parses them in arguments.

Python's ``int`` and ``float`` accept other texts (spaces, underscores, plus signs, leading zeros), so they
are not used alone. A function that names a C function of Redis accepts exactly what that function accepts.
"""

from __future__ import annotations

import math
import re
from typing import Final

from ..protocol.errors import (
    NOT_AN_INTEGER,
    NOT_POSITIVE,
    TIMEOUT_NEGATIVE,
    TIMEOUT_NOT_A_FLOAT,
    TIMEOUT_NOT_AN_INTEGER,
    CommandError,
)
from .long_doubles import LongDouble

__all__ = [
    "MAX",
    "MIN",
    "as_c_int",
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

# Quantifiers are possessive (``++``, ``*+``): they do not backtrack, so that parsing takes linear time for
# any text. tests/test_patterns.py checks this for all patterns.
DECIMAL: Final = re.compile(rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]++)?").fullmatch
HEXADECIMAL: Final = re.compile(
    rb"[+-]?0x(?:[0-9a-f]++(?:\.[0-9a-f]*+)?|\.[0-9a-f]++)(?:p[+-]?[0-9]++)?"
).fullmatch
INFINITE: Final = re.compile(rb"[+-]?inf(?:inity)?").fullmatch
ZERO: Final = ord("0")
SMALLEST_NORMAL: Final = 2.0**-1022
"""Smaller doubles lose precision, which C reports as out of range."""


def parse_integer(text: bytes | bytearray) -> int | None:
    """A signed 64-bit integer in canonical form (``string2ll``); otherwise None."""
    size = len(text)
    if size < 19 and text.isdigit() and (text[0] != ZERO or size == 1):
        return int(text)
    if size > DIGITS_OF_64 or not text[1:].isdigit():  # except for a sign
        return None
    try:
        value = int(text)
    except ValueError:
        return None
    return value if b"%d" % value == text and MIN <= value <= MAX else None


def fits(number: int, width: int) -> bool:
    """Whether a signed integer fits into ``width`` bytes."""
    return -(1 << 8 * width - 1) <= number < 1 << 8 * width - 1


LEADING_INTEGER: Final = re.compile(rb"[ \t\n\v\f\r]*+([+-]?)0*+([0-9]*+)").match


def leading_integer(text: bytes) -> int:
    """The 32-bit integer at the start of a text, as C's ``atoi`` parses it; 0 if there is none."""
    return (leading_long(text) + (1 << 31)) % (1 << 32) - (1 << 31)


def leading_long(text: bytes) -> int:
    """The 64-bit integer at the start of a text, as ``strtol`` parses it; clamped if it is too large."""
    match = LEADING_INTEGER(text)
    assert match is not None  # it matches the empty text
    number = int(match[2][:DIGITS_OF_64] or b"0")
    return max(-number, MIN) if match[1] == b"-" else min(number, MAX)


DIGITS_OF_64: Final = 21
"""More digits than a 64-bit integer has."""


def read_integer(text: bytes, error: bytes = NOT_AN_INTEGER) -> int:
    """An integer argument; raises ``error`` as a ``CommandError`` if it is not one."""
    value = parse_integer(text)
    if value is None:
        raise CommandError(error)
    return value


def read_range(text: bytes, low: int, high: int, error: bytes) -> int:
    """An integer between two bounds, both allowed; otherwise raises ``error`` as a ``CommandError``."""
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
    """The timeout of a blocking command, from seconds to milliseconds; None means for ever.

    It is rounded up, so -0.0001 is 0 and means for ever (``getTimeoutFromObjectOrReply``).
    """
    if len(text) < 10 and text.isdigit():  # as most clients write it
        return int(text) * 1000 or None
    seconds = LongDouble.parse(text)
    if seconds is None:
        raise CommandError(TIMEOUT_NOT_A_FLOAT)
    milliseconds = seconds.ceiling_of_thousandfold()
    if milliseconds is None or not 0 <= milliseconds <= MAX:  # larger values wrap to negative ones in Redis
        raise CommandError(TIMEOUT_NEGATIVE)
    return milliseconds or None


def parse_double(text: bytes) -> float | None:
    """A number that is the whole text up to a NUL, as C's ``strtod``; None if it is not one, or out of range.

    Leading white space is skipped, and an empty text is 0. Not-a-number gives None.
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


def as_c_int(number: int) -> int:
    """A number cut to its last 32 bits, as it is when Redis keeps it in an ``int``."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def read_milliseconds(text: bytes) -> int | None:
    """A timeout in milliseconds; None means for ever."""
    milliseconds = read_integer(text, TIMEOUT_NOT_AN_INTEGER)
    if milliseconds < 0:
        raise CommandError(TIMEOUT_NEGATIVE)
    return milliseconds or None
