"""The operations of which digests consist, as in redis-server's DEBUG DIGEST.

A digest is a number of 20 bytes. If the order of the elements does not matter, as in a set, their digests are
combined by exclusive or (``unordered``); otherwise they are ``mixed`` one after the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

__all__ = ["SIZE", "hashed", "mixed", "pairs", "unordered"]

SIZE: Final = 20
"""The size of a SHA-1 digest, in bytes."""


def hashed(data: bytes | bytearray) -> int:
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest())


def mixed(digest: int, *pieces: bytes | bytearray) -> int:
    """A digest that depends on the order of the pieces."""
    for piece in pieces:
        digest = hashed((digest ^ hashed(piece)).to_bytes(SIZE))
    return digest


def unordered(digest: int, elements: Iterable[bytes]) -> int:
    """A digest that does not depend on the order of the elements."""
    for element in elements:
        digest ^= hashed(element)
    return digest


def pairs(digest: int, elements: Iterable[tuple[bytes, bytes]]) -> int:
    return unordered(digest, (mixed(0, *pair).to_bytes(SIZE) for pair in elements))
