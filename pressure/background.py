"""Attempts in the background, such as heartbeats: when one fails, the next may succeed.

Nobody waits for such an attempt, so its error is logged. A server that is gone for an hour is told once: the
first failure is logged, and then the first success.
"""

from __future__ import annotations

from types import TracebackType


class Attempts:
    """A context manager, entered for each attempt, that logs an ``Exception`` and does not raise it.

    Args:
        logger: The name of the logger.
        what: What is attempted, for people: "queue jobs: a heartbeat".
    """

    def __init__(self, logger: str, what: str) -> None:
        self._logger, self._what = logger, what
        self._has_failed = False

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None and not isinstance(error, Exception):  # it ends the attempts, too
            return False
        if self._has_failed is not (error is not None):
            from logging import getLogger  # not needed where nothing fails

            self._has_failed, log = error is not None, getLogger(self._logger)
            if error is None:
                log.info("%s succeeds again", self._what)
            else:
                log.warning("%s failed, and is tried again: %s: %s", self._what, type(error).__name__, error)
        return True
