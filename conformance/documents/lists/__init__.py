"""The notes on list commands as queues: commands, errors and types, blocking, the reliable pattern, the matrix.

Where the notes are loose, Redis 7.0.15 decides, and the clause says so.
"""

from __future__ import annotations

from typing import Final

from ..registry import clauses_of

__all__ = ["COUNT", "MOVE", "notes"]

notes = clauses_of("list-notes")

COUNT: Final = ("list-count",)
MOVE: Final = ("list-move",)
