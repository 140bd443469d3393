"""What a clause is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Clause", "Level"]

Level: TypeAlias = Literal["must", "should", "may", "decided"]
"""How strongly a document asks; ``decided`` where the documents are silent or disagree, and we decided."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that a document asks for.

    Attributes:
        id: its name, such as ``queue.fifo``.
        suites: the documents that ask for it, such as ``protocol-0.15``.
        place: where in the documents.
        level: how strongly they ask: ``must``, ``should``, ``may``, or ``decided``.
        text: what is asked, in our words.
        needs: capabilities of a server without which the clause is ``not asked``.
        limit: seconds after which its check counts as hung; None for the usual limit.
    """

    id: str
    suites: tuple[str, ...]
    place: str
    level: Level
    text: str
    needs: tuple[str, ...] = ()
    limit: float | None = None
