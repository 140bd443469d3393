"""Framing: split a stream of bytes into messages, at newlines, at NUL bytes, or by lengths.

Rules:
    - A framing does no I/O: it is fed bytes as they arrive and returns the messages that are complete.
    - If the stream breaks its format, all messages before that place are returned first; then ``check``
      raises the error.

To add a format: write a class with ``feed``, ``end``, ``check``, ``pack`` and ``fits``, and add a row to
``FORMATS``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final, Protocol

_PREFIX: Final = struct.Struct(">I")
#: The longest value that Redis accepts. A longer length means that the input is in another format.
_LONGEST: Final = 512 << 20


class FormatError(Exception):
    """The input is not in the chosen format."""


class Framing(Protocol):
    """The framing of one stream.

    Attributes:
        unit: What its messages are called in counts: ``lines`` or ``messages``.
    """

    unit: str

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes; returns the messages that are complete now."""

    def end(self) -> list[bytes]:
        """End the stream; returns the last message, if any."""

    def check(self) -> None:
        """Raises FormatError if the bytes so far break the format."""

    def pack(self, message: bytes) -> bytes:
        """The bytes that stand for a message in a stream."""

    def fits(self, message: bytes) -> bool:
        """Whether a reader of the stream would read the message back as one message."""


class Separated:
    """Each message ends with a separator. After the last one, the rest is a message unless it is empty."""

    def __init__(self, separator: bytes, unit: str) -> None:
        self.unit = unit
        self._separator = separator
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes; returns the messages that are complete now."""
        first, *others = data.split(self._separator)
        self._parts.append(first)
        if not others:
            return []
        *whole, rest = (b"".join(self._parts), *others)
        self._parts = [rest] if rest else []
        return whole

    def end(self) -> list[bytes]:
        """The rest after the last separator, unless it is empty."""
        rest, self._parts = b"".join(self._parts), []
        return [rest] if rest else []

    def check(self) -> None:
        """Nothing to do: any bytes are valid."""

    def pack(self, message: bytes) -> bytes:
        """The message and the separator; a message that contains the separator is read back as several."""
        return message + self._separator

    def fits(self, message: bytes) -> bool:
        """Whether the message does not contain the separator."""
        return self._separator not in message


class Prefixed:
    """Before each message comes its length: 4 bytes, unsigned, big-endian."""

    unit = "messages"

    def __init__(self) -> None:
        self._data = bytearray()
        self._offset = 0
        self._broken = ""

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes; returns the messages that are complete now."""
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
        """No message; if bytes are left, they break the format."""
        if self._data and not self._broken:
            size = self._size()
            want = "a length of 4 bytes" if size is None else f"a message of {size} bytes"
            have = len(self._data) - (0 if size is None else _PREFIX.size)
            self._broken = f"it ends after {have} bytes of {want}"
        return []

    def check(self) -> None:
        """Raises FormatError if a length is too large, or the stream ended inside a message."""
        if self._broken:
            raise FormatError(f"no message in the format of --binary at byte {self._offset}: {self._broken}")

    def pack(self, message: bytes) -> bytes:
        """The length and the message."""
        return _PREFIX.pack(len(message)) + message

    def fits(self, message: bytes) -> bool:  # noqa: ARG002
        """True for any message."""
        return True


class Whole:
    """The stream is one message."""

    unit = "messages"

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """No message is complete before the end."""
        self._parts.append(data)
        return []

    def end(self) -> list[bytes]:
        """The message."""
        return [b"".join(self._parts)]

    def check(self) -> None:
        """Nothing to do: any bytes are valid."""

    def pack(self, message: bytes) -> bytes:
        """The message as it is."""
        return message

    def fits(self, message: bytes) -> bool:  # noqa: ARG002
        """True for any message."""
        return True


FORMATS: Final[Mapping[str, Callable[[], Framing]]] = {
    "lines": lambda: Separated(b"\n", "lines"),
    "null": lambda: Separated(b"\0", "messages"),
    "binary": Prefixed,
}
"""A function that makes each framing, by the value of ``format`` in the parsed arguments."""
