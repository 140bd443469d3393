"""Checks of arguments that several methods take: whole numbers and times.

A wrong type raises ``TypeError``, a wrong value ``ValueError``. The message names the argument and the value.
"""

from __future__ import annotations

from numbers import Real
from operator import index
from typing import Any


def whole(value: Any, what: str, least: int | None = 1) -> int:
    """The argument as an integer.

    Raises:
        TypeError: It is not an integer.
        ValueError: It is less than ``least``.
    """
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{what} must be an integer, not {value!r}") from None
    if least is not None and number < least:
        raise ValueError(f"{what} must be {least} or more, not {value!r}")
    return number


def duration(value: Any, what: str, least: float = 0.0) -> float:
    """The argument as a time in seconds.

    Raises:
        TypeError: It is not a number.
        ValueError: It is less than ``least``, or not a number (NaN).
    """
    if not isinstance(value, Real):
        raise TypeError(f"{what} must be a number of seconds, not {value!r}")
    seconds = float(value)
    if not seconds >= least:
        raise ValueError(f"{what} must be {least:g} or more seconds, not {value!r}")
    return seconds


def milliseconds(value: Any, what: str, least: int = 0) -> int:
    """A time in seconds, converted to whole milliseconds.

    Raises:
        TypeError: It is not a number.
        ValueError: It is less than ``least`` milliseconds, infinite, or not a number (NaN).
    """
    seconds = duration(value, what, least / 1000)
    if seconds == float("inf"):
        raise ValueError(f"{what} must be a finite number of seconds, not {value!r}")
    return round(seconds * 1000)
