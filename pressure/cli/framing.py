"""How messages are told apart in a stream of bytes: as lines, with NULs, or by their lengths.

Rules:
    - Bytes are fed in as they come, and whole messages come out; nothing is waited for.
    - A broken stream gives all messages before the break first; ``check`` then says what is wrong.

To add a format: a class with ``feed``, ``end``, ``check``, ``pack`` and ``fits``, and a row in ``FORMATS``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final, Protocol

_PREFIX: Final = struct.Struct(">I")
#: The longest value that Redis takes. More than that is no length, but text that was taken for one.
_LONGEST: Final = 512 << 20


class FormatError(Exception):
    """The bytes are not in the format they should be in."""


class Framing(Protocol):
    """One stream of messages."""

    unit: str

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are whole now."""

    def end(self) -> list[bytes]:
        """What is left at the end of the stream."""

    def check(self) -> None:
        """Raises FormatError if the stream is broken here."""

    def pack(self, message: bytes) -> bytes:
        """A message as it stands in a stream."""

    def fits(self, message: bytes) -> bool:
        """Whether the message can be told apart in a stream."""


class Separated:
    """Messages that end with a separator; what follows the last one is a message too, unless it is empty."""

    def __init__(self, separator: bytes, unit: str) -> None:
        self.unit = unit
        self._separator = separator
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are whole now."""
        first, *others = data.split(self._separator)
        self._parts.append(first)
        if not others:
            return []
        *whole, rest = (b"".join(self._parts), *others)
        self._parts = [rest] if rest else []
        return whole

    def end(self) -> list[bytes]:
        """What follows the last separator."""
        rest, self._parts = b"".join(self._parts), []
        return [rest] if rest else []

    def check(self) -> None:
        """Any bytes will do."""

    def pack(self, message: bytes) -> bytes:
        """The message and the separator; a message with a separator in it becomes several."""
        return message + self._separator

    def fits(self, message: bytes) -> bool:
        """Whether there is no separator in it."""
        return self._separator not in message


class Prefixed:
    """Each message after its length: 4 bytes, unsigned, the most significant first."""

    unit = "messages"

    def __init__(self) -> None:
        self._data = bytearray()
        self._offset = 0
        self._broken = ""

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are whole now."""
        self._data += data
        found: list[bytes] = []
        while not self._broken and (size := self._size()) is not None:
            end = _PREFIX.size + size
            if size > _LONGEST:
                self._broken = f"a length of {size} is more than Redis takes"
            elif len(self._data) < end:
                break
            else:
                found.append(bytes(self._data[_PREFIX.size : end]))
                del self._data[:end]
                self._offset += end
        return found

    def _size(self) -> int | None:
        if len(self._data) < _PREFIX.size:
            return None
        size: int = _PREFIX.unpack_from(self._data)[0]
        return size

    def end(self) -> list[bytes]:
        """Nothing; what is left is broken."""
        if self._data and not self._broken:
            size = self._size()
            want = "a length of 4 bytes" if size is None else f"a message of {size} bytes"
            have = len(self._data) - (0 if size is None else _PREFIX.size)
            self._broken = f"it ends after {have} bytes of {want}"
        return []

    def check(self) -> None:
        """Raises FormatError at the first length that cannot be one, or at an end in a message."""
        if self._broken:
            raise FormatError(f"no message in the format of --binary at byte {self._offset}: {self._broken}")

    def pack(self, message: bytes) -> bytes:
        """The length and the message."""
        return _PREFIX.pack(len(message)) + message

    def fits(self, message: bytes) -> bool:  # noqa: ARG002
        """Any message does."""
        return True


class Whole:
    """The stream is one message."""

    unit = "messages"

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Nothing is whole before the end."""
        self._parts.append(data)
        return []

    def end(self) -> list[bytes]:
        """The message."""
        return [b"".join(self._parts)]

    def check(self) -> None:
        """Any bytes will do."""

    def pack(self, message: bytes) -> bytes:
        """The message as it is."""
        return message

    def fits(self, message: bytes) -> bool:  # noqa: ARG002
        """Any message does."""
        return True


FORMATS: Final[Mapping[str, Callable[[], Framing]]] = {
    "lines": lambda: Separated(b"\n", "lines"),
    "null": lambda: Separated(b"\0", "messages"),
    "binary": Prefixed,
}
"""What makes each format, by the name that the options have for it."""
