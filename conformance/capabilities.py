"""What a server can do, found out by asking it, each thing by name; checks never look at version numbers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Final

from .environment import Environment

__all__ = ["CAPABILITIES", "capabilities_of"]


def pop_with_count(env: Environment) -> bool:
    """LPOP and RPOP take a count (since 6.2), and answer a null array where there is no list."""
    return env.connect().command("LPOP", env.key("none"), "2") == b"*-1\r\n"


def moves(env: Environment) -> bool:
    """LMOVE and BLMOVE (6.2)."""
    return env.connect().command("LMOVE", env.key("none"), env.key("none"), "LEFT", "LEFT") == b"$-1\r\n"


def serves_in_order_of_readiness(env: Environment) -> bool:
    """A waiter for several keys gets the one that became ready first (up to 7.0), not its first argument."""
    first, second = env.key("first" + uuid.uuid4().hex), env.key("second" + uuid.uuid4().hex)
    waiter = env.connect()
    waiter.send("BLPOP", first, second, "5")
    env.until_blocked(1)
    with env.redis.pipeline() as pipeline:
        pipeline.rpush(second, "s")
        pipeline.rpush(first, "f")
        pipeline.execute()
    return waiter.reply().endswith(b"\r\ns\r\n")


CAPABILITIES: Final[Mapping[str, Callable[[Environment], bool]]] = {
    "list-count": pop_with_count,
    "list-move": moves,
    "order:ready": serves_in_order_of_readiness,
}
"""Every capability by the name that clauses use in ``needs``."""


def capabilities_of(environment: Callable[[], Environment]) -> frozenset[str]:
    """The names of what the server can do; what it fails at is not among them."""
    found = set()
    for name, has in CAPABILITIES.items():
        try:
            with environment() as env:
                if has(env):
                    found.add(name)
        except Exception:  # noqa: S112  (a server that fails here cannot do it)
            continue
    return frozenset(found)
