"""Values of modules' types in a payload: the number of the type, then values that each say what they are.

A server without the type knows by that number what it lacks, and refuses the payload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from .reader import BadDataError, Reader, length, string

__all__ = ["END", "load_of", "module_id", "module_name", "read_text", "read_unsigned", "text", "unsigned"]

ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
NAME_LENGTH: Final = 9

UNSIGNED: Final = 2
STRING: Final = 5
"""What a value may say that it is; there are others, which nothing here uses."""

END: Final = length(0)
"""What stands behind the last value."""

T = TypeVar("T")


def module_id(name: str, version: int) -> int:
    """The number of a type: its name, six bits a letter, and ten bits for the version of its layout."""
    assert len(name) == NAME_LENGTH, f"{name!r} must have {NAME_LENGTH} letters"
    number = 0
    for letter in name:
        number = number << 6 | ALPHABET.index(letter)
    return number << 10 | version


def module_name(number: int) -> str:
    """The name of the type that has a number."""
    letters = (number >> 10 + 6 * place & 63 for place in reversed(range(NAME_LENGTH)))
    return "".join(ALPHABET[letter] for letter in letters)


def unsigned(number: int) -> bytes:
    """A number of 64 bits without a sign."""
    return length(UNSIGNED) + length(number)


def text(data: bytes) -> bytes:
    """A string."""
    return length(STRING) + string(data)


def read_unsigned(reader: Reader) -> int:
    """A number; raises ``BadDataError`` for anything else."""
    if reader.length() != UNSIGNED:
        raise BadDataError
    return reader.length()


def read_text(reader: Reader) -> bytes:
    """A string; raises ``BadDataError`` for anything else."""
    if reader.length() != STRING:
        raise BadDataError
    return reader.string()


def load_of(reader: Reader, loaders: Mapping[int, Callable[[Reader], T]]) -> T:
    """A value of one of some types, by their numbers; raises ``BadDataError``."""
    load = loaders.get(reader.length())
    if load is None:
        raise BadDataError
    value = load(reader)
    if reader.take(len(END)) != END:
        raise BadDataError
    return value
