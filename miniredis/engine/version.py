"""Which Redis this is."""

from typing import Final

__all__ = ["VERSION"]

VERSION: Final = "7.0.15"
"""The version of redis-server whose behaviour is followed."""
