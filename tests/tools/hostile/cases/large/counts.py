"""Very many: keys, arguments, scripts, subscriptions, prefixes, commands in a transaction, and elements of a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from conformance.wire import encode

from ...case import commands
from .model import Sized, of_table, repeat

__all__ = ["MANY_ELEMENTS", "MANY_WORDS"]

Make = Callable[[int], Iterator[bytes]]

KEYED: Final[dict[str, Callable[[int], list[bytes]]]] = {
    "keys of MSET": repeat("MSET", "...", by="{} v"),
    "keys of MSETNX": repeat("MSETNX", "...", by="{} v"),
    "keys of MGET": repeat("MGET", "..."),
    "keys of DEL": repeat("DEL", "..."),
    "keys of EXISTS": repeat("EXISTS", "..."),
    "keys of SUNION": repeat("SUNION", "..."),
    "keys of SDIFFSTORE": repeat("SDIFFSTORE", "to", "..."),
    "keys of BITOP": repeat("BITOP", "OR", "to", "..."),
    "keys of PFCOUNT": repeat("PFCOUNT", "..."),
    "keys of PFMERGE": repeat("PFMERGE", "to", "..."),
    "keys of BLPOP": repeat("BLPOP", "...", "0"),
    "keys of BLPOP, all the same": repeat("BLPOP", "...", "0", by="k"),
    "arguments of PING": repeat("PING", "..."),
    "arguments of a name that is not there": repeat("nosuch", "..."),
    "options of SET": repeat("SET", "k", "v", "...", by="NX"),
    "options of SORT": repeat("SORT", "k", "...", by="GET #"),
    "options of SCAN": repeat("SCAN", "0", "...", by="COUNT 1"),
    "options of ZADD": repeat("ZADD", "z", "...", by="CH"),
    "names of COMMAND INFO": repeat("COMMAND", "INFO", "..."),
    "numbers of CLIENT LIST": repeat("CLIENT", "LIST", "ID", "...", by="9999999{}"),
    "filters of CLIENT KILL": repeat("CLIENT", "KILL", "...", by="ID 99999999"),
    "directives of CONFIG SET": repeat("CONFIG", "SET", "...", by="nosuch{} 1"),
    "directives of CONFIG SET, all the same": repeat("CONFIG", "SET", "...", by="maxmemory 0"),
    "digests of SCRIPT EXISTS": repeat("SCRIPT", "EXISTS", "..."),
    "channels of SUBSCRIBE, all the same": repeat("SUBSCRIBE", "...", by="x"),
    "channels of SSUBSCRIBE": repeat("SSUBSCRIBE", "..."),
    "channels of PUBSUB NUMSUB": repeat("PUBSUB", "NUMSUB", "..."),
    "elements of RPUSH": repeat("RPUSH", "k", "..."),
    "elements of LPUSH": repeat("LPUSH", "k", "..."),
    "members of SADD": repeat("SADD", "k", "..."),
    "members of SADD, not all numbers": repeat("SADD", "k", "...", by="m{}"),
    "members of PFADD": repeat("PFADD", "k", "..."),
    "members of SMISMEMBER": repeat("SMISMEMBER", "k", "..."),
    "fields of HSET": repeat("HSET", "k", "...", by="{} v"),
    "fields of HMGET": repeat("HMGET", "k", "..."),
    "fields of XADD": repeat("XADD", "k", "1-1", "...", by="f{} v"),
    "ids of XDEL": repeat("XDEL", "k", "...", by="{}-1"),
    "members of ZADD, all of one score": repeat("ZADD", "k", "...", by="0 m{}"),
    "members of ZMSCORE": repeat("ZMSCORE", "k", "..."),
    "members of GEOADD": repeat("GEOADD", "k", "...", by="1.5 2.5 m{}"),
}  # fmt: skip
"""One command of very many words, on nothing."""


def with_count(name: str, *rest: str) -> Make:
    def make(size: int) -> Iterator[bytes]:
        yield encode(*name.split(" "), str(size), *map(str, range(size)), *rest)

    return make


def each(line: str, first: str = "", last: str = "") -> Make:
    """As many commands, ``{}`` in each its number, between others."""

    def make(size: int) -> Iterator[bytes]:
        yield commands(first) if first else b""
        for at in range(0, size, 10_000):
            numbers = range(at, min(at + 10_000, size))
            yield b"".join([encode(*line.replace("{}", str(number)).split(" ")) for number in numbers])
        yield commands(last) if last else b""

    return make


def then(make: Callable[[int], list[bytes]], *lines: str) -> Make:
    """A command of very many words, and others behind it."""
    return lambda size: iter((*make(size), *map(commands, lines)))


REPEATED: Final[dict[str, Make]] = {
    "keys of ZUNION": with_count("ZUNION"),
    "keys of SINTERCARD": with_count("SINTERCARD"),
    "keys of LMPOP": with_count("LMPOP", "LEFT"),
    "keys of BLMPOP": with_count("BLMPOP 0", "LEFT"),
    "keys of a script": with_count("EVAL return(#KEYS)"),
    "keys that expire": each("SET {} v EX 1000", last="DBSIZE | FLUSHALL"),
    "keys of each type that are there": each("SADD k{} a", last="DBSIZE | KEYS nosuch*"),
    "scripts": each("SCRIPT LOAD return({})", last="EVAL return(7) 0 | SCRIPT FLUSH"),
    "scripts that run": each("EVAL return({}) 0", last="EVAL return(7) 0 | SCRIPT FLUSH"),
    "commands in a transaction": each("SET {} v", "MULTI", "EXEC | DBSIZE"),
    "commands in a transaction that fail": each("INCR l", "RPUSH l a | MULTI", "EXEC"),
    "pops in a transaction": each("LPOP l", "RPUSH l a | MULTI", "EXEC"),
    "keys of WATCH, one by one": each("WATCH {}", last="SET 7 x | MULTI | PING | EXEC"),
    "subscriptions, one by one": each("SUBSCRIBE {}", "HELLO 3", "PUBLISH 7 x | UNSUBSCRIBE 7 | PUBSUB NUMSUB 8 | PING"),
    "subscriptions to shard channels, one by one": each("SSUBSCRIBE {}", "HELLO 3", "SPUBLISH 7 x | SUNSUBSCRIBE 7"),
    "keys that are tracked": each("GET {}", "HELLO 3 | CLIENT TRACKING ON", "SET 7 x"),
    "tracking turned on and off": each("CLIENT TRACKING ON BCAST PREFIX {}", "HELLO 3", "SET 7 x | CLIENT TRACKING OFF"),
    "blocked for a key, in a transaction": each("BLPOP k{} 0", "MULTI", "EXEC"),
    "members of ZADD, which are read": then(repeat("ZADD", "k", "...", by="{} m{}"), "ZRANGE k 0 -1 WITHSCORES", "ZRANGEBYSCORE k -inf +inf"),
    "channels of SUBSCRIBE, which are left": then(repeat("SUBSCRIBE", "..."), "UNSUBSCRIBE 5", "RESET", "PING"),
}  # fmt: skip

QUADRATIC: Final[dict[str, Callable[[int], list[bytes]] | Make]] = {
    "keys of WATCH": repeat("WATCH", "..."),
    "patterns of PSUBSCRIBE": then(repeat("PSUBSCRIBE", "...", by="{}*"), "PUBLISH 7 x"),
    "prefixes that are tracked": lambda size: [
        commands("HELLO 3"),
        encode(
            "CLIENT", "TRACKING", "ON", "BCAST", *(w for n in range(size) for w in ("PREFIX", f"p{n:07}"))
        ),
        commands("SET p0000007 x"),
    ],
}
"""What a real Redis, too, is the slower at the more there are."""

OPERATIONS: Final = {"operations of BITFIELD": repeat("BITFIELD", "k", "...", by="INCRBY u8 {} 1")}
"""What has more to do for each word than others."""

MANY_WORDS: Final[list[Sized]] = [
    *of_table("very many", {**KEYED, **REPEATED}, small=1000, large=(100_000,), in_order=False),
    *of_table("very many", OPERATIONS, small=1000, large=(30_000,)),
    *of_table("very many", QUADRATIC, small=1000, large=(10_000, 50_000), in_order=False),
]


def filled(line: str, *lines: str) -> Make:
    """A key of very many elements, ``{}`` in each its number, and commands that go through it."""
    head, by = line.split(" ... ")

    def make(size: int) -> Iterator[bytes]:
        for at in range(0, size, 10_000):
            numbers = range(at, min(at + 10_000, size))
            many = [part.replace("{}", str(number)) for number in numbers for part in by.split(" ")]
            yield encode(*head.split(" "), *many)
        for each_line in lines:
            yield commands(each_line.replace("{half}", str(size // 2)).replace("{all}", str(size)))

    return make


ELEMENTS: Final[dict[str, Make]] = {
    "a list, read": filled("RPUSH k ... {}", "LRANGE k 0 -1", "LINDEX k {half}", "LPOS k nosuch", "LPOS k 7 COUNT 0", "LLEN k"),
    "a list, changed": filled(
        "RPUSH k ... {}", "LSET k {half} x", "LINSERT k BEFORE x y", "LREM k 0 nosuch", "LREM k -1 7", "LTRIM k 10 -10",
        "COPY k m", "RENAME k n", "LMOVE n m LEFT RIGHT", "LPOP m {half}", "DEL n",
    ),
    "a set": filled(
        "SADD k ... m{}", "SCARD k", "SMEMBERS k", "SISMEMBER k m7", "COPY k m", "SINTERSTORE to k m", "SDIFF k m", "SUNIONSTORE to k m",
        "SPOP k {all}", "DEL m",
    ),
    "a set of numbers": filled("SADD k ... {}", "SCARD k", "SMEMBERS k", "SREM k 7", "SINTERCARD 2 k k"),
    "a hash": filled("HSET k ... f{} {}", "HLEN k", "HGETALL k", "HVALS k", "HINCRBY k f7 1", "HDEL k f8", "COPY k m", "UNLINK k"),
    "a sorted set": filled(
        "ZADD k ... {} m{}", "ZCARD k", "ZRANGE k 0 -1", "ZRANK k m7", "ZCOUNT k 10 {half}", "ZREMRANGEBYRANK k 10 20", "ZADD k 5 m9",
        "ZUNIONSTORE to 1 k", "ZREVRANGEBYSCORE k +inf -inf LIMIT {half} 5", "ZPOPMAX k {half}", "DEL k",
    ),
    "a sorted set of one score": filled("ZADD k ... 0 m{}", "ZRANGEBYLEX k [m5 [m6", "ZLEXCOUNT k - +", "ZREMRANGEBYLEX k [m1 [m2"),
    "keys": filled("MSET ... {} v", "DBSIZE", "KEYS nosuch*", "SWAPDB 0 1", "DBSIZE", "SWAPDB 0 1", "FLUSHALL", "DBSIZE"),
    "a list, sorted": filled("RPUSH k ... {}", "SORT k LIMIT {half} 3", "SORT k DESC LIMIT 0 2", "SORT k STORE to"),
}  # fmt: skip

STREAMS: Final[dict[str, Make]] = {
    "a stream": each(
        "XADD k {}-1 f v", last="XLEN k | XRANGE k 5 + COUNT 2 | XREVRANGE k + - COUNT 1 | XRANGE k - + | XGROUP CREATE k g 0 | "
        "XREADGROUP GROUP g c STREAMS k > | XPENDING k g | XACK k g 7-1 | XDEL k 9-1 | XTRIM k MAXLEN 10 | XLEN k",
    ),
}  # fmt: skip

MANY_ELEMENTS: Final[list[Sized]] = [
    *of_table("elements", ELEMENTS, small=5000, large=(1_000_000,), in_order=False),
    *of_table("elements", STREAMS, small=2000, large=(1_000_000,)),
]
