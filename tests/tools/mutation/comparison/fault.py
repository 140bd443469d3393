"""How a fault of the engine is told."""

from __future__ import annotations

from ..clauses.model import Guilty

__all__ = ["fault"]


def fault(name: str, file: str, text: str, becomes: str) -> Guilty:
    """One line of the engine, changed."""
    return Guilty(name, f"miniredis/engine/{file}", text, becomes, ())
