"""Which Redis this is."""

from typing import Final

__all__ = ["MODULE", "VERSION"]

VERSION: Final = "7.0.15"
"""The version of redis-server whose behaviour is followed."""

MODULE: Final = "mq"
"""The name of the module whose commands are there, too: the ones with the flag ``module``."""
