"""What keys hold, as plain Python values and as JSON, and the requests that write it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from ..arguments import kind as kind_of_object
from ..engine.values.expiring_hashes import ExpiringHash, ValkeyHash
from ..engine.values.hashes import HashValue
from ..engine.values.rqueues import RQueue
from ..engine.values.sets import SetValue
from ..engine.values.sorted_sets import SortedSet
from ..engine.values.stream_nodes import id_text
from ..engine.values.streams import Stream

__all__ = [
    "Content",
    "Contents",
    "Entry",
    "StreamEntry",
    "elements",
    "entries",
    "entry_of",
    "fields",
    "written",
]

StreamEntry: TypeAlias = tuple[bytes, list[bytes]]
Content: TypeAlias = (
    bytes | list[bytes] | set[bytes] | dict[bytes, bytes] | dict[bytes, float] | list[StreamEntry]
)
"""What a key holds: see ``Contents.content``."""


class Entry(NamedTuple):
    """A key.

    Attributes:
        key: its name.
        kind: its type, as the command TYPE has it; ``rqueue`` for a queue of RedisMQ.
        content: what it holds.
        expires: when it expires, in milliseconds since 1970; None for never.
    """

    key: bytes
    kind: str
    content: Any
    expires: int | None = None


class Contents:
    """The keys of a server, without a client. All methods may be called from any thread."""

    def _entry(self, key: bytes, database: int) -> Entry | None:
        raise NotImplementedError

    def _entries(self, database: int) -> list[Entry]:
        raise NotImplementedError

    def _write(self, requests: list[list[bytes]], database: int) -> None:
        raise NotImplementedError

    def content(self, key: str | bytes, database: int = 0) -> Content | None:
        """What a key holds, as redis-py would return it; None if there is no such key.

        A string is bytes, a list a list, a set a set, a hash a dict, a sorted set a dict from members to
        scores. A stream is a list of its entries, each an id and its fields and values in order; a queue of
        RedisMQ is a list of the messages that were not delivered yet.
        """
        entry = self._entry(as_bytes(key), database)
        content: Content | None = entry and entry.content
        return content

    def dump(self, database: int = 0) -> dict[bytes, Content]:
        """All keys of a database, each with its ``content``."""
        return {entry.key: entry.content for entry in self._entries(database)}

    def set_content(self, key: str | bytes, content: Any, database: int = 0) -> None:
        """Replaces a key by one that holds this, for ever; clients that wait for it are served.

        Args:
            key: its name.
            content: as ``content`` returns it, with str or numbers for bytes where that is clearer. A dict
                whose values are numbers is a sorted set, with other values it is a hash. Nothing, such as
                None or an empty list, deletes the key.
            database: its number.

        Raises:
            TypeError: no key can hold this.
            ValueError: the command that writes it refuses it, such as ids of a stream that do not rise.
            RuntimeError: a script is running, the server has stopped, or this process was forked from the
                server's.
        """
        self._write(written(Entry(as_bytes(key), kind_of(content), content)), database)

    def dump_json(self, database: int = 0) -> str:
        """All keys of a database as JSON, to be read, compared and kept, or loaded by ``load_json``.

        Each key has its ``type``, its ``content`` and, if it expires, ``expires``: milliseconds since 1970.
        Of streams there are the entries, without groups. Bytes that are not UTF-8 are escaped, as Python's
        ``surrogateescape`` does it.
        """
        import json  # few programs do this, and it takes long to import

        found = {as_text(entry.key): as_json(entry) for entry in self._entries(database)}
        return json.dumps(found, indent=1, sort_keys=True)

    def load_json(self, text: str, database: int = 0) -> None:
        """Writes the keys that ``dump_json`` told; others stay. Then clients that wait for them are served.

        Raises:
            ValueError: it is no such JSON, or the command that writes a key refuses its content.
            RuntimeError: a script is running, the server has stopped, or this process was forked from the
                server's.
        """
        import json

        try:
            entries = [
                Entry(as_bytes(key), told["type"], told["content"], told.get("expires"))
                for key, told in json.loads(text).items()
            ]
            requests = [request for entry in entries for request in written(entry)]
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"this JSON does not have the form that dump_json gives it: {error!r}") from None
        self._write(requests, database)


# Reading


def entry_of(key: bytes, value: Any, expires: int | None = None) -> Entry:
    """A key with its value in the engine."""
    kind, show = SHOWN[type(value)]
    return Entry(key, kind, show(value), expires)


SHOWN: Final[dict[type, tuple[str, Callable[[Any], Content]]]] = {
    bytes: ("string", bytes),
    bytearray: ("string", bytes),
    deque: ("list", list),
    SetValue: ("set", lambda value: set(value.members)),
    **dict.fromkeys((HashValue, ExpiringHash, ValkeyHash), ("hash", lambda value: dict(value.fields))),
    SortedSet: ("zset", lambda value: dict(value.scores)),
    Stream: (
        "stream",
        lambda value: [(id_text(number), list(content)) for number, content in value.walk()],
    ),
    RQueue: ("rqueue", lambda value: [payload for _, payload in value.undelivered]),
}


def as_json(entry: Entry) -> dict[str, Any]:
    told = {"type": entry.kind, "content": plain(entry.content)}
    return told if entry.expires is None else {**told, "expires": entry.expires}


def plain(content: Any) -> Any:
    """The same in JSON's types."""
    if isinstance(content, bytes):
        return as_text(content)
    if isinstance(content, float):
        return content if math.isfinite(content) else str(content)
    if isinstance(content, dict):
        return {as_text(name): plain(value) for name, value in content.items()}
    return [plain(each) for each in (sorted(content) if isinstance(content, set) else content)]


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# Writing


def kind_of(content: Any) -> str:
    """The type of key that holds this."""
    if content is None or isinstance(content, str | bytes | int | float):
        return "string"
    if isinstance(content, set | frozenset):
        return "set"
    if isinstance(content, Mapping):
        return "zset" if all(isinstance(each, int | float) for each in content.values()) else "hash"
    if isinstance(content, list | tuple | deque):
        return "stream" if any(isinstance(each, list | tuple) for each in content) else "list"
    raise TypeError(f"a key cannot hold {kind_of_object(content)}")


def as_bytes(word: Any) -> bytes:
    if isinstance(word, bytes):
        return word
    if isinstance(word, str):
        return word.encode("utf-8", "surrogateescape")
    if isinstance(word, int | float) and not isinstance(word, bool):
        return repr(word).encode()
    raise TypeError(f"Redis keeps bytes, and not {kind_of_object(word)}; give a str, bytes or a number")


def elements(content: Any) -> Iterable[Any]:
    """The elements of a list or set: a str or a dict is none, though it can be iterated over."""
    if isinstance(content, str | bytes | Mapping) or not isinstance(content, Iterable):
        raise TypeError(f"give several elements, such as a list, and not {kind_of_object(content)}")
    return content


def fields(content: Any) -> Iterable[tuple[Any, Any]]:
    """The fields of a hash with their values, or the members of a sorted set with their scores."""
    if not isinstance(content, Mapping):
        raise TypeError(f"give a dict, and not {kind_of_object(content)}")
    return content.items()


def entries(content: Any) -> Iterable[tuple[Any, Iterable[Any]]]:
    """The entries of a stream, each an id with its fields and values."""
    for entry in elements(content):
        if not isinstance(entry, list | tuple) or len(entry) != 2:
            raise TypeError(f"an entry of a stream is (id, [field, value, ...]), and not {entry!r}")
        yield entry[0], elements(entry[1])


def written(entry: Entry) -> list[list[bytes]]:
    """The requests that replace a key by this one."""
    key, content, write = entry.key, entry.content, WRITTEN[entry.kind]
    requests = [[b"DEL", key]]
    if content or (entry.kind == "string" and content is not None):
        requests += ([name, key, *map(as_bytes, words)] for name, words in write(content))
        if entry.expires is not None:
            requests.append([b"PEXPIREAT", key, as_bytes(entry.expires)])
    return requests


Words: TypeAlias = Iterable[tuple[bytes, Iterable[Any]]]
"""Requests without their key: each one a name, and the words behind the key."""

WRITTEN: Final[dict[str, Callable[[Any], Words]]] = {
    "string": lambda content: [(b"SET", [content])],
    "list": lambda content: [(b"RPUSH", content)],
    "set": lambda content: [(b"SADD", content)],
    "hash": lambda content: [(b"HSET", chain.from_iterable(content.items()))],
    "zset": lambda content: [
        (b"ZADD", chain.from_iterable((score, each) for each, score in content.items()))
    ],
    "stream": lambda content: [(b"XADD", [number, *words]) for number, words in entries(content)],
    "rqueue": lambda content: [(b"MQ.PUSH", [each]) for each in content],
}
