"""Scores and coordinates: the doubles of C, as Redis reads and writes them."""

from __future__ import annotations

import math
import re
from typing import Final

from .errors import NOT_A_FLOAT, CommandError
from .numbers import DECIMAL, HEXADECIMAL, INFINITE
from .replies import double_text

__all__ = ["packed_text", "parse_bound", "read_double"]

SPACES: Final = b" \t\n\v\f\r"
NONZERO: Final = re.compile(rb"[+-]?(?:0[xX][0.]*+[1-9a-fA-F]|[0.]*+[1-9])").match
WHOLE: Final = float(1 << 62)
"""Up to here Redis packs a number without a fraction as an integer."""


def read_double(text: bytes, error: bytes = NOT_A_FLOAT) -> float:
    """A double argument; raises ``error`` as a ``CommandError`` where it is none, or out of range.

    The text is the number and nothing else. Infinity is a number, not-a-number is none (``string2d``).
    """
    value = convert(text)
    if value is None or is_out_of_range(text, value):
        raise CommandError(error)
    return value


def is_out_of_range(text: bytes, value: float) -> bool:
    """Whether a text stands for a finite number that became infinite, or for one beside 0 that became 0."""
    if value == 0:
        return NONZERO(text) is not None
    return math.isinf(value) and INFINITE(text.lower()) is None


def parse_bound(text: bytes) -> float | None:
    """An end of a range of scores, as C's ``strtod`` takes it; None if it is no number.

    It ends with a NUL, spaces before it are passed over, and no text at all counts as 0. What is too large
    is infinite.
    """
    number = text.split(b"\0", 1)[0]
    return convert(number.lstrip(SPACES)) if number else 0.0


def convert(text: bytes) -> float | None:
    """The double nearest to what a text says; None if it is no number."""
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
    """A double where it is packed: an integer without an exponent, if it is one of no more than 62 bits."""
    if -WHOLE <= value <= WHOLE and value == int(value):
        return b"%d" % int(value)
    return double_text(value)
