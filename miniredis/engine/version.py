"""The version of Redis."""

from typing import Final

__all__ = ["MODULE", "VERSION"]

VERSION: Final = "7.0.15"
"""The version of redis-server whose behaviour this server has."""

MODULE: Final = "mq"
"""The name of the module whose commands are built in: those with the flag ``module``."""
