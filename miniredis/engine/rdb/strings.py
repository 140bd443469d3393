"""Strings in a payload."""

from __future__ import annotations

from typing import Final

from ..numbers.numbers import parse_integer
from .kinds import STRING
from .reader import LENGTHS

__all__ = ["dump_string", "string_or_integer"]

TYPE: Final = bytes([STRING])


def dump_string(text: bytes | bytearray) -> bytes:
    """A string."""
    return TYPE + string_or_integer(bytes(text))


LONGEST_INTEGER: Final = len(b"-2147483648")
"""A longer text is not an integer of 32 bits."""

FORMS: Final = (*[(b"\xc0", 1)] * 8, *[(b"\xc1", 2)] * 8, *[(b"\xc2", 4)] * 16)
"""The first byte of an integer and the bytes that follow, by how many bits it has beside its sign."""


def string_or_integer(text: bytes) -> bytes:
    """A string, as an integer of 1, 2 or 4 bytes if it reads as one."""
    if len(text) > LONGEST_INTEGER or not (text.isdigit() or text[:1] == b"-"):
        return LENGTHS[len(text)] + text
    number = parse_integer(text)
    bits = len(FORMS) if number is None else (number ^ number >> 63).bit_length()
    if number is None or bits >= len(FORMS):
        return LENGTHS[len(text)] + text
    form, width = FORMS[bits]
    return form + number.to_bytes(width, "little", signed=True)
