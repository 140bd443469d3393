"""Assertions about keys, whose messages show what differs.

In a test of pytest, ``assert server.content("jobs") == [b"resize"]`` says as much. These say it anywhere,
take str and numbers for bytes, and tell a missing key and a wrong type from a wrong content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .contents import Contents, as_bytes, elements, entries, fields

__all__ = ["Assertions"]

NAMES = {"zset": "sorted set"}
"""What people call a type, where it is not what the command TYPE calls it."""


class Assertions(Contents):
    """Assertions about the keys of a server; each raises ``AssertionError`` if a key is otherwise."""

    def assert_string(self, key: str | bytes, expected: Any, database: int = 0) -> None:
        """The key holds this string."""
        self._assert(key, "string", as_bytes(expected), database)

    def assert_list(self, key: str | bytes, expected: Iterable[Any], database: int = 0) -> None:
        """The key holds a list of these elements in this order."""
        self._assert(key, "list", [*map(as_bytes, elements(expected))], database)

    def assert_set(self, key: str | bytes, expected: Iterable[Any], database: int = 0) -> None:
        """The key holds a set of these members."""
        self._assert(key, "set", {*map(as_bytes, elements(expected))}, database)

    def assert_hash(self, key: str | bytes, expected: Mapping[Any, Any], database: int = 0) -> None:
        """The key holds a hash with these fields and values, and no others."""
        content = {as_bytes(field): as_bytes(value) for field, value in fields(expected)}
        self._assert(key, "hash", content, database)

    def assert_sorted_set(self, key: str | bytes, expected: Mapping[Any, float], database: int = 0) -> None:
        """The key holds a sorted set of these members with these scores."""
        scores = {as_bytes(member): float(score) for member, score in fields(expected)}
        self._assert(key, "zset", scores, database)

    def assert_stream(
        self, key: str | bytes, expected: Iterable[tuple[Any, Iterable[Any]]], database: int = 0
    ) -> None:
        """The key holds a stream of these entries: each an id, and its fields and values in order."""
        content = [(as_bytes(number), [*map(as_bytes, words)]) for number, words in entries(expected)]
        self._assert(key, "stream", content, database)

    def assert_missing(self, key: str | bytes, database: int = 0) -> None:
        """There is no such key."""
        entry = self._entry(as_bytes(key), database)
        if entry is not None:
            raise AssertionError(f"the key {key!r} is there: {a_kind(entry.kind)}, {entry.content!r}")

    def _assert(self, key: str | bytes, kind: str, expected: Any, database: int) -> None:
        entry = self._entry(as_bytes(key), database)
        if entry is None:
            keys = sorted(each.key for each in self._entries(database))
            there = f"the keys of database {database} are {keys}" if keys else f"database {database} has none"
            raise AssertionError(f"there is no key {key!r}: {there}")
        if entry.kind != kind:
            raise AssertionError(
                f"the key {key!r} is {a_kind(entry.kind)}, not {a_kind(kind)}: {entry.content!r}"
            )
        if entry.content != expected:
            raise AssertionError(
                f"the {NAMES.get(kind, kind)} {key!r} has another content (- expected, + found):\n"
                + difference(expected, entry.content)
            )


def a_kind(kind: str) -> str:
    return f"a {NAMES.get(kind, kind)}"


def difference(expected: Any, found: Any) -> str:
    """Both values, line by line: those of the first alone with a minus, of the second alone with a plus."""
    from difflib import ndiff  # for a failure only

    return "\n".join(line for line in ndiff(lines(expected), lines(found)) if not line.startswith("?"))


def lines(content: Any) -> list[str]:
    """A line for each element."""
    if isinstance(content, dict):
        return sorted(f"{name!r}: {value!r}" for name, value in content.items())
    if isinstance(content, set):
        return sorted(map(repr, content))
    return [*map(repr, content)] if isinstance(content, list) else [repr(content)]
