"""Hashes: values by field.

Redis keeps a small hash as a listpack, in the order in which fields were added; a larger one is a hash table,
which has no order. Here both keep the same order. Clients see the difference in OBJECT ENCODING and in the
steps of HSCAN. A packed hash is unpacked when it exceeds the limits, and never packed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from .key_index import KeyIndex
from .packing import Packing

__all__ = ["HashValue"]


class HashValue:
    """A hash; a key whose hash is empty is deleted.

    Attributes:
        fields: the value of each field; do not change it.
        is_packed: whether Redis would keep it as a listpack.
    """

    __slots__ = ("_index", "fields", "is_packed")

    def __init__(self) -> None:
        self.fields: dict[bytes, bytes] = {}
        self.is_packed = True
        self._index: KeyIndex | None = None

    @classmethod
    def of(cls, fields: dict[bytes, bytes], packing: Packing, *, may_be_long: bool = False) -> HashValue:
        """A hash of these very fields; packed if they ``may_be_long``, or none is too long."""
        made = cls()
        made.fields = fields
        made.is_packed = len(fields) <= packing.hash_entries and (
            may_be_long or max(map(len, chain(fields, fields.values())), default=0) <= packing.hash_value
        )
        return made

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[bytes]:
        """Its fields, in order."""
        return iter(self.fields)

    def put(self, field: bytes, value: bytes, packing: Packing) -> bool:
        """Sets a field; returns whether it is new."""
        fields = self.fields
        known = len(fields)
        fields[field] = value
        is_new = len(fields) != known
        if self.is_packed and (
            len(fields) > packing.hash_entries
            or len(field) > packing.hash_value
            or len(value) > packing.hash_value
        ):
            self.is_packed = False
        if is_new and self._index is not None:
            self._index.add(field)
        return is_new

    amend = put
    """Sets a field likewise; a deadline that it has stays, which only some types of hashes have."""

    def remove(self, field: bytes) -> bool:
        """Removes a field; returns whether it existed."""
        if self.fields.pop(field, None) is None:
            return False
        if self._index is not None:
            self._index.remove(field)
        return True

    def copy(self) -> HashValue:
        """A copy with the same content and encoding."""
        copied = HashValue()
        copied.fields = self.fields.copy()
        copied.is_packed = self.is_packed
        return copied

    def index(self) -> KeyIndex:
        """An index of the fields for HSCAN and HRANDFIELD; built on the first call, then kept up to date."""
        if self._index is None:
            self._index = KeyIndex(self.fields)
        return self._index
