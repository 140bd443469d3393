"""Long words: numbers and patterns wherever a command takes one, and values of megabytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from conformance.wire import encode

from ...case import commands
from ..counts import GIVEN, PLACES
from .model import Sized, of_table

__all__ = ["LONG_NUMBERS", "LONG_PATTERNS", "LONG_VALUES"]

Make = Callable[[int], Iterator[bytes]]

# Numbers

OTHERS: Final = commands(
    "ZADD scores 1 a 2 b 3 c | HSET hash f 1 | GEOADD places 13.4 52.5 berlin 2.3 48.9 paris | XADD stream 1-1 f v"
    " | XGROUP CREATE stream g 0 | SADD set 1 2 3"
)

DECIMALS: Final = (
    "ZADD scores {} m", "ZADD scores INCR {} m", "ZINCRBY scores {} a", "ZRANGEBYSCORE scores {} 3",
    "ZRANGEBYSCORE scores -inf ({}", "ZCOUNT scores -inf {}", "ZRANGE scores {} 2 BYSCORE", "ZREMRANGEBYSCORE scores {} 0",
    "ZUNION 1 scores WEIGHTS {}", "ZINTERSTORE to 1 scores WEIGHTS {}", "ZRANGEBYSCORE scores 0 1 LIMIT {} 1",
    "ZPOPMIN empty {}", "ZRANDMEMBER scores {}", "ZINTERCARD 1 scores LIMIT {}", "BZPOPMIN empty {}", "BZMPOP {} 1 empty MIN",
    "HINCRBYFLOAT hash f {}", "HINCRBY hash f {}", "HRANDFIELD hash {}", "GEOADD places {} 52.5 m", "GEOADD places 13.4 {} m",
    "GEOSEARCH places FROMLONLAT {} 52 BYRADIUS 1 km", "GEOSEARCH places FROMMEMBER berlin BYRADIUS {} km",
    "GEOSEARCH places FROMMEMBER berlin BYBOX 1 {} km", "GEORADIUS places 13 52 {} km", "XADD stream {} f v", "XADD stream 5-{} f v",
    "XADD stream MAXLEN {} * f v", "XRANGE stream {} +", "XRANGE stream - {} COUNT 1", "XREAD COUNT {} STREAMS stream 0",
    "XREAD STREAMS stream {}", "XTRIM stream MINID {}", "XCLAIM stream g c {} 1-1", "XAUTOCLAIM stream g c 0 {}",
    "XSETID stream {}", "XPENDING stream g IDLE {} - + 1", "SPOP empty {}", "SRANDMEMBER set {}", "OBJECT FREQ {}",
    "CLIENT PAUSE {}", "SCRIPT EXISTS {}", "EVAL {} 0", "FCALL f {}", "MEMORY USAGE text SAMPLES {}", "CONFIG SET hz {}", "CONFIG SET timeout {}",
)  # fmt: skip
"""What reads a number, beside what ``counts`` has."""

NUMBERS: Final[dict[str, Callable[[int], str]]] = {
    "digits": lambda size: "9" * size,
    "digits and a letter": lambda size: "9" * size + "x",
    "zeros and a digit": lambda size: "0" * size + "1",
    "a fraction": lambda size: "1." + "9" * size,
    "a fraction and a letter": lambda size: "." + "9" * size + "x",
    "an exponent": lambda size: "1e" + "9" * size,
    "spaces and a digit": lambda size: " " * size + "1",
    "hexadecimal digits and a letter": lambda size: "0x" + "f" * size + "g",
}


def numbers(form: Callable[[int], str]) -> Make:
    def make(size: int) -> Iterator[bytes]:
        yield GIVEN + OTHERS
        number = form(size)
        for line in (*PLACES.values(), *DECIMALS):
            if line not in BLOCKS:
                yield encode(*(word.replace("{}", number) for word in line.split(" ")))
        yield encode("RPUSH", "stored", "1", number) + commands("SORT stored")
        yield encode("SET", "w_1", number) + commands("SORT list BY w_*") + encode("INCR", "w_1")

    return make


BLOCKS: Final = frozenset(line for line in PLACES.values() if line.startswith(("SLOWLOG", "SCAN {}")))
"""What answers by its own lights."""

LONG_NUMBERS: Final = of_table(
    "long numbers",
    {name: numbers(form) for name, form in NUMBERS.items()},
    small=10_000,
    large=(10_000, 1_000_000),
)

# Patterns

KEYS: Final = (
    *(encode("SET", "a" * length, "x") for length in (1, 100, 2000)),
    encode("SET", "k", "x"),
    commands(
        "HSET hash aaaaaaaaaa 1 k 2 | SADD set aaaaaaaaaa k | ZADD scores 1 aaaaaaaaaa 2 k | RPUSH list k a"
    ),
    commands("HELLO 3"),
)

TAKES_PATTERN: Final = (
    "KEYS {}", "SCAN 0 MATCH {} COUNT 1000", "HSCAN hash 0 MATCH {}", "SSCAN set 0 MATCH {}", "ZSCAN scores 0 MATCH {}",
    "CONFIG GET {}nosuch", "PSUBSCRIBE {}", "PUBLISH aaaaaaaaaaaaaaaaaaaaaaaa x", "PUNSUBSCRIBE {}", "SUBSCRIBE aaaaaaaaaaaaaaaaaaaaaaaa",
    "PUBSUB CHANNELS {}", "PUBSUB SHARDCHANNELS {}", "COMMAND LIST FILTERBY PATTERN {}nosuch", "FUNCTION LIST LIBRARYNAME {}",
    "SORT list BY {} ALPHA", "SORT list GET {} ALPHA",
)  # fmt: skip

PATTERNS: Final[dict[str, Callable[[int], str]]] = {
    "stars": lambda size: "*" * size,
    "stars and letters": lambda size: "a*" * size + "b",
    "stars and question marks": lambda size: "*?" * size + "b",
    "stars and letters that fit": lambda size: "*a" * 90 + "*" * size,
    "stars and classes": lambda size: "*[ab]" * size + "c",
    "classes that are open": lambda size: "[a" * size,
    "a class of many": lambda size: "[" + "bc" * size + "a]*",
    "backslashes": lambda size: "\\" * size + "*",
}


def patterns(form: Callable[[int], str]) -> Make:
    def make(size: int) -> Iterator[bytes]:
        yield b"".join(KEYS)
        pattern = form(size)
        for line in TAKES_PATTERN:
            yield encode(*(word.replace("{}", pattern) for word in line.split(" ")))

    return make


LONG_PATTERNS: Final = of_table(
    "long patterns",
    {name: patterns(form) for name, form in PATTERNS.items()},
    small=1000,
    large=(10_000,),
    in_order=False,
)

# Values

MEGABYTE: Final = 1_000_000


def values(*lines: str) -> Make:
    """The commands, one after the other, with a value in place of ``{}``."""

    def make(size: int) -> Iterator[bytes]:
        value = b"v" * size
        for line in lines:
            yield encode(*(value if word == "{}" else word for word in line.split(" ")))

    return make


def promised(size: int) -> Iterator[bytes]:
    """A header that announces half a gigabyte, and some of it."""
    yield b"*2\r\n$4\r\nECHO\r\n$536870912\r\n" + b"x" * size


def promised_arguments(size: int) -> Iterator[bytes]:
    """A header that announces a million arguments, and some of them."""
    yield b"*1000000\r\n$4\r\nMGET\r\n" + b"$10\r\nxxxxxxxxxx\r\n" * min(size // 17, 999_998)


def in_a_line(size: int) -> Iterator[bytes]:
    yield b"ECHO " + b"x" * size + b"\r\n"


VALUES: Final[dict[str, Make]] = {
    "SET and GET": values("SET k {}", "GET k", "STRLEN k", "GETDEL k"),
    "APPEND": values("APPEND k {}", "APPEND k x", "APPEND k {}", "STRLEN k", "GETRANGE k -3 -1"),
    "SETRANGE": values("SETRANGE k 10 {}", "SETRANGE k 5 x", "GETRANGE k 0 100", "BITCOUNT k", "BITPOS k 1"),
    "lists": values("LPUSH l {}", "LPUSH l a {}", "RPOP l", "RPOPLPUSH l m", "LINDEX l 0", "LSET l 0 {}", "LPOS l {}", "BLPOP l 0"),
    "hashes": values("HSET h f {}", "HGET h f", "HSTRLEN h f", "HSET h {} f", "HEXISTS h {}", "HDEL h {}"),
    "sets": values("SADD s {}", "SISMEMBER s {}", "SMOVE s t {}", "SPOP t"),
    "sorted sets": values("ZADD z 1 {}", "ZSCORE z {}", "ZADD z 2 a", "ZRANGEBYLEX z - +", "ZPOPMIN z"),
    "streams": values("XADD x 1-1 f {}", "XRANGE x - +", "XLEN x", "XDEL x 1-1"),
    "keys": values("SET {} v", "GET {}", "EXISTS {}", "RENAME {} k", "COPY k {}", "DEL {}"),
    "a transaction": values("MULTI", "SET k {}", "GET k", "RPUSH l {}", "LPOP l", "EXEC"),
    "WATCH": values("WATCH {}", "SET {} x", "MULTI", "GET {}", "EXEC"),
    "a transaction discarded": values("MULTI", "SET k {}", "SET k {}", "DISCARD"),
    "errors": values("{}", "CLIENT {}", "SET k v {}", "EXPIRE k {}", "CONFIG SET {} 1", "AUTH {}", "HELLO {}"),
    "ECHO and PING": values("ECHO {}", "PING {}", "CLIENT SETNAME {}", "CLIENT GETNAME"),
    "messages": values("HELLO 3", "SUBSCRIBE c", "PUBLISH c {}", "PUBLISH {} x", "PSUBSCRIBE {}", "SSUBSCRIBE {}", "SPUBLISH {} {}"),
    "a list that is popped": values("RPUSH l {} {} {}", "LRANGE l 0 -1", "LPOP l 2", "LMPOP 1 l LEFT COUNT 5"),
}  # fmt: skip

PROMISES: Final[dict[str, Make]] = {
    "half a gigabyte promised": promised,
    "a million arguments promised": promised_arguments,
    "a line": in_a_line,
}

SCRIPTS: Final[dict[str, Make]] = {
    "an argument of a script": values("EVAL return(#ARGV[1]) 0 {}", "EVAL return(ARGV[1]) 0 {}"),
    "a script": values("EVAL return('{}') 0".replace("{}", "v"), "EVAL {} 0", "SCRIPT LOAD {}"),
    "a script that pops": values("RPUSH l {}", "EVAL return(redis.call('RPOP','l')) 0", "LLEN l"),
    "a script that reads": values("SET k {}", "EVAL return(redis.call('GET','k')) 0", "STRLEN k"),
}

LONG_VALUES: Final[list[Sized]] = [
    *of_table("long values", VALUES | PROMISES, small=200_000, large=(MEGABYTE, 10 * MEGABYTE, 100 * MEGABYTE, 300 * MEGABYTE)),
    *of_table("long values of scripts", SCRIPTS, small=200_000, large=(MEGABYTE, 10 * MEGABYTE)),
    *of_table(
        "long values of scripts", {f"{name}, more than they may have": make for name, make in SCRIPTS.items()},
        small=500_000, large=(100 * MEGABYTE, 300 * MEGABYTE), may_differ="scripts have 256 MiB of memory",
    ),
]  # fmt: skip
