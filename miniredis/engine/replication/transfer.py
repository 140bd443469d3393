"""The snapshot that a master sends: its length stands before it, or a mark behind it."""

from __future__ import annotations

from io import BytesIO
from typing import Final

from ..numbers.numbers import leading_long
from .handshake import HandshakeError

__all__ = ["Transfer"]

BY_MARK: Final = b"EOF:"
MARK_SIZE: Final = 40
LONGEST_LINE: Final = 1024
UNKNOWN: Final = -1


class Transfer:
    """The snapshot that a master sends.

    Attributes:
        total: how many bytes it has; -1 while that is not known, 0 if the master did not say it.
        progress: how many of them have come.
    """

    def __init__(self) -> None:
        self.total = UNKNOWN
        self.progress = 0
        self._line = b""  # the first one, as far as it has come
        self._mark = b""  # stands behind the snapshot, where its length was not told
        self._begun = False
        self._content = BytesIO()
        self._tail = b""  # the last bytes, which may be the beginning of the mark

    @property
    def content(self) -> bytes:
        """The snapshot, once ``feed`` has told that it is whole."""
        return self._content.getvalue()

    def feed(self, data: bytes) -> bytes | None:
        """Takes what the master sent; returns what stands behind the snapshot once it is whole.

        Raises:
            HandshakeError: the master gives up, or sends something else.
        """
        if not self._begun:
            data = self._read_line(data)
            if not self._begun:
                return None
        return self._take_marked(data) if self._mark else self._take_counted(data)

    def _read_line(self, data: bytes) -> bytes:
        at = 0
        while not self._begun and at < len(data):
            end = data.find(b"\n", at) + 1
            self._line += data[at : end or len(data)]
            at = end or len(data)
            if end or len(self._line) > LONGEST_LINE:
                self._begin(self._line.removesuffix(b"\n").removesuffix(b"\r"))
                self._line = b""
        return data[at:]

    def _begin(self, line: bytes) -> None:
        if not line:
            return  # a sign of life: the snapshot is being made
        if line.startswith(b"-"):
            raise HandshakeError(f"MASTER aborted replication with an error: {line[1:].decode('latin-1')}")
        if not line.startswith(b"$"):
            raise HandshakeError(
                "Bad protocol from MASTER, the first byte is not '$' (we received "
                f"'{line[:LONGEST_LINE].decode('latin-1')}'), are you sure the host and port are right?"
            )
        self._begun = True
        if line[1:].startswith(BY_MARK) and len(line) >= 1 + len(BY_MARK) + MARK_SIZE:
            self._mark, self.total = line[1 + len(BY_MARK) :][:MARK_SIZE], 0
        else:
            self.total = max(leading_long(line[1:]), 0)

    def _take_counted(self, data: bytes) -> bytes | None:
        missing = self.total - self.progress
        self._content.write(data[:missing])
        self.progress += min(len(data), missing)
        return data[missing:] if self.progress == self.total else None

    def _take_marked(self, data: bytes) -> bytes | None:
        data = self._tail + data
        at = data.find(self._mark)
        end = at if at >= 0 else max(len(data) - MARK_SIZE + 1, 0)
        self._content.write(data[:end])
        self._tail = data[end:]
        self.progress += end
        return data[at + MARK_SIZE :] if at >= 0 else None
