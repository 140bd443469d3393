"""Servers that are wrong: ``miniredis`` with one small change each."""

from __future__ import annotations

from typing import Final

from .model import Guilty

__all__ = ["SERVERS"]

SERVERS: Final[tuple[Guilty, ...]] = ()
