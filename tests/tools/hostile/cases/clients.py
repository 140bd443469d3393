"""Clients that behave badly: they leave midway, never read, send by single bytes, and hoard."""

from __future__ import annotations

from typing import Final

from conformance.wire import encode

from ..case import Case, commands

__all__ = ["CLIENTS"]

SET_LARGE: Final = encode("SET", "large", "x" * 300_000)
MANY: Final = [str(number) for number in range(5000)]
SMALL_LIMIT: Final = ("CONFIG SET client-query-buffer-limit 1048576",)
USUAL_LIMIT: Final = ("CONFIG SET client-query-buffer-limit 1073741824",)
SMALL_BULK: Final = ("CONFIG SET proto-max-bulk-len 1048576",)
USUAL_BULK: Final = ("CONFIG SET proto-max-bulk-len 536870912",)


def bytewise(data: bytes) -> tuple[bytes, ...]:
    return tuple(data[at : at + 1] for at in range(len(data)))


def limited(name: str, *pieces: bytes) -> Case:
    return Case(f"query buffer of 1 MiB: {name}", pieces, before=SMALL_LIMIT, after=USUAL_LIMIT)


def small(name: str, text: str) -> Case:
    return Case(f"values up to 1 MiB: {name}", (commands(text),), before=SMALL_BULK, after=USUAL_BULK)


LEAVING: Final = [
    Case("leaves: half-closes at once", (), "half-closes"),
    Case("leaves: half-closes behind a request", (encode("PING"),), "half-closes"),
    Case("leaves: half-closes in a line", (b"PI",), "half-closes"),
    Case("leaves: half-closes in a frame", (b"*2\r\n$4\r\nECHO\r\n$10\r\nabc",), "half-closes"),
    Case("leaves: half-closes while blocked", (commands("BLPOP empty 0"),), "half-closes"),
    Case("leaves: half-closes in a transaction", (commands("MULTI | SET k v"),), "half-closes"),
    Case(
        "leaves: half-closes behind large replies", (SET_LARGE + encode("GET", "large") * 5,), "half-closes"
    ),
    Case("leaves: resets at once", (), "resets"),
    Case("leaves: resets behind a request", (encode("PING"),), "resets"),
    Case("leaves: resets in a count", (b"*1",), "resets"),
    Case("leaves: resets in a length", (b"*1\r\n$1",), "resets"),
    Case("leaves: resets in an argument", (b"*1\r\n$1000000\r\nabc",), "resets"),
    Case("leaves: resets in a large argument", (b"*1\r\n$1000000\r\n" + b"x" * 500_000,), "resets"),
    Case("leaves: resets while blocked", (commands("BLPOP empty 0"),), "resets"),
    Case("leaves: resets while blocked in many keys", (encode("BLPOP", *MANY, "0"),), "resets"),
    Case("leaves: resets in a transaction that watches", (commands("WATCH k | MULTI | SET k v"),), "resets"),
    Case(
        "leaves: resets in the middle of a reply", (SET_LARGE + encode("GET", "large") * 30,), "never reads"
    ),
    Case(
        "leaves: resets while subscribed",
        (commands("SUBSCRIBE a b | PSUBSCRIBE * | SSUBSCRIBE c"),),
        "resets",
    ),
    Case(
        "leaves: resets while it tracks keys",
        (commands("CLIENT TRACKING ON BCAST PREFIX a | GET k"),),
        "resets",
    ),
    Case("leaves: says QUIT and goes on", (commands("QUIT | SET k v"), commands("SET k v")), "closes"),
    Case("leaves: resets behind a protocol error", (b"*1\r\n:1\r\n",), "resets"),
]

UNREAD: Final = [
    Case("never reads: ten thousand PINGs", (encode("PING") * 10_000,), "never reads"),
    Case("never reads: a hundred large replies", (SET_LARGE + encode("GET", "large") * 100,), "never reads"),
    Case("never reads: large replies, then an error", (SET_LARGE + encode("GET", "large") * 30 + b"*1\r\n:\r\n",), "never reads"),
    Case("never reads: large replies, then QUIT", (SET_LARGE + encode("GET", "large") * 30 + encode("QUIT"),), "never reads"),
    Case("never reads: large replies, then BLPOP", (SET_LARGE + encode("GET", "large") * 30 + commands("BLPOP empty 0"),), "never reads"),
    Case("never reads: MONITOR", (commands("MONITOR"),), "never reads"),
    Case("never reads: messages to itself", (commands("HELLO 3 | SUBSCRIBE x") + encode("PUBLISH", "x", "y" * 300_000) * 100,), "never reads"),
    Case("never reads: ten thousand errors", (encode("nosuch", "x" * 100) * 10_000,), "never reads"),
]  # fmt: skip

SLOW: Final = [
    Case("byte by byte: a request", bytewise(encode("ECHO", "a\r\nb"))),
    Case("byte by byte: a line", bytewise(b"ECHO 'a b'\r\n")),
    Case("byte by byte: a wrong length", bytewise(b"*1\r\n$x\r\n")),
    Case("byte by byte: a wrong type", bytewise(b"*2\r\n$4\r\nECHO\r\n:1\r\n")),
    Case("byte by byte: a POST", bytewise(b"POST /\r\n")),
    Case("byte by byte: a transaction", bytewise(commands("MULTI | PING | EXEC"))),
    Case("byte by byte: behind a blocking command", (commands("BLPOP empty 0"), *bytewise(encode("PING")))),
    Case("by halves: a large argument", (SET_LARGE[:150_000], SET_LARGE[150_000:] + encode("PING"))),
    Case("by halves: a large argument's line end", (SET_LARGE[:-1], SET_LARGE[-1:] + encode("PING"))),
    Case("by halves: between CR and LF of a length", (b"*1\r\n$4\r", b"\nPING\r\n")),
    Case("by halves: between an argument and its end", (b"*1\r\n$4\r\nPING", b"\r\n")),
]

HOARDERS: Final = [
    Case("hoards: BLPOP of five thousand keys", (encode("BLPOP", *MANY, "0"),)),
    Case("hoards: BLPOP of one key, five thousand times", (encode("BLPOP", *["k"] * 5000, "0"),)),
    Case("hoards: BLPOP of five thousand keys in a transaction", (commands("MULTI") + encode("BLPOP", *MANY, "0") + commands("EXEC"),)),
    Case("hoards: BLMPOP of five thousand keys", (encode("BLMPOP", "0", "5000", *MANY, "LEFT"),)),
    Case("hoards: WATCH of five thousand keys", (encode("WATCH", *MANY) + commands("SET 4999 x | MULTI | PING | EXEC"),)),
    Case("hoards: WATCH of one key, five thousand times", (commands("WATCH k") * 5000 + commands("MULTI | PING | EXEC"),)),
    Case("hoards: a thousand channels", (encode("SUBSCRIBE", *MANY[:1000]),)),
    Case("hoards: one channel, a thousand times", (encode("SUBSCRIBE", *["x"] * 1000) + commands("PING | UNSUBSCRIBE x | PING"),)),
    Case("hoards: a thousand patterns", (commands("HELLO 3") + encode("PSUBSCRIBE", *[f"{each}*" for each in MANY[:1000]]) + commands("PUBLISH 999 x"),), in_order=False),
    Case("hoards: a pattern of a megabyte", (commands("HELLO 3") + encode("PSUBSCRIBE", "[ab]" * 250_000) + commands("PUBLISH a x"),)),
    Case("hoards: a channel of a megabyte", (commands("HELLO 3") + encode("SUBSCRIBE", "x" * 1_000_000) + encode("PUBLISH", "x" * 1_000_000, "y"),)),
    Case("hoards: five thousand keys tracked", (commands("HELLO 3 | CLIENT TRACKING ON") + encode("MGET", *MANY) + commands("FLUSHALL"),)),
    Case("hoards: a transaction of ten thousand", (commands("MULTI") + encode("PING") * 10_000 + commands("EXEC"),)),
    Case("hoards: a transaction of ten thousand that fail", (commands("MULTI") + commands("INCR nosuch x") * 10_000 + commands("EXEC"),)),
    Case("hoards: a transaction of ten thousand that fail when run", (commands("RPUSH l a | MULTI") + commands("INCR l") * 10_000 + commands("EXEC"),)),
    Case("hoards: a thousand transactions discarded", (commands("MULTI | PING | DISCARD") * 1000,)),
    Case("hoards: a thousand MULTIs", (commands("MULTI") * 1000 + commands("EXEC"),)),
    Case("hoards: requests behind a command that blocks", (commands("BLPOP empty 0") + encode("PING") * 10_000,)),
    Case("hoards: a megabyte behind a command that blocks", (commands("BLPOP empty 0") + b"x" * (1 << 20),)),
]  # fmt: skip

LIMITS: Final = [
    limited("an argument that fits", encode("SET", "k", "x" * 1_048_574) + encode("PING")),
    limited("an argument that fits but for its end", encode("SET", "k", "x" * 1_048_575) + encode("PING")),
    limited("an argument that does not fit", encode("SET", "k", "x" * 1_048_577) + encode("PING")),
    Case(
        "query buffer of 1 MiB: three arguments that fit",
        (encode("SET", "k", "x" * 1_048_574) * 3,),
        before=SMALL_LIMIT,
        after=USUAL_LIMIT,
        may_differ="behind a large argument Redis reads as much as its allocator left room for",
    ),
    limited("a pipeline of 2 MB", encode("PING") * 150_000),
    limited("2 MB in a transaction", commands("MULTI") + encode("SET", "k", "x" * 500_000) * 4 + commands("EXEC")),
    limited("2 MB behind a command that blocks", commands("BLPOP empty 0") + encode("PING") * 150_000),
    limited("2 MB of arguments", encode("DEL", *["x" * 30_000] * 70)),
    limited("2 MB of short arguments", encode("DEL", *["x" * 10] * 120_000)),
    limited("a reply, then an argument that does not fit", encode("PING"), encode("SET", "k", "x" * 2_000_000)),
    small("an argument that is too long", f"ECHO {'x' * 1_048_577} | PING"),
    small("an argument that is not", f"STRLEN {'x' * 1_048_576} | PING"),
    small("SETRANGE up to the end", "SETRANGE k 1048575 x | STRLEN k | SETRANGE k 1048576 x"),
    small("SETBIT up to the end", "SETBIT k 8388607 1 | STRLEN k | SETBIT k 8388608 1 | GETBIT k 8388608"),
    small("BITFIELD up to the end", "BITFIELD k SET u8 8388600 1 | BITFIELD k SET u8 8388608 1 | BITFIELD k GET u8 8388608"),
    small("BITFIELD across the end", "BITFIELD k SET u8 8388604 255 | STRLEN k"),
    small("APPEND up to the end", "SETRANGE k 1048574 x | APPEND k x | APPEND k x | STRLEN k"),
    small("LCS of the longest", "SETRANGE a 999 x | SETRANGE b 999 x | LCS a b LEN"),
]  # fmt: skip

CLIENTS: Final[list[Case]] = [*LEAVING, *UNREAD, *SLOW, *HOARDERS, *LIMITS]
