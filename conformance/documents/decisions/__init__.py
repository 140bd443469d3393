"""What was decided where the documents of the pressure protocol are silent or disagree.

0.15 wins over 0.1, and the prose wins over the reference pseudocode.
"""

from __future__ import annotations

from typing import Final

from ..registry import clauses_of

__all__ = ["DECISIONS", "RECEIVE", "decided"]

DECISIONS: Final = ("decisions",)

decided = clauses_of(*DECISIONS, level="decided")

RECEIVE: Final = ("list-move", "our-client")
