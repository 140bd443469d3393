"""The kinds of values that are several words; and ``only`` and ``clamped``, which restrict any kind."""

from __future__ import annotations

import re
from typing import Final, Self

from ..keyspace.events import LETTERS, shown
from ..numbers.numbers import leading_integer, leading_long, parse_double
from .kinds import Check, c_string, folded, one_of, read_memory

__all__ = [
    "EventClasses",
    "addresses",
    "buffer_limits",
    "clamped",
    "event_classes",
    "only",
    "oom_scores",
    "percentiles",
    "primary",
    "save_points",
    "shutdown_options",
]

SAVE_AND_NOSAVE: Final = "shutdown options SAVE and NOSAVE can't be used simultaneously"
BAD_EVENTS: Final = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."
BAD_PERCENTILES: Final = "Invalid latency-tracking-info-percentiles parameters"
PERCENTILES_OUTSIDE: Final = "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"
BAD_SAVE: Final = "Invalid save parameters"
WRONG_COUNT: Final = "wrong number of arguments"
BAD_SCORES: Final = "Invalid oom-score-adj-values, elements must be between -2000 and 2000."
LIMITS_COUNT: Final = "Wrong number of arguments in buffer limit configuration."
LIMITS_CLASS: Final = "Invalid client class specified in buffer limit configuration."
BAD_LIMITS: Final = "Error in hard, soft or soft_seconds setting in buffer limit configuration."
MANY_ADDRESSES: Final = "Too many bind addresses specified."

WHOLE: Final = re.compile(rb"[ \t\n\v\f\r]*+[+-]?[0-9]++").fullmatch


def split(value: str) -> list[str]:
    """The words of a value, separated by single spaces: between two spaces there is an empty word."""
    return value.split(" ") if value else []


def whole(word: str) -> bytes | None:
    """The word, if ``strtol`` reads it to its end, or ``0`` if it is empty; None for others."""
    digits = c_string(word).encode("utf-8", "surrogateescape") or b"0"
    return digits if WHOLE(digits) else None


def only(off: str, kind: Check) -> Check:
    """Accepts the one value of a kind that turns a missing feature off."""

    def check(value: str, before: str) -> str:
        if kind(value, before) != off:
            raise ValueError(f"this server takes only '{off}' here")
        return off

    return check


def clamped(kind: Check, low: int, high: int) -> Check:
    """Accepts numbers of a kind; one outside the range from ``low`` to ``high`` becomes the nearest in it."""

    def check(value: str, before: str) -> str:
        return str(min(max(int(kind(value, before)), low), high))

    return check


MOST_ADDRESSES: Final = 16


def addresses(value: str, _before: str) -> str:
    """Accepts addresses to listen on."""
    if len(split(value)) > MOST_ADDRESSES:
        raise ValueError(MANY_ADDRESSES)
    return c_string(value)


BAD_PORT: Final = "Invalid master port"
HIGHEST_PORT: Final = 65535


def primary(value: str, _before: str) -> str:
    """Accepts the host and the port of a master, or ``no one``, which is shown as empty."""
    words = split(value)
    if not words or [folded(word) for word in words] == ["no", "one"]:
        return ""
    if len(words) != 2:
        raise ValueError(WRONG_COUNT)
    port = whole(words[1])
    if port is None or not 0 <= leading_long(port) <= HIGHEST_PORT:
        raise ValueError(BAD_PORT)
    return f"{words[0]} {leading_long(port)}"


SHUTDOWN_OPTIONS: Final = ("default", "save", "nosave", "now", "force")


def shutdown_options(value: str, before: str) -> str:
    """Accepts options of SHUTDOWN, for the shutdown by a signal."""
    option = one_of(*SHUTDOWN_OPTIONS)
    chosen = {option(word, before) for word in split(value) or [""]}
    if {"save", "nosave"} <= chosen:
        raise ValueError(SAVE_AND_NOSAVE)
    return " ".join(word for word in SHUTDOWN_OPTIONS[1:] if word in chosen) or "default"


class EventClasses(str):
    """Classes of keyspace events as CONFIG GET shows them, which is not always as they were given.

    Attributes:
        letters: the classes as they were given.
    """

    __slots__ = ("letters",)
    letters: str

    def __new__(cls, letters: str) -> Self:
        """Converts the letters to the form that Redis shows."""
        classes = super().__new__(cls, shown(letters))
        classes.letters = letters
        return classes


def event_classes(value: str, _before: str) -> str:
    """Accepts a letter for each class of keyspace events."""
    classes = c_string(value)
    if classes.translate(dict.fromkeys(map(ord, LETTERS))):
        raise ValueError(BAD_EVENTS)
    return EventClasses("".join(letter for letter in sorted(LETTERS) if letter in classes))  # each once


def percentiles(value: str, _before: str) -> str:
    """Accepts numbers from 0 to 100."""
    shown = []
    for word in split(value):
        number = parse_double(word.encode("utf-8", "surrogateescape"))
        if number is None or word[:1] in {"", "\t", "\n", "\v", "\f", "\r"} or "\0" in word:
            raise ValueError(BAD_PERCENTILES)
        if not 0 <= number <= 100:
            raise ValueError(PERCENTILES_OUTSIDE)
        shown.append(f"{number:f}".rstrip("0").rstrip("."))
    return " ".join(shown)


def save_points(value: str, _before: str) -> str:
    """Accepts pairs of seconds and changes."""
    words = split(value)
    numbers = [whole(word) for word in words]
    if len(words) % 2 or None in numbers:
        raise ValueError(BAD_SAVE)
    counts = [leading_long(number) for number in numbers if number is not None]
    changes = [leading_integer(number) for number in numbers[1::2] if number is not None]
    if any(seconds < 1 for seconds in counts[::2]) or any(each < 0 for each in changes):
        raise ValueError(BAD_SAVE)
    return " ".join(f"{seconds} {each}" for seconds, each in zip(counts[::2], changes, strict=True))


COUNT_OF_SCORES: Final = 3
HIGHEST_SCORE: Final = 2000


def oom_scores(value: str, _before: str) -> str:
    """Accepts the three values of ``oom-score-adj-values``, for the system's out-of-memory killer."""
    words = split(value)
    if len(words) != COUNT_OF_SCORES:
        raise ValueError(WRONG_COUNT)
    scores = [whole(word) for word in words]
    if any(each is None or abs(leading_long(each)) > HIGHEST_SCORE for each in scores):
        raise ValueError(BAD_SCORES)
    return " ".join(str(leading_long(each)) for each in scores if each is not None)


LIMITS: Final = 4
CLASSES: Final = {"normal": "normal", "slave": "slave", "replica": "slave", "pubsub": "pubsub"}


def buffer_limits(value: str, before: str) -> str:
    """Accepts hard limit, soft limit and seconds for classes of clients; other classes keep their limits."""
    words = split(value)
    if len(words) % LIMITS:
        raise ValueError(LIMITS_COUNT)
    limits = dict(in_fours(split(before)))
    for name, numbers in in_fours(words):
        if folded(c_string(name)) not in CLASSES:
            raise ValueError(LIMITS_CLASS)
        limits[CLASSES[folded(c_string(name))]] = limit(numbers)
    return " ".join(word for name, numbers in limits.items() for word in (name, *numbers))


def in_fours(words: list[str]) -> list[tuple[str, list[str]]]:
    return [(words[at], words[at + 1 : at + LIMITS]) for at in range(0, len(words), LIMITS)]


def limit(numbers: list[str]) -> list[str]:
    hard, soft = read_memory(numbers[0]), read_memory(numbers[1])
    seconds = whole(numbers[2])
    if hard is None or soft is None or seconds is None or leading_integer(seconds) < 0:
        raise ValueError(BAD_LIMITS)
    return [str(hard), str(soft), str(leading_integer(seconds))]
