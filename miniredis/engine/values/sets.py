"""Sets: distinct members.

Redis keeps a small set of integers packed and sorted (intset); any other set is a hash table, which has no
order. Here the latter keeps the order in which members were added, so that replies are reproducible. Clients
see the encoding in OBJECT ENCODING, in the order of SMEMBERS and in the steps of SSCAN. A packed set is
unpacked when a member is not an integer or it exceeds the limit, and never packed again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import repeat

from ..numbers.numbers import parse_integer
from .key_index import KeyIndex
from .packing import Packing

__all__ = ["SetValue"]


class SetValue:
    """A set; a key whose set is empty is deleted.

    Attributes:
        members: the keys of a dictionary; do not change it.
        is_packed: whether Redis would keep it as an intset.
    """

    __slots__ = ("_index", "is_packed", "members")

    def __init__(self) -> None:
        self.members: dict[bytes, None] = {}
        self.is_packed = True
        self._index: KeyIndex | None = None

    @classmethod
    def of(cls, members: Collection[bytes], packing: Packing) -> SetValue:
        """A set of these distinct members."""
        made = cls()
        made.members = dict(zip(members, repeat(None)))
        made.is_packed = len(members) <= packing.set_integers and all(map(is_integer, members))
        return made

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[bytes]:
        """Its members: sorted if packed, otherwise in the order in which they were added."""
        return iter(sorted(self.members, key=int) if self.is_packed else self.members)

    def add(self, member: bytes, packing: Packing) -> bool:
        """Adds a member; returns whether it is new."""
        if member in self.members:
            return False
        self.members[member] = None
        if self.is_packed:
            self.is_packed = len(self.members) <= packing.set_integers and parse_integer(member) is not None
        if self._index is not None:
            self._index.add(member)
        return True

    def remove(self, member: bytes) -> bool:
        """Removes a member; returns whether it existed."""
        if member not in self.members:
            return False
        del self.members[member]
        if self._index is not None:
            self._index.remove(member)
        return True

    def copy(self) -> SetValue:
        """A copy with the same members and encoding."""
        copied = SetValue()
        copied.members = self.members.copy()
        copied.is_packed = self.is_packed
        return copied

    def index(self) -> KeyIndex:
        """An index of the members for SSCAN and SRANDMEMBER; built on the first call and kept up to date."""
        if self._index is None:
            self._index = KeyIndex(self.members)
        return self._index


def is_integer(member: bytes) -> bool:
    """Whether a member is a 64-bit integer in canonical form."""
    return parse_integer(member) is not None
