"""Numbers as bytes, for the Lua libraries: as C converts them, but with a defined result in every case."""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["get_integer", "get_real", "put_integer", "put_real", "to_number"]

MAX: Final = 1 << 64
MIN_SIGNED: Final = -(1 << 63)
FORMS: Final = {(False, False): "<f", (False, True): ">f", (True, False): "<d", (True, True): ">d"}
SHORT: Final = 4


def truncated(number: float) -> int:
    """A number as a 64-bit integer. If it does not fit, the result is what common processors return."""
    if number >= MAX:
        return 0
    is_small = number < MIN_SIGNED or number != number
    return MIN_SIGNED if is_small else int(number)


def put_integer(number: float, size: int, big: bool) -> bytes:
    """The lowest ``size`` bytes of an integer; those beyond the eighth are zeros."""
    value = truncated(number) % MAX
    size = int(size)
    if size > 8:
        return value.to_bytes(size, "big" if big else "little")
    return (value % (1 << 8 * size)).to_bytes(size, "big" if big else "little")


def get_integer(text: bytes, big: bool, signed: bool) -> int | float:
    """The integer that bytes encode; only its lowest 64 bits count."""
    value = int.from_bytes(text, "big" if big else "little") % MAX
    bits = min(8 * len(text), 64)
    if signed and bits and value >> (bits - 1) & 1:
        return value - (1 << bits)
    return float(value) if value >= -MIN_SIGNED else value


def put_real(number: float | bytes, double: bool, big: bool) -> bytes:
    """The bytes of a float or a double; a number too large for a float becomes infinite."""
    value = float(number)
    form = FORMS[bool(double), bool(big)]
    try:
        return struct.pack(form, value)
    except OverflowError:
        return struct.pack(form, float("inf") if value > 0 else float("-inf"))


def get_real(text: bytes, big: bool) -> float:
    """The float or double that bytes encode."""
    (value,) = struct.unpack(FORMS[len(text) != SHORT, bool(big)], text)
    return float(value)


def to_number(text: bytes) -> float:
    """A number in C's notation, hexadecimal too."""
    if b"x" in text.lower():
        try:
            return float.fromhex(text.decode())
        except OverflowError:
            return float("-inf" if text.startswith(b"-") else "inf")
    return float(text)
