"""The kinds of directives' values, mostly one word; ``words`` has the kinds of several words.

A check takes the new value and the value before, and returns the new one as CONFIG GET shows it. For a value
that redis-server refuses, it raises ``ValueError`` with redis-server's reason. To add a kind, write a check,
or a function that makes one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from ..numbers.numbers import MAX, parse_integer

__all__ = [
    "Check",
    "c_string",
    "file_name",
    "hostname",
    "integer",
    "memory",
    "memory_or_percent",
    "no_defragmentation",
    "octal",
    "one_of",
    "read_memory",
    "switch",
    "text",
    "title_template",
    "whole_text",
    "within",
]

Check: TypeAlias = Callable[[str, str], str]

NOT_A_NUMBER: Final = "argument couldn't be parsed into an integer"
NOT_OCTAL: Final = "argument couldn't be parsed as an octal number"
NOT_MEMORY: Final = "argument must be a memory value"
NOT_MEMORY_OR_PERCENT: Final = "argument must be a memory or percent value"
TOO_MANY_PERCENT: Final = "percentage argument must be less or equal to 100"
NOT_A_SWITCH: Final = "argument must be 'yes' or 'no'"
NO_DEFRAGMENTATION: Final = (
    "Active defragmentation cannot be enabled: it requires a Redis server compiled with a modified Jemalloc "
    "like the one shipped by default with the Redis source distribution"
)
BAD_TEMPLATE: Final = "template format is invalid or contains unknown variables"
BAD_HOSTNAME: Final = "Hostnames may only contain alphanumeric characters, hyphens or dots"
LONG_HOSTNAME: Final = "Hostnames must be less than 256 characters"


def c_string(value: str) -> str:
    """A value up to its first NUL, as Redis keeps it in a C string."""
    return value.partition("\0")[0]


def folded(value: str) -> str:
    """An ASCII value in lower case, for a comparison like ``strcasecmp``; other values are unchanged."""
    return value.lower() if value.isascii() else value


def within(value: int, low: int, high: int, base: str = "d") -> int:
    """Returns the value; raises ``ValueError`` if it is not from ``low`` to ``high``."""
    if not low <= value <= high:
        raise ValueError(f"argument must be between {low:{base}} and {high:{base}} inclusive")
    return value


def integer(low: int, high: int) -> Check:
    """Accepts integers from ``low`` to ``high``."""

    def check(value: str, _before: str) -> str:
        number = parse_integer(value.encode("utf-8", "surrogateescape"))
        if number is None:
            raise ValueError(NOT_A_NUMBER)
        return str(within(number, low, high))

    return check


OCTAL: Final = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-7]+)|").fullmatch


def octal(value: str, _before: str) -> str:
    """Accepts the permissions of a file, in octal."""
    number = OCTAL(c_string(value))
    if number is None:
        raise ValueError(NOT_OCTAL)
    return f"{within(int(number[1] or '0', 8), 0, 0o777, 'o'):o}"


MEMORY: Final = re.compile(r"([0-9]{0,127})(b|kb?|mb?|gb?)?", re.IGNORECASE | re.ASCII).fullmatch
UNITS: Final = {
    "": 1, "b": 1, "k": 10**3, "kb": 1 << 10, "m": 10**6, "mb": 1 << 20, "g": 10**9, "gb": 1 << 30,
}  # fmt: skip
MAX_UNSIGNED: Final = (1 << 64) - 1


def read_memory(value: str) -> int | None:
    """The bytes of an amount such as ``10mb``; None for other texts. It wraps at 64 bits, as in Redis."""
    parts = MEMORY(c_string(value))
    if parts is None:
        return None
    return min(int(parts[1] or 0), MAX_UNSIGNED) * UNITS[(parts[2] or "").lower()] & MAX_UNSIGNED


def memory(low: int, high: int) -> Check:
    """Accepts amounts of memory from ``low`` to ``high`` bytes."""

    def check(value: str, _before: str) -> str:
        size = read_memory(value)
        if size is None:
            raise ValueError(NOT_MEMORY)
        return str(within(size, low, high))

    return check


def memory_or_percent(value: str, _before: str) -> str:
    """Accepts an amount of memory, or a share of all memory such as ``5%``."""
    if value.endswith("%"):
        share = parse_integer(value[:-1].encode("utf-8", "surrogateescape"))
        if share is None or share < 0:
            raise ValueError(NOT_MEMORY_OR_PERCENT)
    else:
        size = read_memory(value)
        if size is None:
            raise ValueError(NOT_MEMORY_OR_PERCENT)
        share = MAX_UNSIGNED + 1 - size if size > MAX else 0  # Redis keeps a share as a negative size
        if not share:
            return str(size)
    if share > 100:
        raise ValueError(TOO_MANY_PERCENT)
    return f"{share}%" if share else "0"


def one_of(*choices: str) -> Check:
    """Accepts one of some words, in upper or lower case."""

    def check(value: str, _before: str) -> str:
        word = folded(c_string(value))
        if word not in choices:
            raise ValueError(f"argument(s) must be one of the following: {', '.join(choices)}")
        return word

    return check


def switch(value: str, _before: str) -> str:
    """Accepts yes or no."""
    word = folded(c_string(value))
    if word not in {"yes", "no"}:
        raise ValueError(NOT_A_SWITCH)
    return word


def no_defragmentation(value: str, before: str) -> str:
    """Accepts only no, as a Redis does that was built without its own allocator."""
    if switch(value, before) == "yes":
        raise ValueError(NO_DEFRAGMENTATION)
    return "no"


def text(value: str, _before: str) -> str:
    """Accepts any text, and drops what is behind a NUL."""
    return c_string(value)


def whole_text(value: str, _before: str) -> str:
    """Accepts any text, and keeps NULs."""
    return value


def file_name(name: str, kind: str, *, may_be_empty: bool = False) -> Check:
    """Accepts the name of a file, without a path.

    Args:
        name: the name of the directive, for the error.
        kind: the kind of file, for the error.
        may_be_empty: whether an empty name is accepted.
    """

    def check(value: str, _before: str) -> str:
        path = c_string(value)
        if not path and not may_be_empty:
            raise ValueError(f"{name} can't be empty")
        if "/" in path:
            raise ValueError(f"{name} can't be a path, just a {kind}")
        return path

    return check


HOSTNAME: Final = re.compile(r"[A-Za-z0-9.-]*").fullmatch
LONGEST_HOSTNAME: Final = 255


def hostname(value: str, _before: str) -> str:
    """Accepts the name of a machine, or an empty one."""
    name = c_string(value)
    if len(name.encode("utf-8", "surrogateescape")) > LONGEST_HOSTNAME:
        raise ValueError(LONG_HOSTNAME)
    if HOSTNAME(name) is None:
        raise ValueError(BAD_HOSTNAME)
    return name


VARIABLE: Final = re.compile(r"{{|{(?P<name>[^{}]*)}|(?P<unpaired>{)")
VARIABLES: Final = {
    "title": "", "listen-addr": "*:6379", "server-mode": "", "port": "6379", "tls-port": "0",
    "unixsocket": "", "config-file": "-",
}  # fmt: skip
"""The variables of a title, each with an example of its value, for the test that the title is not empty."""


def title_template(value: str, _before: str) -> str:
    """Accepts a title for the process with variables in braces, which must not come out empty."""
    template = c_string(value)

    def filled(match: re.Match[str]) -> str:
        if match["unpaired"] or (match["name"] is not None and match["name"] not in VARIABLES):
            raise ValueError(BAD_TEMPLATE)
        return "{" if match["name"] is None else VARIABLES[match["name"]]

    if not VARIABLE.sub(filled, template).strip(" "):
        raise ValueError(BAD_TEMPLATE)
    return template
