"""A check that was run with every byte written down."""

from __future__ import annotations

from dataclasses import dataclass

from ..judging.runner import Verdict
from ..wire.recording import Move

__all__ = ["Take"]


@dataclass(frozen=True, slots=True)
class Take:
    """A check that was run with every byte written down.

    Attributes:
        server: what it ran on, for people.
        verdict: how it ended.
        reason: why it was not passed; empty if it was.
        moves: what was said.
        lost: how many bytes more were said.
    """

    server: str
    verdict: Verdict
    reason: str
    moves: tuple[Move, ...]
    lost: int
