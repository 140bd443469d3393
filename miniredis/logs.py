"""A server's log: messages go to the logger ``miniredis``, filtered by the server's directive ``loglevel``.

Redis's levels are, from most to least: debug, verbose, notice, warning. CONFIG SET takes effect at once.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .engine import Config

__all__ = ["LEVELS", "VERBOSE", "ServerLog", "log"]

log: Final = logging.getLogger("miniredis")

VERBOSE: Final = 15
"""A level of ``logging`` between DEBUG and INFO."""

LEVELS: Final = {
    "debug": logging.DEBUG,
    "verbose": VERBOSE,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "nothing": logging.CRITICAL + 1,
}
"""The levels of ``loglevel``, each with its level of ``logging``."""


class ServerLog(logging.LoggerAdapter[logging.Logger]):
    """The log of one server.

    Args:
        config: the server's directives.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(log, {})
        self._config = config

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802  (the name is that of ``logging``)
        """Whether ``loglevel`` and the logger both pass messages of a level."""
        return level >= LEVELS[self._config["loglevel"]] and super().isEnabledFor(level)
