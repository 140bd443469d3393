"""Strings in a payload."""

from __future__ import annotations

from ..numbers import fits, parse_integer
from .kinds import STRING
from .reader import string

__all__ = ["dump_string", "string_or_integer"]


def dump_string(text: bytes | bytearray) -> bytes:
    """A string."""
    return bytes([STRING]) + string_or_integer(bytes(text))


def string_or_integer(text: bytes) -> bytes:
    """A string, as an integer of 1, 2 or 4 bytes if it reads as one."""
    number = parse_integer(text)
    for form, width in enumerate((1, 2, 4)):
        if number is not None and fits(number, width):
            return bytes([0xC0 | form]) + number.to_bytes(width, "little", signed=True)
    return string(text)
