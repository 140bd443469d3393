"""Warning of what was refused after an operation was done."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from pressure.errors import PressureWarning

__all__ = ["warn"]


def warn(text: str, taken: Sequence[bytes] = ()) -> None:
    """Warn by a ``PressureWarning``; where these are errors, the error has the values that were taken."""
    try:
        warnings.warn(text, PressureWarning, stacklevel=3)
    except PressureWarning as error:
        error.taken = list(taken)
        raise
