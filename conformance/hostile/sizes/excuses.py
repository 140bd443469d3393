"""What miniredis is excused from, at most ten rows, each with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["EXCUSES", "MOST", "Excuse", "excuse_for"]

MOST: Final = 10


@dataclass(frozen=True, slots=True)
class Excuse:
    """Growths that are excused.

    Attributes:
        commands: by the names COMMAND INFO gives them.
        what: how the name of the growth begins, behind the command's; empty for all of them.
        reason: why that is so, and does no harm.
    """

    commands: frozenset[str]
    what: str
    reason: str

    def covers(self, command: str, what: str) -> bool:
        """Whether a growth is excused."""
        return command in self.commands and what.startswith(self.what)


EXCUSES: Final[tuple[Excuse, ...]] = ()


def excuse_for(command: str, what: str, excuses: Iterable[Excuse] = EXCUSES) -> Excuse | None:
    """The row that excuses a growth, if there is one."""
    return next((excuse for excuse in excuses if excuse.covers(command, what)), None)
