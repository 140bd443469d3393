"""LCS: the longest common subsequence of two strings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, command
from ...keyspace.keyspace import StringValue, Value
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Map, Reply

CELL: Final = 4
"""Bytes of a cell in Redis's table of the two strings; they decide when the strings are too long."""

LONGEST: Final = (1 << 32) - 2


@dataclass(slots=True)
class Options:
    """The options of LCS."""

    length: bool = False
    indexes: bool = False
    shortest: int = 0
    with_lengths: bool = False


@command(
    "LCS",
    -3,
    "readonly",
    acl="string",
    keys=Keys(1, "RO access", last=1),
    since="7.0.0",
    syntax="key1#0 key2#0 [LEN] [IDX] [MINMATCHLEN len:integer] [WITHMATCHLEN]",
)
def lcs(session: Session, args: list[bytes]) -> Reply:
    """Returns the longest common subsequence of two strings, its length, or its places in both."""
    values = [session.db.lookup_read(key) for key in args[1:3]]
    one, other = map(as_text, values)
    return compared(session, one, other, read_options(args[3:]))


def compared(session: Session, one: bytes, other: bytes, options: Options) -> Reply:
    """What the options ask for of the longest common subsequence."""
    check_size(session, one, other)
    matches = list(aligned(one, other))
    if options.indexes:
        return Map({b"matches": shown(matches, one, other, options), b"len": len(matches)})
    return len(matches) if options.length else bytes(one[at] for at, _ in reversed(matches))


def as_text(value: Value | None) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, StringValue):
        raise CommandError(errors.LCS_STRINGS)
    return bytes(value)


def read_options(words: list[bytes]) -> Options:
    options = Options()
    rest = iter(words)
    for word in rest:
        match word.upper():
            case b"LEN":
                options.length = True
            case b"IDX":
                options.indexes = True
            case b"WITHMATCHLEN":
                options.with_lengths = True
            case b"MINMATCHLEN" if (number := next(rest, None)) is not None:
                options.shortest = read_integer(number)
            case _:
                raise CommandError(errors.SYNTAX)
    if options.length and options.indexes:
        raise CommandError(errors.LCS_BOTH)
    return options


def check_size(session: Session, one: bytes, other: bytes) -> None:
    if max(len(one), len(other)) >= LONGEST:
        raise CommandError(errors.LCS_TOO_LONG)
    if CELL * (len(one) + 1) * (len(other) + 1) > session.engine.config.integer("proto-max-bulk-len"):
        raise CommandError(errors.LCS_MEMORY)


def aligned(one: bytes, other: bytes) -> Iterator[tuple[int, int]]:
    """Yields the pairs of matching positions from the end to the beginning, as Redis pairs them.

    Redis walks back through a table of lengths: diagonally if the bytes match, else up if the cell above is
    larger than the one to the left. It is if bit j-1 of ``steps[i]`` is set, that is, if the row rises there.
    """
    steps = rows(one, other)
    i, j = len(one), len(other)
    while i and j:
        if one[i - 1] == other[j - 1]:
            i, j = i - 1, j - 1
            yield i, j
        elif steps[i] >> (j - 1) & 1:
            i -= 1
        else:
            j -= 1


def rows(one: bytes, other: bytes) -> list[int]:
    """For each row of the table, the bits at which it rises by one; computes a row as one integer."""
    width = (1 << len(other)) - 1
    where = dict.fromkeys(one, 0)
    for place, byte in enumerate(other):
        if byte in where:
            where[byte] |= 1 << place
    level = width  # bits are set where the row does not rise
    found = [0]
    for byte in one:
        hits = level & where[byte]
        level = (level + hits | level - hits) & width
        found.append(width ^ level)
    return found


def shown(matches: list[tuple[int, int]], one: bytes, other: bytes, options: Options) -> list[Reply]:
    """The matching ranges, from the end to the beginning."""
    stretches: list[Reply] = []
    for first, second, size in runs(matches):
        if size >= options.shortest:
            places: list[Reply] = [[first, first + size - 1], [second, second + size - 1]]
            stretches.append([*places, size] if options.with_lengths else places)
    return stretches


def runs(matches: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Joins adjacent matches; yields where each run begins in both strings, and its length."""
    size = 0
    for at, (first, second) in enumerate(matches):
        size += 1
        if at + 1 == len(matches) or matches[at + 1] != (first - 1, second - 1):
            yield first, second, size
            size = 0
