"""Which way our client takes with a server: by scripts, or by plain commands where its scripts are no use.

Some servers that run scripts hang up on longer ones. Our client, which takes that for a lost connection,
would fail nearly every clause, and all for the same reason. So the run tries what the client really sends.
"""

from __future__ import annotations

from typing import Final

from ..clients.flavours import FLAVOURS
from ..targets import Address
from .environment import Environment
from .limits import ended_by

__all__ = ["why_not_by_scripts"]

LIMIT: Final = 10.0
"""Seconds in which a value goes through a queue of a server that lives."""


def why_not_by_scripts(address: Address) -> str:
    """Why our client has to take plain commands; empty if scripts are fine, or it fails either way."""
    error = ended_by(lambda: use(address, "sync"), LIMIT)
    if error is None or ended_by(lambda: use(address, "plain"), LIMIT) is not None:
        return ""
    return str(error)


def use(address: Address, flavour: str) -> None:
    """Has a value go through a queue."""
    with Environment(address, FLAVOURS[flavour]) as env:
        queue = env.queue()
        queue.create()
        queue.put(b"value")
        queue.get(timeout=LIMIT)
