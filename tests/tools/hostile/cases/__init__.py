"""All hostile cases, from tables by subject; those in ``STRANGERS`` are for a server with a password."""

from __future__ import annotations

from typing import Final

from ..case import Case
from .clients import CLIENTS
from .counts import COUNTS
from .frames import FRAMES
from .lines import LINES
from .strangers import STRANGERS
from .values import VALUES

__all__ = ["CASES", "STRANGERS"]

CASES: Final[dict[str, Case]] = {case.name: case for case in (*FRAMES, *LINES, *COUNTS, *VALUES, *CLIENTS)}
"""Every case by its name."""
