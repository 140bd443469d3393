"""Lengths and strings of a payload: writing them, and reading them, never beyond its end."""

from __future__ import annotations

from typing import Final

from .lzf import decompress

__all__ = ["BadDataError", "Reader", "length", "string"]


class BadDataError(Exception):
    """The bytes are not a value."""


INTEGER_BYTES: Final = {0: 1, 1: 2, 2: 4}
"""How many bytes the integers have that stand for a string."""

COMPRESSED: Final = 3


class Reader:
    """Bytes that are read from the beginning on."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        """The next bytes; raises ``BadDataError`` if there are not so many."""
        if size > len(self._data) - self._at:
            raise BadDataError
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken

    @property
    def at(self) -> int:
        """How many bytes have been read."""
        return self._at

    @property
    def is_over(self) -> bool:
        """Whether all has been read."""
        return self._at >= len(self._data)

    def rest(self) -> bytes:
        """All that has not been read."""
        return self.take(len(self._data) - self._at)

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def length(self) -> int:
        """A length or a count; raises ``BadDataError`` where a string in a special form begins."""
        length, is_special = self._length_or_form()
        if is_special:
            raise BadDataError
        return length

    def string(self) -> bytes:
        """A string in any of its forms."""
        length, is_special = self._length_or_form()
        if not is_special:
            return self.take(length)
        if length in INTEGER_BYTES:
            return b"%d" % int.from_bytes(self.take(INTEGER_BYTES[length]), "little", signed=True)
        if length != COMPRESSED:
            raise BadDataError
        return self._compressed()

    def _compressed(self) -> bytes:
        compressed_size, size = self.length(), self.length()
        text = decompress(self.take(compressed_size), size)
        if text is None:
            raise BadDataError
        return text

    def _length_or_form(self) -> tuple[int, bool]:
        first = self.byte()
        kind, rest = first >> 6, first & 63
        if kind == 0:
            return rest, False
        if kind == 1:
            return rest << 8 | self.byte(), False
        if kind == 3:
            return rest, True
        if first == 0x80:
            return int.from_bytes(self.take(4)), False
        if first == 0x81:
            return int.from_bytes(self.take(8)), False
        raise BadDataError


def length(number: int) -> bytes:
    """A length or a count, as it is written."""
    if number < 1 << 6:
        return bytes([number])
    if number < 1 << 14:
        return (1 << 14 | number).to_bytes(2)
    return b"\x80" + number.to_bytes(4) if number < 1 << 32 else b"\x81" + number.to_bytes(8)


def string(text: bytes) -> bytes:
    """A string behind its length."""
    return length(len(text)) + text
