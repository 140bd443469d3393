"""What a clause is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Clause", "Level"]

Level: TypeAlias = Literal["must", "should", "may", "decided"]
"""How strongly the document asks; ``decided`` is what was decided where the documents are silent or disagree."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing a document asks for.

    Attributes:
        id: short and readable, such as ``put.checks-bound``.
        suites: the documents that ask for it, such as ``protocol-0.15``.
        place: where in them.
        level: how strongly.
        text: what is asked, in our words.
        needs: the capabilities without which a server cannot be asked.
        limit: seconds after which a check of it counts as hung, if not the usual ones.
    """

    id: str
    suites: tuple[str, ...]
    place: str
    level: Level
    text: str
    needs: tuple[str, ...] = ()
    limit: float | None = None
