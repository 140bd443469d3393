"""80-bit floating point numbers, which Redis uses for INCRBYFLOAT and for timeouts.

C has them as ``long double``, Python does not. Here they are integers times a power of two. Every operation
is exact and then rounded to 64 bits of mantissa, half to even. So 0.1 + 0.2 is 0.3, as in Redis.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["LongDouble"]

PRECISION: Final = 64
LOWEST: Final = -16445
"""The exponent of the lowest bit of the smallest number."""
HIGHEST: Final = 16384
"""A number with more bits before the point is infinite."""

LONGEST: Final = 5 * 1024 - 1
"""The longest text of a number: Redis copies it into a buffer of 5 KiB."""

DECIMAL: Final = re.compile(rb"([+-]?)([0-9]*+)(?:\.([0-9]*+))?(?:[eE]([+-]?[0-9]++))?").fullmatch
HEXADECIMAL: Final = re.compile(
    rb"([+-]?)0[xX]([0-9a-fA-F]*+)(?:\.([0-9a-fA-F]*+))?(?:[pP]([+-]?[0-9]++))?"
).fullmatch
INFINITE: Final = re.compile(rb"([+-]?)inf(?:inity)?", re.IGNORECASE).fullmatch

FAR: Final = 20_000
"""Texts with a larger power of ten (or twice as large a power of two) are out of range."""

FRACTION: Final = 17
"""How many digits Redis writes after the point."""

DIGITS_AT_ONCE: Final = 4000
"""The most digits that Python's ``int`` converts at once by default."""
SHIFT: Final[int] = 10**DIGITS_AT_ONCE


class LongDouble(NamedTuple):
    """A number: ``mantissa`` times two to the power of ``exponent``; infinite from ``HIGHEST`` on."""

    mantissa: int
    exponent: int

    @property
    def is_infinite(self) -> bool:
        """Whether it is positive or negative infinity."""
        return self.exponent >= HIGHEST

    @classmethod
    def parse(cls, text: bytes) -> LongDouble | None:
        """The number that C's ``strtold`` reads from a whole text; None if it is none, or out of range.

        Not-a-number and texts with leading white space give None.
        """
        if not 0 < len(text) <= LONGEST:
            return None
        if match := DECIMAL(text):
            return read_decimal(*match.groups(default=b""))
        if match := HEXADECIMAL(text):
            return read_hexadecimal(*match.groups(default=b""))
        if match := INFINITE(text):
            return cls(-1 if match[1] == b"-" else 1, HIGHEST)
        return None

    def plus(self, other: LongDouble) -> LongDouble | None:
        """The sum; None if it is infinite or not a number."""
        if self.is_infinite or other.is_infinite:
            return None
        low = min(self.exponent, other.exponent)
        total = (self.mantissa << self.exponent - low) + (other.mantissa << other.exponent - low)
        return finite(rounded(total, 1, low))

    def ceiling_of_thousandfold(self) -> int | None:
        """1000 times the number, rounded as the processor rounds, then up; None if infinite."""
        product = finite(rounded(self.mantissa * 1000, 1, self.exponent)) if not self.is_infinite else None
        if product is None:
            return None
        if product.exponent >= 0:
            return product.mantissa << product.exponent
        return -(-product.mantissa >> -product.exponent)

    def __str__(self) -> str:
        """Redis's form: no exponent, up to 17 digits after the point, no trailing zeros."""
        digits = decimal_digits(self.mantissa, self.exponent)
        whole, fraction = digits[:-FRACTION], digits[-FRACTION:].rstrip("0")
        text = f"{whole}.{fraction}" if fraction else whole
        return f"-{text}" if self.mantissa < 0 and text != "0" else text


ZERO: Final = LongDouble(0, LOWEST)


def read_decimal(sign: bytes, whole: bytes, fraction: bytes, power: bytes) -> LongDouble | None:
    if not whole + fraction:
        return None
    digits = (whole + fraction).lstrip(b"0")
    if not digits:
        return ZERO
    ten = read_power(power) - len(fraction)
    if abs(ten) > FAR:
        return None
    number = to_integer(digits) * (-1 if sign == b"-" else 1)
    value = rounded(number * 10**ten, 1, 0) if ten >= 0 else rounded(number, 10**-ten, 0)
    return finite(value) if value.mantissa else None


def read_hexadecimal(sign: bytes, whole: bytes, fraction: bytes, power: bytes) -> LongDouble | None:
    if not whole + fraction:
        return None
    number = int(whole + fraction, 16) * (-1 if sign == b"-" else 1)
    if not number:
        return ZERO
    two = read_power(power) - 4 * len(fraction)
    if abs(two) > 2 * FAR:
        return None
    value = rounded(number, 1, two)
    return finite(value) if value.mantissa else None


def read_power(text: bytes) -> int:
    """The power after ``e`` or ``p``, 0 without one; if it is out of range, any such number of its sign."""
    if len(text.lstrip(b"+-0")) > len(str(FAR)):
        return -4 * FAR if text.startswith(b"-") else 4 * FAR
    return int(text or b"0")


def finite(value: LongDouble) -> LongDouble | None:
    return None if value.is_infinite else value


def rounded(numerator: int, denominator: int, exponent: int) -> LongDouble:
    """The number nearest to a ratio times a power of two; a tie goes to the even one."""
    size = abs(numerator)
    if not size:
        return ZERO
    places = size.bit_length() - denominator.bit_length() - PRECISION  # may be one too few
    places = max(places, LOWEST - exponent)
    mantissa = divided(size, denominator, places)
    if mantissa.bit_length() > PRECISION:
        places += 1
        mantissa = divided(size, denominator, places)
    if mantissa.bit_length() + places + exponent > HIGHEST:
        return LongDouble(1 if numerator > 0 else -1, HIGHEST)
    return LongDouble(mantissa if numerator > 0 else -mantissa, places + exponent)


def divided(size: int, denominator: int, places: int) -> int:
    """A ratio divided by a power of two, rounded to the nearest integer, half to even."""
    if places >= 0:
        denominator <<= places
    else:
        size <<= -places
    quotient, rest = divmod(size, denominator)
    is_up = 2 * rest > denominator or (2 * rest == denominator and quotient % 2 == 1)
    return quotient + int(is_up)


def decimal_digits(mantissa: int, exponent: int) -> str:
    """The digits of the absolute value of a number, the last 17 of them after the point."""
    return to_text(divided(abs(mantissa) * 10**FRACTION, 1, -exponent)).rjust(FRACTION + 1, "0")


def to_integer(digits: bytes) -> int:
    if len(digits) <= DIGITS_AT_ONCE:
        return int(digits)
    head, tail = digits[:-DIGITS_AT_ONCE], digits[-DIGITS_AT_ONCE:]
    return to_integer(head) * SHIFT + int(tail)


def to_text(number: int) -> str:
    head, tail = divmod(number, SHIFT)
    return str(tail) if not head else to_text(head) + str(tail).rjust(DIGITS_AT_ONCE, "0")
