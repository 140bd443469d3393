"""The history of the data: a name, how many bytes of effects made them, and the last of these bytes.

Redis calls the name the replication ID and the number the replication offset. Two servers with the same name
and the same offset have the same data. A replica whose link was cut goes on from its offset if the bytes that
it missed are still here (PSYNC); else it needs all data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..rdb.position import NO_NAME

__all__ = ["History"]

NEVER: Final = -1


class History:
    """What one server's data went through.

    Args:
        new_name: makes a name, 40 hexadecimal digits.
        most: tells how many bytes are kept, ``repl-backlog-size``.

    Attributes:
        name: of this history.
        offset: how many bytes of effects there were.
        former_name: of the history that this one continues, which was the master's until this server became
            one; 40 zeros if there is none.
        former_end: the offset up to which, exclusively, both are the same; -1 if there is none.
        is_kept: whether bytes are counted and kept; that begins when the first replica comes, as in Redis.
    """

    def __init__(self, new_name: Callable[[], bytes], most: Callable[[], int]) -> None:
        self._new_name, self._most = new_name, most
        self.name = new_name()
        self.former_name = NO_NAME
        self.former_end = NEVER
        self.offset = 0
        self.is_kept = False
        self._kept = bytearray()  # the last bytes, up to ``offset``

    @property
    def first_kept(self) -> int:
        """The offset of the first byte that is kept, counted from 1, as Redis does; 0 if nothing is kept."""
        return self.offset - len(self._kept) + 1 if self.is_kept else 0

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return len(self._kept)

    def keep(self) -> None:
        """Bytes are counted and kept from now on, under a new name: what came before was not counted."""
        if not self.is_kept:
            self.is_kept = True
            self.name = self._new_name()
            self._forget_former()

    def keep_on(self) -> None:
        """The same, under the name that there is: the offset is known to be right."""
        self.is_kept = True

    def forget(self) -> None:
        """No replica has been there for ``repl-backlog-ttl``: from now on nothing is counted."""
        self.is_kept = False
        self._kept.clear()
        self.name = self._new_name()
        self._forget_former()

    def append(self, data: bytes) -> None:
        """Adds what was done."""
        self.offset += len(data)
        kept = self._kept
        kept += data
        del kept[: max(len(kept) - self._most(), 0)]

    def has(self, name: bytes, start: int) -> bool:
        """Whether all bytes from one of a history on are known: then a replica that has the others can go on.

        Args:
            name: of the history.
            start: the number of the first byte that the replica has not.
        """
        is_same = name == self.name or (name == self.former_name and start <= self.former_end)
        return is_same and self.is_kept and self.first_kept <= start <= self.offset + 1

    def since(self, start: int) -> bytes:
        """All bytes from one on."""
        return bytes(self._kept[start - self.first_kept :])

    def follow(self, name: bytes, offset: int) -> None:
        """The data are a master's now, all of them; what follows is its history."""
        self.name, self.offset = name, offset
        self._kept.clear()
        self.is_kept = True
        self._forget_former()

    def restore(self, name: bytes, offset: int, *, is_master: bool) -> None:
        """The data come from a file, and were in a history when it was written.

        Args:
            name: of that history.
            offset: in it.
            is_master: what is done from now on is a history of its own, which continues that one.
        """
        self.offset = offset
        if is_master:
            self.former_name, self.former_end = name, offset + 1
            self.is_kept = True
        else:
            self.name = name

    def rename(self, name: bytes) -> None:
        """The master goes on under another name; what there was until now is the same."""
        self.former_name, self.former_end = self.name, self.offset + 1
        self.name = name

    def branch_off(self) -> None:
        """This server is a master from now on: what comes is its own, and has a name of its own."""
        self.rename(self._new_name())

    def _forget_former(self) -> None:
        self.former_name, self.former_end = NO_NAME, NEVER
