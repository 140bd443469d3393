"""The workers: so many places, each with a process that is started again when it has died."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from conformance.clients.flavours import FLAVOURS

from .journal import read

__all__ = ["QUEUE", "Place", "Staff"]

QUEUE: Final = "chaos"

AGAIN: Final = (0.2, 3.0)
"""Seconds after which a worker that has died is started again, at least and at most."""


@dataclass(slots=True)
class Place:
    """One worker after the other.

    Attributes:
        role: ``producer`` or ``consumer``.
        name: of the place.
        flavour: of the client.
        share: how many values a producer has to put.
        process: the worker at the moment.
        files: the journals of all of its workers.
        frozen: until when it is stopped; 0 if it is not.
        due: when it is to be started again.
        over: whether its work is done.
    """

    role: str
    name: str
    flavour: str
    share: int = 0
    process: subprocess.Popen[bytes] | None = None
    files: list[Path] = field(default_factory=list)
    frozen: float = 0.0
    due: float = 0.0
    over: bool = False

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self.process is not None
        return self.process.pid

    @property
    def works(self) -> bool:
        """Whether there is a process that is not stopped."""
        return not self.over and not self.frozen and self.process is not None and self.process.poll() is None

    def signal(self, number: int) -> None:
        """Sends its process a signal."""
        if self.process is not None:
            self.process.send_signal(number)


class Staff:
    """All places.

    Args:
        folder: for journals.
        words: what every worker is told.
        workers: how many; half of them are producers.
        messages: how many values are put in all.
        seconds: in which they are put.
        luck: decides when a worker is started again.
    """

    def __init__(
        self, folder: Path, words: list[str], workers: int, messages: int, seconds: float, luck: Random
    ) -> None:
        self._folder, self._words, self._luck = folder, words, luck
        self._end = time.monotonic() + seconds
        flavours = list(FLAVOURS)
        producers = workers // 2
        self.places = [
            Place("producer", f"p{at}", flavours[at % len(flavours)], messages // producers)
            for at in range(producers)
        ]
        self.places += [
            Place("consumer", f"c{at}", flavours[at % len(flavours)]) for at in range(workers - producers)
        ]

    def look(self) -> None:
        """Starts the workers that are due, continues those that were frozen, and notes whose work is done."""
        now = time.monotonic()
        for place in self.places:
            if place.frozen and now > place.frozen:
                place.frozen = 0.0
                place.signal(signal.SIGCONT)
            if place.over or (place.process is not None and place.process.poll() is None):
                continue
            if place.process is not None and place.process.returncode == 0:
                place.over = True
            elif place.process is not None and place.process.returncode > 0:
                raise RuntimeError(self._complaint(place))
            elif not place.due:
                place.due = 0.0 if place.process is None else now + self._luck.uniform(*AGAIN)
                place.due = place.due or now
            elif now >= place.due:
                self._start(place)

    def _start(self, place: Place) -> None:
        name = f"{place.name}-{len(place.files) + 1}"
        place.due, place.frozen = 0.0, 0.0
        words = [place.role, *self._words, "--name", name, "--flavour", place.flavour]
        if place.role == "producer":
            left = place.share - sum(event.kind == "put" for event in read(place.files))
            rate = left / max(self._end - time.monotonic(), 1.0)
            words += ["--count", str(max(left, 0)), "--rate", str(max(rate, 1.0))]
        file = self._folder / name
        file.touch()
        place.files.append(file)
        with (self._folder / f"{name}.complaints").open("wb") as complaints:
            place.process = subprocess.Popen(
                [sys.executable, "-m", "tests.tools.chaos.worker", *words, "--file", str(file)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints,
            )  # fmt: skip

    def _complaint(self, place: Place) -> str:
        said = place.files[-1].with_name(f"{place.files[-1].name}.complaints").read_text()
        return f"{place.files[-1].name} ended by an error: {said}"

    def working(self, role: str = "") -> list[Place]:
        """The places whose workers are not dead and not frozen."""
        return [place for place in self.places if place.works and role in ("", place.role)]

    def are_over(self, role: str) -> bool:
        """Whether the work of a role is done."""
        return all(place.over for place in self.places if place.role == role)

    @property
    def files(self) -> Iterator[Path]:
        """All journals."""
        return (file for place in self.places for file in place.files)

    @property
    def size(self) -> int:
        """How much was written down, in bytes."""
        return sum(file.stat().st_size for file in self.files)

    def until(self, condition: Callable[[], bool], stuck: float, meanwhile: Callable[[], None]) -> None:
        """Looks after the workers until something is the case.

        Args:
            condition: that.
            stuck: seconds without an event after which the run is given up.
            meanwhile: is done at each look.

        Raises:
            TimeoutError: nothing goes on.
            RuntimeError: a worker ended by an error that it should not have had.
        """
        size, since = self.size, time.monotonic()
        while not condition():
            self.look()
            meanwhile()
            time.sleep(0.01)
            now, last = time.monotonic(), size
            if (size := self.size) != last:
                since = now
            elif now - since > stuck:
                raise TimeoutError(f"nothing went on for {stuck:.0f} s")

    def kill_all(self) -> None:
        """Ends all."""
        for place in self.places:
            if place.process is not None:
                place.process.kill()
                place.process.wait()
