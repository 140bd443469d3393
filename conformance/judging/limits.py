"""Work that must not keep others for ever, and waiting that leaves them the processor.

On a busy machine whoever is waited for gets a part of a processor. So the seconds of a limit are those of an
idle machine: ``countdown`` counts less while more threads want to run than there are processors.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Final, TypeVar

__all__ = ["Hung", "OnThread", "countdown", "ended_by", "pauses"]

T = TypeVar("T")

LONGEST: Final = 0.01
"""Seconds of the longest pause between two looks."""


SLICE: Final = 0.1
"""Seconds between two looks at how busy the machine is."""

LONGEST_TIMES: Final = 20
"""How many times as long as its seconds a limit may take."""


class Hung(Exception):  # noqa: N818  (what became of it)
    """The work did not end in time."""


class OnThread(Future[T]):
    """What work on a thread of its own comes to; the thread is left behind if the work hangs."""

    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__()
        self._work = work
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self.set_result(self._work())
        except BaseException as error:
            self.set_exception(error)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What the work raised; its limit is longer on a busy machine.

        Raises:
            TimeoutError: it did not end in time.
        """
        for seconds in countdown(timeout) if timeout is not None else ():
            try:
                return super().exception(seconds)
            except TimeoutError:
                continue
        return super().exception(None if timeout is None else 0)


def countdown(limit: float) -> Iterator[float]:
    """Seconds to wait at a time, until together they are as much as ``limit`` would be on an idle machine."""
    begin = last = time.monotonic()
    left = limit
    while left > 0 and last - begin < LONGEST_TIMES * limit:
        yield min(left, SLICE)
        now = time.monotonic()
        left -= min(now - last, 2 * SLICE) * share()  # whoever wakes late was starved
        last = now


def share() -> float:
    """The part of a processor that each thread gets that wants to run; 1 where the system does not tell."""
    try:
        with Path("/proc/stat").open("rb") as counts:
            running = next(int(line.split()[1]) for line in counts if line.startswith(b"procs_running"))
    except (OSError, StopIteration):
        return 1.0
    return min(1.0, (os.cpu_count() or 1) / max(running - 1, 1))  # the thread that looks is one of them


def ended_by(work: Callable[[], object], limit: float) -> BaseException | None:
    """What the work, on a thread of its own, ended by, if not well.

    Args:
        work: what to do.
        limit: seconds it may take.
    """
    try:
        return OnThread(work).exception(limit)
    except TimeoutError:
        return Hung(f"hung for {limit:.0f} s")


def pauses(limit: float) -> Iterator[None]:
    """Pauses between looks whether something is the case: none before the first, then longer and longer ones.

    It ends when the time is over, after a last look::

        for _ in pauses(10):
            if is_there():
                return
        raise TimeoutError

    Args:
        limit: seconds until the last look.
    """
    pause = 0.0
    for seconds in countdown(limit):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            yield
            time.sleep(pause)
            pause = min(1.2 * pause + 0.0001, LONGEST)
    yield
