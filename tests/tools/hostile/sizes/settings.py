"""What there is on a server before a request: a key of many elements, many keys, subscriptions, clients.

A setting makes the requests that build it for a number of elements. What is a key is built once in the last
database and copied from there, which is quicker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from conformance.wire import encode

from .values import latitude, longitude

__all__ = ["BY_COMMAND", "BY_GROUP", "NOTHING", "SETTINGS", "Setting"]

Build = Callable[[int], Iterator[bytes]]

PIECE: Final = 500
"""Elements in one request that builds a key."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Something of a size.

    Attributes:
        name: for people.
        build: the requests that build it; the key's name is ``k``.
        is_key: it is one key, which can be copied.
        stays: the connection that built it must stay open meanwhile.
        most: how large it may be.
    """

    name: str
    build: Build
    is_key: bool = True
    stays: bool = False
    most: int = 10_000_000


def in_pieces(*words: bytes, each: Callable[[int], tuple[bytes, ...]]) -> Build:
    """Builds with requests of many elements each."""

    def build(n: int) -> Iterator[bytes]:
        for at in range(0, n, PIECE):
            yield encode(*words, *(word for i in range(at, min(at + PIECE, n)) for word in each(i)))

    return build


def one_by_one(*before: tuple[bytes, ...], each: Callable[[int], tuple[bytes, ...]]) -> Build:
    """Builds with a request for each element, after some others."""

    def build(n: int) -> Iterator[bytes]:
        for words in before:
            yield encode(*words)
        for i in range(n):
            yield encode(*each(i))

    return build


def text(content: bytes) -> Build:
    return lambda n: iter([encode(b"SET", b"k", content * n)])


def entries(n: int) -> Iterator[bytes]:
    yield encode(b"XGROUP", b"CREATE", b"k", b"g", b"0", b"MKSTREAM")
    for i in range(n):
        yield encode(b"XADD", b"k", b"%d-1" % (i + 1), b"f", b"e%d" % i)


def pending(n: int) -> Iterator[bytes]:
    yield from entries(n)
    yield encode(b"XREADGROUP", b"GROUP", b"g", b"c0", b"STREAMS", b"k", b">")


ALL: Final = [
    Setting("a string", text(b"x")),
    Setting("a string of digits", text(b"9")),
    Setting("zero bytes", text(b"\0")),
    Setting("ones", text(b"\xff")),
    Setting("a list", in_pieces(b"RPUSH", b"k", each=lambda i: (b"e%d" % i,))),
    Setting("a list of one value", in_pieces(b"RPUSH", b"k", each=lambda _: (b"e1",))),
    Setting("a hash", in_pieces(b"HSET", b"k", each=lambda i: (b"e%d" % i, b"%d" % i))),
    Setting("a set", in_pieces(b"SADD", b"k", each=lambda i: (b"e%d" % i,))),
    Setting("a set of numbers", in_pieces(b"SADD", b"k", each=lambda i: (b"%d" % i,))),
    Setting("a sorted set", in_pieces(b"ZADD", b"k", each=lambda i: (b"%d" % i, b"e%d" % i))),
    Setting("members of one score", in_pieces(b"ZADD", b"k", each=lambda i: (b"0", b"e%d" % i))),
    Setting("a stream", entries),
    Setting("pending entries", pending),
    Setting(
        "consumers",
        one_by_one(
            (b"XGROUP", b"CREATE", b"k", b"g", b"0", b"MKSTREAM"),
            each=lambda i: (b"XGROUP", b"CREATECONSUMER", b"k", b"g", b"c%d" % i),
        ),
        most=100_000,
    ),
    Setting(
        "groups",
        one_by_one(
            (b"XADD", b"k", b"1-1", b"f", b"v"),
            (b"XGROUP", b"CREATE", b"k", b"g", b"0"),
            each=lambda i: (b"XGROUP", b"CREATE", b"k", b"g%d" % i, b"0"),
        ),
        most=100_000,
    ),
    Setting("a HyperLogLog", in_pieces(b"PFADD", b"k", each=lambda i: (b"e%d" % i,)), most=100_000),
    Setting(
        "places", in_pieces(b"GEOADD", b"k", each=lambda i: (longitude(i, 0), latitude(i, 0), b"e%d" % i))
    ),
    Setting("one place", in_pieces(b"GEOADD", b"k", each=lambda i: (b"1", b"2", b"e%d" % i))),
    Setting("keys", in_pieces(b"MSET", each=lambda i: (b"k%d" % i, b"v")), is_key=False),
    Setting(
        "channels", in_pieces(b"SUBSCRIBE", each=lambda i: (b"e%d" % i,)), is_key=False, stays=True
    ),
    Setting(
        "patterns", in_pieces(b"PSUBSCRIBE", each=lambda i: (b"f%d*" % i,)), is_key=False, stays=True,
        most=10_000,
    ),
    Setting(
        "scripts", one_by_one(each=lambda i: (b"SCRIPT", b"LOAD", b"return %d" % i)), is_key=False, most=1000
    ),
]  # fmt: skip

SETTINGS: Final[Mapping[str, Setting]] = {setting.name: setting for setting in ALL}
NOTHING: Final = Setting("nothing", lambda _: iter(()), is_key=False)

KINDS: Final = ("a string", "a list", "a hash", "a set", "a sorted set", "a stream")

BY_GROUP: Final[Mapping[str, tuple[str, ...]]] = {
    "list": ("a list", "a list of one value"),
    "hash": ("a hash",),
    "set": ("a set", "a set of numbers"),
    "sorted-set": ("a sorted set", "members of one score"),
    "geo": ("places", "one place"),
    "stream": ("a stream", "pending entries"),
    "string": ("a string", "a string of digits"),
    "bitmap": ("zero bytes", "ones"),
    "hyperloglog": ("a HyperLogLog",),
    "generic": KINDS,
    "pubsub": ("channels", "patterns"),
}
"""What the commands of a group work on."""

BY_COMMAND: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("keys", "scan", "randomkey", "dbsize", "flushdb", "flushall", "swapdb", "info"), ("keys",)
    ),
    **dict.fromkeys(("xinfo|consumers", "xinfo|stream", "xgroup|delconsumer"), ("a stream", "consumers")),
    **dict.fromkeys(("xinfo|groups", "xgroup|destroy"), ("groups",)),
    **dict.fromkeys(("memory|usage", "debug", "watch"), KINDS),
    **dict.fromkeys(("sort", "sort_ro"), ("a list", "a set", "a set of numbers", "a sorted set")),
    **dict.fromkeys(("script|exists", "script|flush", "script|load", "evalsha"), ("scripts",)),
    **dict.fromkeys(("mget", "mset", "msetnx"), ("a string", "keys")),
    "lcs": ("a string",),
    "sinter": ("a set", "a set of numbers"),
    "pfdebug": ("a HyperLogLog",),
    "wait": (),
}
"""What single commands work on, where their group tells too little."""
