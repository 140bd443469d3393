"""Strings in a payload."""

from __future__ import annotations

from typing import Final

from ..numbers import fits, parse_integer
from .kinds import STRING
from .reader import string

__all__ = ["dump_string", "string_or_integer"]

TYPE: Final = bytes([STRING])


def dump_string(text: bytes | bytearray) -> bytes:
    """A string."""
    return TYPE + string_or_integer(bytes(text))


LONGEST_INTEGER: Final = len(b"-2147483648")
"""A longer text is not an integer of 32 bits."""


def string_or_integer(text: bytes) -> bytes:
    """A string, as an integer of 1, 2 or 4 bytes if it reads as one."""
    if len(text) > LONGEST_INTEGER or not (text.isdigit() or text[:1] == b"-"):
        return string(text)
    number = parse_integer(text)
    for form, width in enumerate((1, 2, 4)):
        if number is not None and fits(number, width):
            return bytes([0xC0 | form]) + number.to_bytes(width, "little", signed=True)
    return string(text)
