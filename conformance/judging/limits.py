"""Work that must not keep others for ever, and waiting that leaves them the processor."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Final, TypeVar

__all__ = ["Hung", "OnThread", "ended_by", "pauses"]

T = TypeVar("T")

LONGEST: Final = 0.01
"""Seconds of the longest pause between two looks."""


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
    end, pause = time.monotonic() + limit, 0.0
    while True:
        late = time.monotonic() >= end
        yield
        if late:
            return
        time.sleep(pause)
        pause = min(1.2 * pause + 0.0001, LONGEST)
