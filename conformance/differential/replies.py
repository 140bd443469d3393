"""Replies as trees of wire values, so that what may differ in them can be made equal."""

from __future__ import annotations

from typing import Final, TypeAlias

from ..wire import reply_end

__all__ = ["LISTENING", "Tree", "is_push", "split", "tree"]

Tree: TypeAlias = "bytes | tuple[bytes, list[Tree]]"
"""A plain reply as it is on the wire; of an aggregate, its header and its items."""

ITEMS: Final = {b"*": 1, b"~": 1, b">": 1, b"%": 2}


LISTENING: Final = frozenset("subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe".split())
"""Commands whose replies are pushes in RESP3, one for each argument."""


def is_push(item: Tree) -> bool:
    """Whether it is what nobody asked for."""
    return not isinstance(item, bytes) and item[0].startswith(b">")


def split(data: bytes) -> list[bytes]:
    """The replies in some bytes; what is left at the end, if the last is not whole, is one, too."""
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        end = reply_end(data, at) or len(data)
        parts.append(data[at:end])
        at = end
    return parts


def tree(reply: bytes) -> Tree:
    """One reply as a tree; an array may have been cut short."""
    return read(reply, 0)[0]


def read(data: bytes, at: int) -> tuple[Tree, int]:
    header_end = data.index(b"\r\n", at) + 2
    kind = data[at : at + 1]
    if kind not in ITEMS:
        end = reply_end(data, at)
        assert end is not None
        return data[at:end], end
    items: list[Tree] = []
    place = header_end
    left = max(int(data[at + 1 : header_end - 2]), 0) * ITEMS[kind]
    while left > 0 and place < len(data):
        left -= data[place : place + 1] != b">"  # a push among them is not one of them
        item, place = read(data, place)
        items.append(item)
    return (data[at:header_end], items), place
