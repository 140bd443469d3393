"""Which pictures there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from . import page, queue_keys, ratios, server_tick, top

__all__ = ["PICTURES", "ROOT", "Picture"]

ROOT: Final = Path(__file__).parents[3]
"""The checkout, in which the pictures are."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a guide.

    Attributes:
        file: where it is, from the top of the repository.
        make: makes its bytes.
        repeatable: it is the same every time.
    """

    file: str
    make: Callable[[], bytes]
    repeatable: bool = True

    @property
    def path(self) -> Path:
        """Where it is."""
        return ROOT / self.file


PICTURES: Final = (
    Picture("conformance/bench/ratios.svg", ratios.make),
    Picture("pressure/keys.svg", queue_keys.make),
    Picture("miniredis/tick.svg", server_tick.make),
    Picture("pressure/top.svg", top.make, repeatable=False),
    Picture("conformance/report.png", page.make_light, repeatable=False),
    Picture("conformance/report-dark.png", page.make_dark, repeatable=False),
)
