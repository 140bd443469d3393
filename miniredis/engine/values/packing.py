"""The limits up to which Redis packs small aggregates and stream nodes into one listpack or intset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .stream_nodes import Limits

if TYPE_CHECKING:
    from ..versions.version import Version

__all__ = ["Packing"]


class Packing(NamedTuple):
    """The limits, from the directives.

    Attributes:
        hash_entries: the most fields of a packed hash (``hash-max-listpack-entries``).
        hash_value: the most bytes of its fields and values (``hash-max-listpack-value``).
        set_integers: the most members of a set of integers (``set-max-intset-entries``).
        sorted_set_entries: the most members of a packed sorted set (``zset-max-listpack-entries``).
        sorted_set_value: the most bytes of its members (``zset-max-listpack-value``).
        stream_node: when a node of a stream is full.
        foresees: whether a set or sorted set is unpacked at once for a request with more members than fit.
        foresees_long: whether it is so, too, for a member that is too long.
        keeps_minus_zero: whether a packed sorted set keeps the sign of zero, as ziplists do.
    """

    hash_entries: int = 512
    hash_value: int = 64
    set_integers: int = 512
    sorted_set_entries: int = 128
    sorted_set_value: int = 64
    stream_node: Limits = Limits()
    foresees: bool = False
    foresees_long: bool = False
    keeps_minus_zero: bool = False

    def foresees_unpacking(self, members: Sequence[bytes]) -> bool:
        """Whether a sorted set is unpacked before it gets these members, which would not fit all."""
        if self.foresees and len(members) > self.sorted_set_entries:
            return True
        return self.foresees_long and any(len(member) > self.sorted_set_value for member in members)

    @classmethod
    def of(cls, integer: Callable[[str], int], version: Version) -> Packing:
        """The limits that directives set, whose values ``integer`` returns, in a version."""
        return cls(
            integer("hash-max-listpack-entries"),
            integer("hash-max-listpack-value"),
            integer("set-max-intset-entries"),
            integer("zset-max-listpack-entries"),
            integer("zset-max-listpack-value"),
            Limits(integer("stream-node-max-bytes"), integer("stream-node-max-entries")),
            version.has("7.2.0"),
            version.has("valkey-8.1.0"),
            not version.has("7.0.0"),
        )
