"""Hostile cases by size, each made when it is played; to add one, add a row to a table."""

from __future__ import annotations

from typing import Final

from .counts import MANY_ELEMENTS, MANY_WORDS
from .model import Sized
from .words import LONG_NUMBERS, LONG_PATTERNS, LONG_VALUES

__all__ = ["LARGE", "Sized"]

LARGE: Final[dict[str, Sized]] = {
    each.name: each for each in (*LONG_NUMBERS, *LONG_PATTERNS, *LONG_VALUES, *MANY_WORDS, *MANY_ELEMENTS)
}
"""Every one by its name."""
