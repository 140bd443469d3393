"""Lengths and strings of a payload: writing them, and reading them, never beyond its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .crc64 import crc64
from .lzf import decompress

__all__ = ["LENGTHS", "BadDataError", "FileReader", "Reader", "length", "string"]


class BadDataError(Exception):
    """The bytes are not a value."""


INTEGER_BYTES: Final = {0: 1, 1: 2, 2: 4}
"""How many bytes the integers have that stand for a string."""

COMPRESSED: Final = 3

SHORT: Final = 63
"""The longest string whose length is one byte."""

LONGER: Final = 1 << 62
FOLLOWING: Final = (*range(SHORT + 1), *[LONGER] * 0x80, 1, 2, 4, *[LONGER] * 0x3D)
"""How many bytes follow the first byte of a short string or an integer; too many for the other forms."""


class Reader:
    """Bytes that are read from the beginning on."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        """The next bytes; raises ``BadDataError`` if there are not so many."""
        if size > len(self._data) - self._at:
            self._get(size)
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken

    def _get(self, _size: int) -> None:
        """Gets bytes that are not here yet; raises ``BadDataError`` if there are not so many."""
        raise BadDataError

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
        if self._at >= len(self._data):
            self._get(1)
        self._at += 1
        return self._data[self._at - 1]

    def length(self) -> int:
        """A length or a count; raises ``BadDataError`` where a string in a special form begins."""
        length, is_special = self._length_or_form()
        if is_special:
            raise BadDataError
        return length

    def string(self) -> bytes:
        """A string in any of its forms."""
        data, at = self._data, self._at
        if at < len(data):  # a short string or an integer, most often; the rest of this method does the same
            first = data[at]
            end = at + 1 + FOLLOWING[first]
            if end <= len(data):
                self._at = end
                text = data[at + 1 : end]
                return text if first <= SHORT else b"%d" % int.from_bytes(text, "little", signed=True)
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


PIECE: Final = 1 << 18
"""How many bytes of a file are read at a time."""


class FileReader(Reader):
    """A file that is read piece by piece; it keeps little more of it than what is asked for at a time.

    Args:
        read: gives the next bytes of the file, up to so many; none at the end.
        size: how many bytes there are.
    """

    def __init__(self, read: Callable[[int], bytes], size: int) -> None:
        super().__init__(b"")
        self._read, self._left = read, size  # what was not read from the file yet
        self._dropped = 0  # bytes that are no longer here
        self._checksum = 0  # of these

    @property
    def at(self) -> int:
        """How many bytes have been read."""
        return self._dropped + self._at

    @property
    def is_over(self) -> bool:
        """Whether all has been read."""
        return super().is_over and not self._left

    def rest(self) -> bytes:
        """All that has not been read."""
        return self.take(self._here + self._left)

    def peek(self, most: int) -> bytes:
        """The next bytes, at most so many; they are not read by that."""
        if most > self._here and self._left:
            self._get(min(most, self._here + self._left))
        return self._data[self._at : self._at + most]

    def checksum(self) -> int:
        """The checksum of all that has been read; what it is computed from is forgotten."""
        self._drop()
        return self._checksum

    @property
    def _here(self) -> int:
        return len(self._data) - self._at

    def _drop(self) -> None:
        """Forgets what was read."""
        read, self._data = self._data[: self._at], self._data[self._at :]
        self._checksum = crc64(read, self._checksum)
        self._dropped += self._at
        self._at = 0

    def _get(self, size: int) -> None:
        missing = size - self._here
        if missing > self._left:
            raise BadDataError
        self._drop()
        pieces = [self._data]
        while missing > 0:
            piece = self._read(min(max(missing, PIECE), self._left))
            if not piece:  # the file has become shorter
                raise BadDataError
            pieces.append(piece)
            missing -= len(piece)
            self._left -= len(piece)
        self._data = b"".join(pieces)


def length(number: int) -> bytes:
    """A length or a count, as it is written."""
    if number < 1 << 6:
        return bytes([number])
    if number < 1 << 14:
        return (1 << 14 | number).to_bytes(2)
    return b"\x80" + number.to_bytes(4) if number < 1 << 32 else b"\x81" + number.to_bytes(8)


class WrittenLengths(dict[int, bytes]):
    """Lengths as they are written; those of the strings that are frequent are kept."""

    def __missing__(self, number: int) -> bytes:
        written = length(number)
        if number < 1 << 14:
            self[number] = written
        return written


LENGTHS: Final = WrittenLengths()


def string(text: bytes) -> bytes:
    """A string behind its length."""
    return LENGTHS[len(text)] + text
