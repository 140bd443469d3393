"""Pushes among replies: where the two servers may put them, and which may come in another order.

Redis sends some of what a client is to hear in the midst of its reply: of a key that MGET misses, say,
between two of the values. No client could make sense of that; miniredis sends it in front. And what fits
several patterns comes in the order of a hash table.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

from .replies import Tree, is_push, tree

__all__ = ["in_front", "in_some_order", "without_redirection"]

BROKEN: Final = b">2\r\n$21\r\ntracking-redir-broken\r\n"
PMESSAGE: Final = b"$8\r\npmessage\r\n"


def in_front(reply: bytes, *, of_exec: bool) -> list[bytes]:
    """A reply, and in front of it the pushes that came in its midst.

    Args:
        reply: as it came.
        of_exec: it is the array of an EXEC, in which both servers have pushes between the replies. It may be
            cut short.
    """
    if reply.startswith(b">") or b">" not in reply:
        return [reply]
    found = tree(reply)
    if isinstance(found, bytes):
        return [reply]
    if not of_exec:
        return [*pushes_of(found), written(without_pushes(found))]
    parts = [part for item in found[1] for part in (*pushes_of(item), written(without_pushes(item)))]
    return [found[0] + b"".join(in_some_order(parts))]


def pushes_of(item: Tree) -> list[bytes]:
    """The pushes inside a reply; none of one that is itself a push."""
    if isinstance(item, bytes) or is_push(item):
        return []
    return [push for part in item[1] for push in ([written(part)] if is_push(part) else pushes_of(part))]


def without_pushes(item: Tree) -> Tree:
    if isinstance(item, bytes) or is_push(item):
        return item
    return item[0], [without_pushes(part) for part in item[1] if not is_push(part)]


def written(item: Tree) -> bytes:
    """A tree as it was on the wire."""
    return item if isinstance(item, bytes) else item[0] + b"".join(map(written, item[1]))


def in_some_order(replies: list[bytes]) -> list[bytes]:
    """What several patterns had a client hear of one message, in an order of its own."""
    ordered: list[bytes] = []
    for key, run in groupby(replies, message_of):
        heard = list(run)
        ordered += heard if key is None else sorted(heard)
    return ordered


def message_of(reply: bytes) -> bytes | None:
    """The channel and the message that fitted a pattern; None of any other reply."""
    if PMESSAGE not in reply[:20]:
        return None
    found = tree(reply)
    return None if isinstance(found, bytes) else b"".join(map(written, found[1][2:]))


def without_redirection(reply: bytes) -> bytes:
    """A push without the number of a client that is gone: each server counts its own."""
    return BROKEN if reply.startswith(BROKEN) else reply
