"""Warn that the server refused a command that follows a successful put or get."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from pressure.errors import PressureWarning

__all__ = ["warn"]


def warn(text: str, taken: Sequence[bytes] = ()) -> None:
    """Emit a ``PressureWarning``. If warnings are turned into errors, its ``taken`` has the taken values."""
    try:
        warnings.warn(text, PressureWarning, stacklevel=3)
    except PressureWarning as error:
        error.taken = list(taken)
        raise
