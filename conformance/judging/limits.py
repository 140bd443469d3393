"""Work that must not keep others for ever, and waiting that leaves them the processor."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

__all__ = ["Hung", "ended_by", "pauses"]

LONGEST: Final = 0.01
"""Seconds of the longest pause between two looks."""


class Hung(Exception):  # noqa: N818  (what became of it)
    """The work did not end in time."""


def ended_by(work: Callable[[], object], limit: float) -> BaseException | None:
    """What the work ended by, if not well. It runs on a thread, which is left behind if it hangs.

    Args:
        work: what to do.
        limit: seconds it may take.
    """
    ended: list[BaseException | None] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            ended.append(error)
        else:
            ended.append(None)

    thread = threading.Thread(target=run, name="limited work", daemon=True)
    thread.start()
    thread.join(limit)
    return ended[0] if ended else Hung(f"hung for {limit:.0f} s")


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
