"""Scores and coordinates: reads and writes doubles as Redis, which uses C's functions, does."""

from __future__ import annotations

import math
import re
from typing import Final

from ..protocol.errors import NOT_A_FLOAT, CommandError
from ..protocol.replies import double_text
from .numbers import DECIMAL, HEXADECIMAL, INFINITE

__all__ = ["packed_text", "parse_bound", "read_double", "short_text"]

SPACES: Final = b" \t\n\v\f\r"
NONZERO: Final = re.compile(rb"[+-]?(?:0[xX][0.]*+[1-9a-fA-F]|[0.]*+[1-9])").match
WHOLE: Final = float(1 << 62)
"""Up to this size, Redis packs a number without a fraction as an integer."""


def read_double(text: bytes, error: bytes = NOT_A_FLOAT) -> float:
    """A double argument; raises ``error`` as a ``CommandError`` if it is not one or is out of range.

    The text must be a number and nothing else. Infinity is allowed, not-a-number is not (``string2d``).
    """
    value = convert(text)
    if value is None or is_out_of_range(text, value):
        raise CommandError(error)
    return value


def is_out_of_range(text: bytes, value: float) -> bool:
    """Whether a finite number overflowed to infinity, or a nonzero number underflowed to 0."""
    if value == 0:
        return NONZERO(text) is not None
    return math.isinf(value) and INFINITE(text.lower()) is None


def parse_bound(text: bytes) -> float | None:
    """A bound of a range of scores, as C's ``strtod`` parses it; None if it is not a number.

    The text ends at a NUL, leading white space is skipped, and an empty text is 0. Numbers that are too large
    are infinite.
    """
    number = text.split(b"\0", 1)[0]
    return convert(number.lstrip(SPACES)) if number else 0.0


def convert(text: bytes) -> float | None:
    """The double nearest to the number in a text; None if it is not a number."""
    number = text.lower()
    if DECIMAL(number) or INFINITE(number):
        return float(number)
    if HEXADECIMAL(number) is None:
        return None
    try:
        return float.fromhex(number.decode())
    except OverflowError:
        return -math.inf if number[:1] == b"-" else math.inf


def packed_text(value: float) -> bytes:
    """A double as Redis packs it: a whole number of up to 62 bits is written as an integer."""
    if -WHOLE <= value <= WHOLE and value == int(value):
        return b"%d" % int(value)
    return double_text(value)


ZEROS: Final = 7
"""So many zeros may stand behind the digits, or in front of them, before there is an exponent."""


def short_text(value: float) -> bytes:
    """A double as 7.2 and later print it: with as few digits as tell it from others."""
    if value == 0:
        return b"-0" if math.copysign(1, value) < 0 else b"0"
    if not math.isfinite(value) or (-WHOLE <= value <= WHOLE and value == int(value)):
        return packed_text(value) if math.isfinite(value) else double_text(value)
    mantissa, _, shift = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    padded = (whole + fraction).lstrip("0")
    digits = padded.rstrip("0")
    exponent = int(shift or 0) - len(fraction) + len(padded) - len(digits)
    return b"-" * (value < 0) + positional(digits, exponent).encode()


def positional(digits: str, exponent: int) -> str:
    """Digits times a power of ten; in scientific notation only if it is long otherwise."""
    count = len(digits)
    power = exponent + count - 1
    if exponent >= 0 and power < count + ZEROS:
        return digits + "0" * exponent
    if exponent < 0 and (exponent > -ZEROS or abs(power) < 4):
        place = count + exponent
        return f"{digits[:place]}.{digits[place:]}" if place > 0 else f"0.{'0' * -place}{digits}"
    fraction = "." + digits[1:] if count > 1 else ""
    return f"{digits[0]}{fraction}e{'+' if power >= 0 else '-'}{abs(power)}"
