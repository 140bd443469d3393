"""Work that must not keep others for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["Hung", "ended_by"]


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
