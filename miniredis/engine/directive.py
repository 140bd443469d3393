"""What a directive is: its default, and a check of what it may be set to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from .numbers import parse_integer

__all__ = ["Directive", "integer", "memory", "octal", "one_of", "only", "switch", "text"]

NOT_A_NUMBER: Final = "argument couldn't be parsed into an integer"
NOT_MEMORY: Final = "argument must be a memory value"

Check: TypeAlias = Callable[[str], str]
"""Takes a value as given and returns it as CONFIG GET shows it, or raises ``ValueError`` with the reason."""

MEMORY: Final = re.compile(r"(\d*)(b|kb?|mb?|gb?)?", re.IGNORECASE).fullmatch
UNITS: Final = {
    "": 1, "b": 1, "k": 10**3, "kb": 1 << 10, "m": 10**6, "mb": 1 << 20, "g": 10**9, "gb": 1 << 30,
}  # fmt: skip


def integer(low: int, high: int) -> Check:
    """A whole number between two bounds, both allowed."""

    def check(text: str) -> str:
        value = parse_integer(text.encode())
        if value is None:
            raise ValueError(NOT_A_NUMBER)
        return in_range(value, low, high)

    return check


def memory(low: int, high: int) -> Check:
    """An amount of memory, such as ``10mb``, between two bounds, both allowed."""

    def check(text: str) -> str:
        parts = MEMORY(text)
        if parts is None:
            raise ValueError(NOT_MEMORY)
        return in_range(int(parts[1] or 0) * UNITS[(parts[2] or "").lower()], low, high)

    return check


def in_range(value: int, low: int, high: int) -> str:
    if not low <= value <= high:
        raise ValueError(f"argument must be between {low} and {high} inclusive")
    return str(value)


def octal(text: str) -> str:
    """Permissions of a file."""
    try:
        value = int(text, 8)
    except ValueError:
        raise ValueError("argument couldn't be parsed as an octal number") from None
    if not 0 <= value <= 0o777:
        raise ValueError("argument must be between 0 and 777 inclusive")
    return f"{value:o}"


def one_of(*choices: str) -> Check:
    """One of some words, in any case."""

    def check(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"argument(s) must be one of the following: {', '.join(choices)}")
        return text.lower()

    return check


def text(value: str) -> str:
    """Any text."""
    return value


YES_OR_NO: Final = ("yes", "no")


def switch(value: str) -> str:
    """Yes or no."""
    if value.lower() not in YES_OR_NO:
        raise ValueError("argument must be 'yes' or 'no'")
    return value.lower()


def only(off: str) -> Check:
    """For a feature that is not there: the one value that asks for nothing."""

    def check(value: str) -> str:
        if off in YES_OR_NO:
            switch(value)
        if value.lower() != off:
            raise ValueError(f"this server takes only '{off}' here")
        return off

    return check


@dataclass(frozen=True, slots=True)
class Directive:
    """One row of the table.

    Attributes:
        default: the value when nothing else is said.
        check: what values it takes.
        mutable: whether CONFIG SET may change it.
        most: how many words its value may have.
    """

    default: str
    check: Check
    mutable: bool = False
    most: int = 1
