"""What a failure can show for itself, beyond its sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["STANDARD_ERROR", "Evidence"]

STANDARD_ERROR: Final = "what the client wrote to its standard error"
"""The title of evidence whose last lines are shown on the terminal, too."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something to look at.

    Attributes:
        title: what it is, in a few words.
        text: the whole of it, as plain text.
        markup: the same as a fragment of HTML or SVG that needs nothing else, where that shows it better.
    """

    title: str
    text: str
    markup: str = ""
