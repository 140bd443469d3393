"""Encodes Python values as RESP2 or RESP3 replies.

A command returns plain Python values: ``int``, ``bytes`` (a bulk string), ``None`` (null), ``list`` (an
array), ``float`` (a double), a ``CommandError``, or one of the few types below for replies without a Python
type. ``encode`` writes them in the version the client speaks. To add a type of reply, add a class and a row
to each table of ``ENCODERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import hiredis

from .errors import CommandError, one_line

__all__ = [
    "NOT_ASKED",
    "NO_REPLY",
    "NULL_ARRAY",
    "OK",
    "PONG",
    "QUEUED",
    "DoubleText",
    "Encoded",
    "Entries",
    "Map",
    "NestedMap",
    "Output",
    "Pairs",
    "Pieces",
    "PlainText",
    "Push",
    "Reply",
    "Set",
    "Value",
    "Verbatim",
    "as_value",
]


class Encoded(bytes):
    """A reply in its wire form, which is the same in both versions of the protocol."""

    __slots__ = ()


class Pieces:
    """The wire form of a reply with large strings, in parts, so that these are not copied.

    Args:
        parts: bytes, and other replies in parts.

    Attributes:
        parts: bytes.
        size: the total number of bytes.
    """

    __slots__ = ("parts", "size")

    def __init__(self, parts: Iterable[Output]) -> None:
        self.parts: list[bytes] = []
        for part in parts:
            self.parts += part.parts if isinstance(part, Pieces) else (part,)
        self.size = sum(map(len, self.parts))

    def __len__(self) -> int:
        return self.size

    def __bytes__(self) -> bytes:
        return b"".join(self.parts)


Output: TypeAlias = bytes | Pieces
"""The wire form of a reply."""


class Map(dict[Any, Any]):
    """Pairs: a map in RESP3, a flat array in RESP2."""


class Set(list[Any]):
    """Distinct values: a set in RESP3, an array in RESP2."""


class Pairs(list[Any]):
    """Pairs: an array of two-element arrays in RESP3, a flat array in RESP2."""


class Push(list[Any]):
    """A message that is not a reply: a push in RESP3, an array in RESP2."""


class NestedMap(list[tuple[Any, Any]]):
    """Pairs whose keys may repeat: a map in RESP3, an array of arrays in RESP2."""


class Entries(list[list[Any]]):
    """Entries of a stream: for each an array of its id, and of an array of its fields and values."""


class Verbatim(bytes):
    """A text for people: a verbatim string in RESP3, a bulk string in RESP2."""

    __slots__ = ()


class DoubleText(bytes):
    """A double that is already formatted: a double in RESP3, a bulk string in RESP2."""

    __slots__ = ()


class PlainText(bytes):
    """A string that Redis keeps as a text though it is a number: what INCRBYFLOAT leaves."""

    __slots__ = ()


class NullArray:
    """Null in place of an array: ``*-1`` in RESP2, the only null in RESP3."""


class NoReply:
    """The command sends no reply now: its client is blocked, or the command has replied itself."""


Reply: TypeAlias = (
    "int | float | bytes | bytearray | list[Any] | Map | NestedMap | Pairs | Push | Set | Encoded | Verbatim"
    " | DoubleText | NullArray | NoReply | CommandError | None"
)


def status(text: bytes) -> Encoded:
    """A simple string, such as ``+OK``; ``text`` is one line."""
    return Encoded(b"+%b\r\n" % text)


OK: Final = status(b"OK")
PONG: Final = status(b"PONG")
QUEUED: Final = status(b"QUEUED")
NULL_ARRAY: Final = NullArray()
NO_REPLY: Final = NoReply()
NOT_ASKED: Final = NoReply()
"""The request was not run, and has to come as bytes."""


Value: TypeAlias = bytes | int | list[bytes | int | None] | None
"""A reply that is the same in both versions of the protocol, and that no later command changes."""

SIMPLE: Final = {bytes, int, type(None)}

STRINGS: Final = {bytes}

pack: Final[Callable[[tuple[bytes, ...]], bytes]] = hiredis.pack_command  # type: ignore[assignment]
"""Encodes an array of strings, such as a request; the stub of hiredis declares another signature."""

LINE_END: Final = b"\r\n"
SHORT: Final = 1024
BULK_HEADS: Final = tuple(b"$%d\r\n" % size for size in range(SHORT))
"""The headers of short strings, by length."""

LARGE: Final = 64 * 1024
"""Strings of at least this many bytes are sent without being copied."""


def encode(value: Any, resp: int) -> Output:
    """The wire form of one reply.

    Args:
        value: a value that a command returned.
        resp: the version the client speaks, 2 or 3.
    """
    return ENCODERS[resp][type(value)](value)


def as_value(reply: Reply, resp: int) -> Value | Encoded:
    """A reply for a client that reads values: any that is no ``Value`` in its wire form."""
    kind = type(reply)
    if kind in SIMPLE:
        return reply  # type: ignore[return-value]
    if reply is OK:
        return b"OK"
    if reply is PONG:
        return b"PONG"
    if kind is list and SIMPLE.issuperset(map(type, reply)):  # type: ignore[arg-type]
        return reply.copy()  # type: ignore
    return Encoded(bytes(encode(reply, resp)))


def joined(parts: list[Output]) -> Output:
    """Concatenates parts; if one of them is ``Pieces``, without copying."""
    try:
        return kept(b"".join(parts))  # type: ignore[arg-type]
    except TypeError:
        return Pieces(parts)


def kept(whole: bytes) -> Output:
    """The same bytes; if they are large, as ``Pieces``, so that enclosing arrays do not copy them."""
    return whole if len(whole) < LARGE else Pieces((whole,))


def as_it_is(value: Encoded) -> bytes:
    return value


def string(text: bytes) -> Output:
    size = len(text)
    if size < SHORT:
        return BULK_HEADS[size] + text + LINE_END
    if size < LARGE:
        return b"$%d\r\n%b\r\n" % (size, text)
    return Pieces((b"$%d\r\n" % size, text, LINE_END))


def error(value: CommandError) -> bytes:
    return b"-%b\r\n" % one_line(value.message)


def items(head: bytes, values: Any, resp: int) -> Output:
    encoders = ENCODERS[resp]
    return joined([head, *[encoders[type(value)](value) for value in values]])


def array2(values: list[Any]) -> Output:
    if set(map(type, values)) == STRINGS:
        return strings(values)
    return items(b"*%d\r\n" % len(values), values, 2)


def array3(values: list[Any]) -> Output:
    if set(map(type, values)) == STRINGS:
        return strings(values)
    return items(b"*%d\r\n" % len(values), values, 3)


def strings(values: list[bytes]) -> Output:
    """An array of strings. Strings of equal length, as records and numbers often have, are joined faster."""
    size = len(values[0])
    if len(values[-1]) != size or set(map(len, values)) != {size}:
        return kept(pack(tuple(values)))
    head = b"$%d\r\n" % size
    return kept(b"*%d\r\n%b%b\r\n" % (len(values), head, (LINE_END + head).join(values)))


def entries(values: Entries) -> Output:
    parts: list[Output] = [b"*%d\r\n" % len(values)]
    for name, content in values:
        parts += b"*2\r\n$%d\r\n%b\r\n" % (len(name), name), kept(pack(tuple(content)))
    return joined(parts)


def flat_map2(pairs: Map) -> Output:
    flat = [part for pair in pairs.items() for part in pair]
    return array2(flat)


def map3(pairs: Map) -> Output:
    flat = [part for pair in pairs.items() for part in pair]
    return items(b"%%%d\r\n" % len(pairs), flat, 3)


def nested_map2(pairs: NestedMap) -> Output:
    return array2([list(pair) for pair in pairs])


def nested_map3(pairs: NestedMap) -> Output:
    flat = [part for pair in pairs for part in pair]
    return items(b"%%%d\r\n" % len(pairs), flat, 3)


def flat_pairs2(pairs: Pairs) -> Output:
    return array2([part for pair in pairs for part in pair])


def set3(values: Set) -> Output:
    return items(b"~%d\r\n" % len(values), values, 3)


def push3(values: Push) -> Output:
    return items(b">%d\r\n" % len(values), values, 3)


def bulk(text: bytes | bytearray) -> bytes:
    return b"".join((b"$%d\r\n" % len(text), text, b"\r\n"))


def double_text(value: float) -> bytes:
    """A double as Redis prints it: 17 significant digits."""
    return b"%.17g" % value


def double3(value: float) -> bytes:
    return b",%b\r\n" % double_text(value)


def verbatim3(text: Verbatim) -> bytes:
    return b"=%d\r\ntxt:%b\r\n" % (len(text) + 4, text)


Encoder: TypeAlias = Callable[[Any], Output]

INTEGER: Final[Encoder] = b":%d\r\n".__mod__

ENCODERS: Final[dict[int, dict[type, Encoder]]] = {
    2: {
        int: INTEGER,
        bytes: string,
        Encoded: as_it_is,
        type(None): lambda _: b"$-1\r\n",
        NullArray: lambda _: b"*-1\r\n",
        CommandError: error,
        list: array2,
        Entries: entries,
        Map: flat_map2,
        NestedMap: nested_map2,
        Set: array2,
        Pairs: flat_pairs2,
        Push: array2,
        float: lambda value: bulk(double_text(value)),
        DoubleText: bulk,
        Verbatim: bulk,
        PlainText: bulk,
        bytearray: bulk,
    },
    3: {
        int: INTEGER,
        bytes: string,
        Encoded: as_it_is,
        type(None): lambda _: b"_\r\n",
        NullArray: lambda _: b"_\r\n",
        CommandError: error,
        list: array3,
        Entries: entries,
        Map: map3,
        NestedMap: nested_map3,
        Set: set3,
        Pairs: lambda pairs: array3([list(pair) for pair in pairs]),
        Push: push3,
        float: double3,
        DoubleText: lambda text: b",%b\r\n" % text,
        Verbatim: verbatim3,
        PlainText: bulk,
        bytearray: bulk,
    },
}
