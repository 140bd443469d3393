r"""Redis's glob patterns: ``*``, ``?``, ``[a-z]``, ``[^a]``, and ``\`` before what is meant as it is.

The empty text fits the empty pattern only, not even ``*``.

Matching takes time in proportion to pattern times text at worst, whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

__all__ = ["compile_glob", "compile_match"]

Test: TypeAlias = "frozenset[int] | None"
"""The bytes that match at one place; None stands for ``*``."""

ANY: Final = frozenset(range(256))


def compile_glob(pattern: bytes, *, ignore_case: bool = False) -> Callable[[bytes], bool]:
    """A function that tells whether the whole of a text fits the pattern."""
    if ignore_case:
        tests = parse(pattern.lower())
        return lambda text: match(tests, text.lower())
    tests = parse(pattern)
    return lambda text: match(tests, text)


def compile_match(pattern: bytes) -> Callable[[bytes], bool]:
    """The same for KEYS and SCAN, for which ``*`` alone fits everything."""
    return fits_all if pattern == b"*" else compile_glob(pattern)


def fits_all(_: bytes) -> bool:
    return True


def parse(pattern: bytes) -> list[Test]:
    tests: list[Test] = []
    at = 0
    while at < len(pattern):
        byte = pattern[at]
        if byte == ord("*"):
            if not tests or tests[-1] is not None:
                tests.append(None)
        elif byte == ord("?"):
            tests.append(ANY)
        elif byte == ord("["):
            members, at = parse_class(pattern, at + 1)
            tests.append(members)
        else:
            if byte == ord("\\") and at + 1 < len(pattern):
                at += 1
            tests.append(frozenset((pattern[at],)))
        at += 1
    return tests


def parse_class(pattern: bytes, at: int) -> tuple[frozenset[int], int]:
    """A class from behind its ``[``; returns its members and where its ``]`` is, which may be missing."""
    negated = pattern[at : at + 1] == b"^"
    at += negated
    members: set[int] = set()
    while at < len(pattern) and pattern[at] != ord("]"):
        if pattern[at] == ord("\\") and at + 1 < len(pattern):
            at += 1
            members.add(pattern[at])
        elif pattern[at + 1 : at + 2] == b"-" and at + 2 < len(pattern):
            low, high = sorted((pattern[at], pattern[at + 2]))
            members.update(range(low, high + 1))
            at += 2
        else:
            members.add(pattern[at])
        at += 1
    return (ANY - members if negated else frozenset(members)), at


def match(tests: list[Test], text: bytes) -> bool:
    if not text:
        return not tests
    at = place = 0
    star, resume = -1, 0
    while at < len(text):
        test = tests[place] if place < len(tests) else frozenset[int]()
        if test is None:
            star, resume = place, at
            place += 1
        elif text[at] in test:
            at += 1
            place += 1
        elif star >= 0:
            resume += 1
            at, place = resume, star + 1
        else:
            return False
    return all(test is None for test in tests[place:])
