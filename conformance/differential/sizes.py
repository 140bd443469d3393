"""Large requests: now and then a word of a request, or the number of its words, grows by orders of magnitude.

Most sizes are next to a power of ten or of two, where limits are. To add a way to grow, add a row to a table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from typing import Any, Final

from .grammar import Form

__all__ = ["LARGEST", "MENTIONS_CLIENT", "MOST_WORDS", "SIZES", "grown", "size_of", "work_of"]

Choose = Callable[[Sequence[Any]], Any]

LARGEST: Final = 1_000_000
"""Bytes or words that one request has at most, about."""

MOST_WORDS: Final = 100_000

SHARES: Final = {0: 4600, 100: 200, 1000: 120, 10_000: 25, 100_000: 4, 1_000_000: 1, 10_000_000: 1}
"""How often a request grows to each order of magnitude; 0 leaves it as it is."""

SIZES: Final = tuple(magnitude for magnitude, times in SHARES.items() for _ in range(times))

LEADING_DIGITS: Final = (1, 1.024, 1.048576, 1.28, 1.6384, 2.048, 2.56, 3.2768, 4.096, 5.12, 6.5536, 8.192)
"""Of a power of ten, or of two where it is near."""

STEPS: Final = (0, -1, 1)

Grow = Callable[[str, int], str]

NUMBERS: Final[tuple[Grow, ...]] = (
    lambda word, size: word * size,
    lambda _, size: "9" * size,
    lambda _, size: "-" + "9" * size,
    lambda _, size: "9" * size + "x",
    lambda word, size: "0" * size + word,
    lambda word, size: word + "0" * size,
    lambda word, size: " " * size + word,
    lambda word, size: word + " " * size,
    lambda _, size: "1e" + "9" * size,
    lambda _, size: "0x" + "f" * size,
    lambda _, size: "(" + "9" * size,
    lambda _, size: "1-" + "9" * size,
)
"""What becomes of a number; at least 20 digits, so that none is a time that passes."""

FRACTIONS: Final[tuple[Grow, ...]] = (
    lambda _, size: "0." + "0" * size + "1",
    lambda _, size: "1." + "5" * size,
    lambda _, size: "." * size,
    lambda _, size: "1e-" + "0" * size + "1",
    lambda _, size: "0." + "9" * size + "x",
)
"""The same where it is not a time to wait."""

PATTERNS: Final[tuple[Grow, ...]] = (
    lambda word, size: word * size,
    lambda _, size: "*" * size,
    lambda _, size: "a*" * (size // 2) + "b",
    lambda _, size: "*a" * (size // 2),
    lambda _, size: "?" * size,
    lambda _, size: "*?" * (size // 2),
    lambda _, size: "[" + "bc" * (size // 2) + "a]*",
    lambda _, size: "[^b]*" * (size // 5),
    lambda _, size: "\\" * size,
)

NUMBER: Final = re.compile(r"[-+(\[# ]?[0-9][0-9.e+x-]*")
LONGEST_NUMBER_GROWN: Final = 40

LONGEST_PATTERN: Final = 20_000
"""A real server calls itself for each star, and has a stack that ends."""

MOST_OF: Final = {
    "client|tracking": 4000,
    "pfcount": 10_000,
    "pfmerge": 10_000,
    "psubscribe": 10_000,
    "watch": 10_000,
}
"""Words of commands that take a real server seconds with more."""

UNGROWN: Final = {
    "debug": "DEBUG SLEEP would sleep for long",
    "client|pause": "Valkey pauses all clients where there are too many words, also the one that ends it",
}
"""Commands whose words stay as they are, each with the reason."""

MENTIONS_CLIENT: Final = "<id:"
"""A number that is another on each server stays as it is."""

UNITS: Final = (1, 1, 2, 2, 3)
"""How many words are repeated together."""


def size_of(choose: Choose, largest: int = LARGEST) -> int:
    """To what size a request grows: 0, mostly."""
    magnitude = choose(SIZES)
    if not 0 < magnitude <= largest:
        return 0
    return max(20, int(magnitude * choose(LEADING_DIGITS) + choose(STEPS)))


def grown(form: Form, words: list[str], size: int, choose: Choose) -> list[str]:
    """The words of a request, one of them or their number grown to about a size."""
    if not words or form.name in UNGROWN or any(MENTIONS_CLIENT in word for word in words):
        return words
    at = choose(range(len(words)))
    if choose((True, False)):
        return [*words[:at], longer(form, words[at], size, choose), *words[at + 1 :]]
    unit = words[at : at + choose(UNITS)]
    most = MOST_OF.get(form.name, MOST_WORDS)
    numbered = choose((True, False))
    return [*words[:at], *repeated(unit, min(size, most), numbered=numbered), *words[at + len(unit) :]]


def longer(form: Form, word: str, size: int, choose: Choose) -> str:
    """A word that looks like this one, and has about so many characters."""
    if len(word) < LONGEST_NUMBER_GROWN and NUMBER.fullmatch(word):
        waits = any(argument.name == "timeout" for argument in form.arguments)
        return str(choose(NUMBERS if waits else NUMBERS + FRACTIONS)(word, size // len(word)))
    if set(word) & set("*?["):
        return str(choose(PATTERNS)(word, min(size, LONGEST_PATTERN) // len(word)))
    return "".join(islice(cycle(word or "x"), size))


def repeated(unit: Sequence[str], count: int, *, numbered: bool) -> list[str]:
    """So many words, in which some come again and again; numbered, none is there twice."""
    words = islice(cycle(unit), max(count, len(unit)))
    return [f"{word}{place}" for place, word in enumerate(words)] if numbered else list(words)


def work_of(values: Mapping[bytes, Any], words: Sequence[bytes]) -> int:
    """About how much there is at the keys that a request names, each as often as it is named."""
    sizes: list[int] = [len(values[word]) for word in words if word in values]
    if words[0].upper() == b"LCS":
        return math.prod(sizes)
    return sum(sizes) * (len(words) if words[0].upper().startswith(b"SORT") else 1)
