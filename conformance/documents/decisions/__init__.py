"""What was decided where the documents of the pressure protocol are silent or disagree.

0.15 wins over 0.1, and the prose wins over the reference pseudocode.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final

from ...judging.environment import Environment
from ..registry import clauses_of
from ..state import our_own

__all__ = ["DECISIONS", "HOLD", "OURS", "RECEIVE", "decided", "ours"]

DECISIONS: Final = ("decisions",)

decided = clauses_of(*DECISIONS, level="decided")

HOLD: Final = b"host:1:00000000/1/1"
"""The identifier of a hold as our own client writes it."""

OURS: Final = ("our-client",)

RECEIVE: Final = ("list-move", *OURS)


def ours(env: Environment, **settings: object) -> AbstractContextManager[Any]:
    """Our client of the queue ``jobs``, disconnected at the end of the block."""
    return our_own(env, "jobs", url=env.address.url, prefix=env.prefix, **settings)
