"""Stream ids as clients write them: ``ms-seq``, ``ms``, ``ms-*``, ``-``, ``+``; ``(`` excludes a bound."""

from __future__ import annotations

import re
from typing import Final

from ..numbers.numbers import parse_integer
from ..protocol.errors import INVALID_STREAM_ID, CommandError, until_nul
from .stream_nodes import LAST_ID, SEQUENCE

__all__ = ["read_bound", "read_id", "read_id_to_complete", "read_strict_id"]

LONGEST: Final = 127
EXTREMES: Final = {b"-": 0, b"+": LAST_ID}
UNSIGNED: Final = re.compile(rb"[ \t\n\v\f\r]*+([+-]?)([0-9]++)").fullmatch


def read_id(text: bytes, missing: int) -> int:
    """An id; ``-`` is the lowest possible and ``+`` the highest. Raises ``CommandError``.

    Args:
        text: as it was sent.
        missing: the sequence number if the text has none.
    """
    extreme = EXTREMES.get(until_nul(text)) if len(text) <= LONGEST else None
    return read_strict_id(text, missing) if extreme is None else extreme


def read_strict_id(text: bytes, missing: int = 0) -> int:
    """An id, except ``-`` and ``+``."""
    milliseconds, sequence = parts(text)
    return milliseconds | (missing if sequence is None else read_unsigned(sequence))


def read_id_to_complete(text: bytes) -> tuple[int, bool]:
    """An id, and whether its sequence number is given: ``5-*`` leaves it to the stream."""
    milliseconds, sequence = parts(text)
    if sequence == b"*":
        return milliseconds, False
    return milliseconds | (0 if sequence is None else read_unsigned(sequence)), True


def read_bound(text: bytes, missing: int) -> tuple[int, bool]:
    """A bound of a range, and whether it is excluded."""
    if len(text) > 1 and text[:1] == b"(":
        return read_strict_id(text[1:], missing), True
    return read_id(text, missing), False


def parts(text: bytes) -> tuple[int, bytes | None]:
    """The milliseconds, shifted to their place in an id, and the text of the sequence number, if any."""
    if len(text) > LONGEST:
        raise CommandError(INVALID_STREAM_ID)
    left, dash, right = until_nul(text).partition(b"-")
    return read_unsigned(left) << 64, right if dash else None


def read_unsigned(text: bytes) -> int:
    """An unsigned 64-bit integer, as C's ``strtoull`` parses it: negative numbers wrap."""
    number = parse_integer(text)
    if number is None:
        match = UNSIGNED(text)
        number = int(match[2]) if match else -1
        if match and match[1] == b"-" and number <= SEQUENCE:
            number = -number & SEQUENCE
    if not 0 <= number <= SEQUENCE:
        raise CommandError(INVALID_STREAM_ID)
    return number
