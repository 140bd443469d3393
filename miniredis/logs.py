"""What a server logs, to the logger ``miniredis``, and how much of it its directive ``loglevel`` asks for.

Redis's four levels are, from most to least: debug, verbose, notice, warning. CONFIG SET changes it at once.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .engine import Config

__all__ = ["LEVELS", "VERBOSE", "ServerLog", "log"]

log: Final = logging.getLogger("miniredis")

VERBOSE: Final = 15
"""Between DEBUG and INFO."""

LEVELS: Final = {
    "debug": logging.DEBUG,
    "verbose": VERBOSE,
    "notice": logging.INFO,
    "warning": logging.WARNING,
}
"""The levels of ``loglevel`` as those of ``logging``."""


class ServerLog(logging.LoggerAdapter[logging.Logger]):
    """The log of one server.

    Args:
        config: its directives.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(log, {})
        self._config = config

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802  (the name is that of ``logging``)
        """Whether both ``loglevel`` and the logger let messages of a level pass."""
        return level >= LEVELS[self._config["loglevel"]] and super().isEnabledFor(level)
