"""Finds the arguments of a request that are keys, and how the command uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ..numbers.numbers import leading_integer
from .registry import Command, CountedKeys, Keys, KeywordCountedKeys, KeywordKeys, UnknownKeys

__all__ = ["KeysError", "keys_of", "known_keys", "tracked_keys"]


class KeysError(Exception):
    """The keys cannot be found in these arguments."""


def keys_of(command: Command, args: list[bytes]) -> list[tuple[bytes, str]]:
    """The keys of a request, each with flags that say how the command uses it.

    Args:
        command: the command of the request; the arity must fit.
        args: the request, including the name.

    Raises:
        KeysError: an argument that counts the keys is not a number, or out of range.
    """
    if command.name in BY_RULE:
        return list(BY_RULE[command.name](command, args))
    found = [each for keys in command.keys for each in FINDERS[type(keys)](keys, args)]
    if not found and command.name in READ_THROUGH:
        found = list(READ_THROUGH[command.name](args))
        if not found:
            raise KeysError
    return found


def known_keys(command: Command, args: list[bytes]) -> list[tuple[bytes, str]]:
    """The same for a request that may be wrong, which the command itself will refuse: no keys then."""
    try:
        return keys_of(command, args)
    except (KeysError, IndexError):
        return []


def tracked_keys(command: Command, args: list[bytes]) -> list[tuple[bytes, str]]:
    """The keys that a client tracks after a request; for some commands, Redis finds them in another way."""
    if command.name in READ_THROUGH:
        return list(READ_THROUGH[command.name](args))
    return keys_of(command, args)


def in_range(keys: Keys, args: list[bytes]) -> Iterator[tuple[bytes, str]]:
    last = keys.first + keys.last if keys.last >= 0 else len(args) + keys.last
    if not keys.first <= last < len(args):
        raise KeysError  # of several ranges, as in PFMERGE, one is empty; 6.x counts words later
    for place in range(keys.first, last + 1, keys.step):
        yield args[place], keys.flags


def counted(keys: CountedKeys, args: list[bytes]) -> Iterator[tuple[bytes, str]]:
    count = leading_integer(args[keys.count_at])
    first = keys.count_at + 1
    if not 0 < count * keys.step <= len(args) - first:
        raise KeysError
    for key in args[first : first + count * keys.step : keys.step]:
        yield key, keys.flags


def behind(keys: KeywordKeys, args: list[bytes]) -> Iterator[tuple[bytes, str]]:
    word, least = keys.word.encode(), max(keys.limit, 1)
    found = (at + 1 for at in range(keys.start, len(args) - 1) if args[at].upper() == word)
    first = next(found, None)
    if first is not None:
        end = first + (len(args) - first) // least if keys.last < 0 else first
        for key in args[first : end + keys.last + 1]:
            yield key, keys.flags
    elif keys.limit:
        raise KeysError


def counted_behind(keys: KeywordCountedKeys, args: list[bytes]) -> Iterator[tuple[bytes, str]]:
    word = keys.word.encode()
    found = next((at for at in range(keys.start, len(args) - 1) if args[at].upper() == word), None)
    if found is not None:
        yield from counted(CountedKeys(found + 1, keys.flags), args)


def unknown(_: UnknownKeys, __: list[bytes]) -> Iterator[tuple[bytes, str]]:
    return iter(())


FINDERS: Final[dict[type, Callable[[Any, list[bytes]], Iterator[tuple[bytes, str]]]]] = {
    Keys: in_range,
    CountedKeys: counted,
    KeywordKeys: behind,
    KeywordCountedKeys: counted_behind,
    UnknownKeys: unknown,
}


def of_set(_: Command, args: list[bytes]) -> Iterator[tuple[bytes, str]]:
    """SET reads its key only with the option GET."""
    gets = any(word.upper() == b"GET" for word in args[3:])
    yield args[1], "RW access update" if gets else "OW update"


def of_bitfield(_: Command, args: list[bytes]) -> Iterator[tuple[bytes, str]]:
    """BITFIELD writes unless all its operations are GET."""
    rest = iter(args[2:])
    for word in rest:
        operands = {b"GET": 2, b"OVERFLOW": 1}.get(word.upper())
        if operands is None or None in [next(rest, None) for _ in range(operands)]:
            yield args[1], "RW access update"
            return
    yield args[1], "RO access"


SORT_OPERANDS: Final = {b"LIMIT": 2, b"GET": 1, b"BY": 1}


def of_sort(command: Command, args: list[bytes]) -> Iterator[tuple[bytes, str]]:
    """SORT stores its result at the key of the last STORE."""
    yield args[1], "RO access"
    target = None
    at = 2
    while at < len(args) and command.name == b"sort":
        if args[at].upper() == b"STORE" and at + 1 < len(args):
            target = args[at + 1]
        at += 1 + SORT_OPERANDS.get(args[at].upper(), 0)
    if target is not None:
        yield target, "OW update"


MIGRATE_OPERANDS: Final = {b"AUTH": 1, b"AUTH2": 2}


def of_migrate(_: Command, args: list[bytes]) -> Iterator[tuple[bytes, str]]:
    """MIGRATE has one key, or an empty one and those behind KEYS."""
    keys, at = args[3:4], 6
    while at < len(args) and args[at].upper() != b"KEYS":
        at += 1 + MIGRATE_OPERANDS.get(args[at].upper(), 0)
    if at < len(args):
        keys = [] if args[3] else args[at + 1 :]
        if not keys:
            raise KeysError
    for key in keys:
        yield key, "RW access delete"


def of_stralgo(_: Command, args: list[bytes]) -> Iterator[tuple[bytes, str]]:
    """STRALGO has keys behind KEYS."""
    at = next((at for at in range(2, len(args) - 2) if args[at].upper() == b"KEYS"), None)
    if at is None:
        raise KeysError
    for key in args[at + 1 : at + 3]:
        yield key, "RO access"


BY_RULE: Final = {
    b"stralgo": of_stralgo,
    b"set": of_set,
    b"bitfield": of_bitfield,
    b"sort": of_sort,
    b"migrate": of_migrate,
}
"""Commands whose other arguments decide how they use their keys."""

STREAM_OPERANDS: Final = {b"BLOCK": 1, b"COUNT": 1, b"GROUP": 2, b"NOACK": 0}


def of_streams(args: list[bytes]) -> Iterator[tuple[bytes, str]]:
    """The first half of the arguments after STREAMS; none if their number is odd."""
    at = 1
    while at < len(args) and args[at].upper() in STREAM_OPERANDS:
        at += 1 + STREAM_OPERANDS[args[at].upper()]
    count, odd = divmod(len(args) - at - 1, 2)
    if at < len(args) and args[at].upper() == b"STREAMS" and not odd:
        for key in args[at + 1 : at + 1 + count]:
            yield key, ""


READ_THROUGH: Final = {b"xread": of_streams, b"xreadgroup": of_streams}
"""Commands whose arguments Redis scans if the key specifications find no key, and for tracking."""
