"""Hashes: values by field.

Redis keeps a small one packed, in the order in which its fields came; another one is a table, which has no
order, and here the same one. It shows in OBJECT ENCODING and in the steps of HSCAN. What was packed becomes
a table when it outgrows the limits, never the other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .key_index import KeyIndex
from .packing import Packing

__all__ = ["HashValue"]


class HashValue:
    """The value of a key; an empty one does not exist for long.

    Attributes:
        fields: the value of each field; only to be read.
        is_packed: whether Redis would keep it as a listpack.
    """

    __slots__ = ("_index", "fields", "is_packed")

    def __init__(self) -> None:
        self.fields: dict[bytes, bytes] = {}
        self.is_packed = True
        self._index: KeyIndex | None = None

    @classmethod
    def of(cls, fields: Mapping[bytes, bytes], packing: Packing) -> HashValue:
        """A hash of these fields."""
        made = cls()
        for field, value in fields.items():
            made.put(field, value, packing)
        return made

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[bytes]:
        """Its fields, in their order."""
        return iter(self.fields)

    def put(self, field: bytes, value: bytes, packing: Packing) -> bool:
        """Gives a field a value; tells whether the field is new."""
        fields = self.fields
        known = len(fields)
        fields[field] = value
        is_new = len(fields) != known
        if self.is_packed:
            longest = max(len(field), len(value))
            self.is_packed = longest <= packing.hash_value and len(fields) <= packing.hash_entries
        if is_new and self._index is not None:
            self._index.add(field)
        return is_new

    def remove(self, field: bytes) -> bool:
        """Drops a field; tells whether it was there."""
        if self.fields.pop(field, None) is None:
            return False
        if self._index is not None:
            self._index.remove(field)
        return True

    def copy(self) -> HashValue:
        """A hash of its own with the same content, kept in the same way."""
        copied = HashValue()
        copied.fields = self.fields.copy()
        copied.is_packed = self.is_packed
        return copied

    def index(self) -> KeyIndex:
        """The fields as they can be walked and drawn; made when first asked for, and kept from then on."""
        if self._index is None:
            self._index = KeyIndex(self.fields)
        return self._index
