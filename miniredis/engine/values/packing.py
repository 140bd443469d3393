"""The limits up to which Redis packs small aggregates and stream nodes into one listpack or intset."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .stream_nodes import Limits

if TYPE_CHECKING:
    from ..config import Config

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
    """

    hash_entries: int = 512
    hash_value: int = 64
    set_integers: int = 512
    sorted_set_entries: int = 128
    sorted_set_value: int = 64
    stream_node: Limits = Limits()

    @classmethod
    def of(cls, config: Config) -> Packing:
        """The limits that a configuration sets."""
        return cls(
            config.integer("hash-max-listpack-entries"),
            config.integer("hash-max-listpack-value"),
            config.integer("set-max-intset-entries"),
            config.integer("zset-max-listpack-entries"),
            config.integer("zset-max-listpack-value"),
            Limits(config.integer("stream-node-max-bytes"), config.integer("stream-node-max-entries")),
        )
