"""Values beyond the usual buffers of sockets and servers: what is right for a byte may be cut at a limit."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from ..judging.environment import Environment, expect
from .state import claimed

MEGABYTE: Final = 1 << 20

LARGE: Final = tuple(
    bytes(range(256)) * (size // 256) + b"\r\n" for size in (64 << 10, MEGABYTE, 8 * MEGABYTE)
)
"""Values beyond the usual buffers of sockets and servers, of all bytes."""

HUGE: Final = b"." * ((16 << 20) + 1)
"""A value beyond what our clients take at a time in several."""

IN_PARTS: Final = (b"first", LARGE[2] + b"1", LARGE[2] + b"2", b"last")
"""Values of which our clients take some at a time, and leave or put back the others."""

MANY: Final = 100_000


def gist(value: bytes) -> str:
    """A large value in few words."""
    return f"{len(value)} bytes, {hashlib.sha1(value, usedforsecurity=False).hexdigest()}"


def claim_and_complete(env: Environment, queue: Any, *options: float) -> None:
    """Has large items claimed and completed."""
    queue.push(*LARGE[:2])
    for value in LARGE[:2]:
        item = claimed(queue.claim(*options))
        expect(gist(item.data), gist(value), f"what is claimed of {gist(value)}")
        queue.complete(item)
    expect(env.redis.llen(env.key("jobs")), 0, "items that are left")


def many() -> list[bytes]:
    return [b"%d" % place for place in range(MANY)]
