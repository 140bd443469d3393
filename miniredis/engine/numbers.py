"""Numbers as Redis reads them from arguments.

Python's ``int`` and ``float`` take other things (spaces, underscores, plus signs, leading zeros), so the
reading is ours. The functions named after a C function of Redis take exactly what that function takes.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Final

from .errors import (
    NOT_AN_INTEGER,
    NOT_POSITIVE,
    TIMEOUT_NEGATIVE,
    TIMEOUT_NOT_A_FLOAT,
    TIMEOUT_NOT_AN_INTEGER,
    CommandError,
)

__all__ = [
    "MAX",
    "MIN",
    "parse_integer",
    "read_integer",
    "read_milliseconds",
    "read_positive",
    "read_range",
    "read_timeout",
]

MIN: Final = -(1 << 63)
MAX: Final = (1 << 63) - 1

INTEGER: Final = re.compile(rb"0|-?[1-9][0-9]{0,18}").fullmatch
DECIMAL: Final = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch
HEXADECIMAL: Final = re.compile(
    rb"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?"
).fullmatch
INFINITE: Final = re.compile(rb"([+-]?)inf(?:inity)?", re.IGNORECASE).fullmatch

NONZERO: Final = b"123456789"

LONGEST_FLOAT: Final = 5 * 1024 - 1
"""Redis copies a number's text into a buffer of 5 KiB; what is longer is no number."""

LARGEST_EXPONENT: Final = 4932
SMALLEST_EXPONENT: Final = -4951
"""The powers of ten between which an 80-bit float has a value; outside, a number is out of range."""


def parse_integer(text: bytes | bytearray) -> int | None:
    """A signed 64-bit integer in its one canonical form (``string2ll``), else None."""
    if INTEGER(text) is None:
        return None
    value = int(text)
    return value if MIN <= value <= MAX else None


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
    seconds = parse_decimal(text)
    if seconds is None:
        raise CommandError(TIMEOUT_NOT_A_FLOAT)
    if not seconds.is_finite() or seconds.adjusted() > len(str(MAX)):
        raise CommandError(TIMEOUT_NEGATIVE)  # the conversion to 64 bits wraps to a negative number
    milliseconds = math.ceil(seconds * 1000)
    if not 0 <= milliseconds <= MAX:
        raise CommandError(TIMEOUT_NEGATIVE)
    return milliseconds or None


def read_milliseconds(text: bytes) -> int | None:
    """A timeout in whole milliseconds; None means for ever."""
    milliseconds = read_integer(text, TIMEOUT_NOT_AN_INTEGER)
    if milliseconds < 0:
        raise CommandError(TIMEOUT_NEGATIVE)
    return milliseconds or None


def parse_decimal(text: bytes) -> Decimal | None:
    """A floating point number as C's ``strtold`` takes it, or None; not-a-number is none."""
    if len(text) > LONGEST_FLOAT:
        return None
    if DECIMAL(text):
        return parse_plain(text)
    if HEXADECIMAL(text):
        return parse_hexadecimal(text)
    if infinite := INFINITE(text):
        return Decimal("-Infinity" if infinite[1] == b"-" else "Infinity")
    return None


def parse_hexadecimal(text: bytes) -> Decimal | None:
    try:
        return Decimal(float.fromhex(text.decode()))
    except OverflowError:
        return None


def parse_plain(text: bytes) -> Decimal | None:
    if not any(digit in NONZERO for digit in text.lower().partition(b"e")[0]):
        return Decimal(0)
    try:
        value = Decimal(text.decode())
    except InvalidOperation:  # an exponent beyond even Decimal's
        return None
    return value if SMALLEST_EXPONENT <= value.adjusted() <= LARGEST_EXPONENT else None
