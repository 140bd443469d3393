"""Sets: distinct members.

Redis keeps a small set of integers packed and sorted; another one is a table, which has no order. Here the
latter keeps the order in which its members came, so that the same requests have the same replies. It shows in
OBJECT ENCODING, in the order of SMEMBERS and in the steps of SSCAN. What was packed becomes a table when
another member comes or it outgrows the limit, never the other way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import repeat

from .key_index import KeyIndex
from .numbers import parse_integer
from .packing import Packing

__all__ = ["SetValue"]


class SetValue:
    """The value of a key; an empty one does not exist for long.

    Attributes:
        members: a dictionary whose keys they are; only to be read.
        is_packed: whether Redis would keep it as an intset.
    """

    __slots__ = ("_index", "is_packed", "members")

    def __init__(self) -> None:
        self.members: dict[bytes, None] = {}
        self.is_packed = True
        self._index: KeyIndex | None = None

    @classmethod
    def of(cls, members: Collection[bytes], packing: Packing) -> SetValue:
        """A set of these members, which are distinct."""
        made = cls()
        made.members = dict(zip(members, repeat(None)))
        made.is_packed = len(members) <= packing.set_integers and all(map(is_integer, members))
        return made

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[bytes]:
        """Its members: integers in their order, others as they came."""
        return iter(sorted(self.members, key=int) if self.is_packed else self.members)

    def add(self, member: bytes, packing: Packing) -> bool:
        """Takes in a member; tells whether it is new."""
        if member in self.members:
            return False
        self.members[member] = None
        if self.is_packed:
            self.is_packed = len(self.members) <= packing.set_integers and is_integer(member)
        if self._index is not None:
            self._index.add(member)
        return True

    def remove(self, member: bytes) -> bool:
        """Drops a member; tells whether it was there."""
        if member not in self.members:
            return False
        del self.members[member]
        if self._index is not None:
            self._index.remove(member)
        return True

    def copy(self) -> SetValue:
        """A set of its own with the same members, kept in the same way."""
        copied = SetValue()
        copied.members = self.members.copy()
        copied.is_packed = self.is_packed
        return copied

    def index(self) -> KeyIndex:
        """The members as they can be walked and drawn; made when first asked for, and kept from then on."""
        if self._index is None:
            self._index = KeyIndex(self.members)
        return self._index


def is_integer(member: bytes) -> bool:
    """Whether a member is a 64-bit integer in its canonical form."""
    return parse_integer(member) is not None
