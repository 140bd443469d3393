"""Changes that nobody can notice, each with the reason; a test holds every row to its line.

A row names the file, the line as it stands there, once, and what it is changed to. What whole kinds of
changes have in common is a rule in ``harmless`` instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .mutants import Mutant

__all__ = ["EQUIVALENT", "Equivalent", "reason_of"]


@dataclass(frozen=True, slots=True)
class Equivalent:
    """Changes of one line that make no difference.

    Attributes:
        file: which, from the project's folder on.
        line: the line, without what surrounds it.
        becomes: what it is changed to, each of them.
        reason: why nobody can tell.
    """

    file: str
    line: str
    becomes: tuple[str, ...]
    reason: str


EQUIVALENT: Final[tuple[Equivalent, ...]] = ()

_REASONS: Final = {(row.file, row.line, new): row.reason for row in EQUIVALENT for new in row.becomes}


def reason_of(mutant: Mutant) -> str | None:
    """Why a change makes no difference; None if it is not listed."""
    return _REASONS.get((mutant.file, mutant.line_text, mutant.becomes))
