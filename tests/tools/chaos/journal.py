"""What a worker writes down: a line for each event, which the system has before the next one begins.

A line is ``seconds kind value``; the seconds are those of the machine's monotonic clock, which all processes
share. A worker that is killed leaves whole lines, and at most one that is not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Event", "Journal", "read"]

CLOCK: Final = time.monotonic


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """Something that a worker did.

    Attributes:
        when: seconds.
        worker: who did it.
        kind: ``putting`` and ``put``, ``got`` and ``done``; ``error``, of a class.
        value: of what.
    """

    when: float
    worker: str
    kind: str
    value: str


class Journal:
    """The file of one worker."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, kind: str, value: str) -> None:
        """Writes a line."""
        os.write(self._file, f"{CLOCK():.6f} {kind} {value}\n".encode())


def read(paths: Iterable[Path]) -> list[Event]:
    """The events of all workers, in order."""
    return sorted(event for path in paths for event in _events(path))


def _events(path: Path) -> Iterator[Event]:
    for line in path.read_text().split("\n")[:-1]:
        when, kind, value = line.split(" ")
        yield Event(float(when), path.name, kind, value)
