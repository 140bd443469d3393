"""The commands on hashes. A hash is a set of pairs, each a field and its value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from .redis import AnyOrder, Command, Refusal, Words, number, on_pairs
from .strings import added

__all__ = ["HASHES"]

Fields: TypeAlias = dict[bytes, bytes]


_hash: Final = partial(on_pairs, "hash")


def _hset(fields: Fields, words: Words) -> Any:
    given = dict(zip(words[::2], words[1::2], strict=True))
    new = len(given.keys() - fields.keys())
    fields.update(given)
    return number(new)


def _hmset(fields: Fields, words: Words) -> Any:
    _hset(fields, words)
    return (b"OK",)


def _hsetnx(fields: Fields, words: Words) -> Any:
    field, value = words
    new = field not in fields
    fields.setdefault(field, value)
    return number(new)


def _hget(fields: Fields, words: Words) -> Any:
    (field,) = words
    return (fields[field],) if field in fields else None


def _hdel(fields: Fields, words: Words) -> Any:
    return number(sum(fields.pop(field, None) is not None for field in words))


def _hincrby(fields: Fields, words: Words) -> Any:
    field, amount = words
    if (total := added(fields.get(field, b"0"), int(amount))) is None:
        return Refusal("ERR")
    fields[field] = total
    return (total,)


HASHES: Final[Mapping[str, Command]] = {
    "HSET": _hash(_hset), "HMSET": _hash(_hmset), "HSETNX": _hash(_hsetnx), "HGET": _hash(_hget),
    "HDEL": _hash(_hdel), "HINCRBY": _hash(_hincrby),
    "HLEN": _hash(lambda fields, _: number(len(fields))),
    "HEXISTS": _hash(lambda fields, words: number(words[0] in fields)),
    "HSTRLEN": _hash(lambda fields, words: number(len(fields.get(words[0], b"")))),
    "HGETALL": _hash(lambda fields, _: AnyOrder(fields.items())),
    "HKEYS": _hash(lambda fields, _: AnyOrder((field,) for field in fields)),
    "HVALS": _hash(lambda fields, _: AnyOrder((value,) for value in fields.values())),
}  # fmt: skip
"""What each command does."""
