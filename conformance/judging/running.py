"""Work on a thread, such as an operation that is to wait, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from ..failure import Broken, Failure, expect_error
from .limits import OnThread

__all__ = ["PATIENCE", "Running"]

T = TypeVar("T")

PATIENCE: Final = 5.0
"""Seconds until a condition that should hold has to hold."""


class Running(OnThread[T]):
    """Work on a thread; ``finish`` waits for it.

    Args:
        work: what to do.
        unanswered: tells which requests clients have not answered yet, and for how many seconds.
    """

    def __init__(self, work: Callable[[], T], unanswered: Callable[[], dict[str, float]] = dict) -> None:
        self._unanswered = unanswered
        super().__init__(work)

    def error(self, what: str) -> BaseException | None:
        """What the work raised, if anything; fails with ``what`` if it does not end in time."""
        try:
            return self.exception(PATIENCE)
        except TimeoutError:
            asked = self._unanswered()
            names = ", ".join(f"{name} for {seconds:.0f} s" for name, seconds in asked.items())
            kind = Broken if "open" in asked else Failure  # one that opens no queue has not done the rest
            raise kind(
                f"{what}: still waiting after {PATIENCE:.0f} s"
                + (f"; the client has not answered {names}" if names else "")
            ) from None

    def expect_error(self, kind: type[Exception], what: str) -> None:
        """Fails unless the work ends by an error of this kind in time."""
        with expect_error(kind, what):
            self.finish(what)

    def finish(self, what: str) -> T:
        """The result; fails with ``what`` if there is none in time, and raises what the work raised."""
        if (error := self.error(what)) is not None:
            raise error
        return self.result()
