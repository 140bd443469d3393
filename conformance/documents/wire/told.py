"""What a server tells of commands, of clients, of itself and of what it has done, beside a Redis 7.0."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, TypeVar

from ...judging.environment import Environment, expect
from ...targets import Address, embedded, real_redis
from ...wire import RawConnection
from ..model import Clause
from ..registry import check, declare
from . import decoded, reference_of

T = TypeVar("T")

declare(
    Clause(
        "wire.commands", ("wire",), "Redis 7.0.15", "decided",
        "COMMAND INFO and COMMAND DOCS tell the same of a command: arity, flags, keys, groups, version, arguments.",
        ("redis-7.0", "reference"),
    )
)  # fmt: skip


@check("wire.commands")
def tells_of_commands(env: Environment) -> None:
    """Of all that both servers know; texts are each one's own, and the order of names is nobody's."""
    with (
        (real_redis if env.address.in_process else embedded)() as address,
        Environment(address, env.client) as other,
    ):
        judged, reference = env.connect(), other.connect()
        names = (set(decoded(each.command("COMMAND", "LIST"))) for each in (judged, reference))
        known, others = names
        both = known & others
        for name in sorted(others - known):
            told = decoded(judged.command("COMMAND", "INFO", name))
            expect(told, [None], f"what is told of {name.decode()}, which COMMAND LIST does not name")
        for category in sorted(decoded(reference.command("ACL", "CAT"))):
            here, there = (decoded(each.command("ACL", "CAT", category)) for each in (judged, reference))
            expect(both.intersection(here), both.intersection(there), f"commands of @{category.decode()}")
        for name in sorted(both):
            what = f"what is told of {name.decode()}, beside {reference_of(env)}"
            expect(told_of(judged, name, both), told_of(reference, name, both), what)


def told_of(server: RawConnection, name: bytes, both: set[bytes]) -> list[object]:
    """What COMMAND INFO tells of a command, and COMMAND DOCS, but for texts; the first line of its help, if any."""
    (info,) = decoded(server.command("COMMAND", "INFO", name))
    words = iter(decoded(server.command("COMMAND", "DOCS", name))[1])
    docs = dict(zip(words, words, strict=True))
    help_ = info[9:10] and any(each[0].endswith(b"|help") for each in info[9])
    return [
        *info[:9],
        *(
            docs.get(each)
            for each in (b"since", b"group", b"arguments", b"doc_flags", b"deprecated_since", b"module")
        ),
        sorted(both.intersection((docs.get(b"subcommands") or ())[::2])),
        server.command(name, "HELP").split(b"\r\n")[1] if help_ else b"",
    ]


ALIKE: Final = (
    ("MEMORY", "STATS"), ("SET", "k", "v", "EX", "100"), ("MEMORY", "STATS"), ("LATENCY", "HISTOGRAM", "set"),
    ("CLIENT", "GETNAME"), ("LATENCY", "HISTOGRAM", "get", "set", "client|getname", "none"),
    ("LATENCY", "HISTOGRAM", "client"), ("LATENCY", "GRAPH", "command"),
    ("CONFIG", "SET", "latency-monitor-threshold", "90"), ("DEBUG", "SLEEP", "0.1"),
    ("CONFIG", "SET", "latency-monitor-threshold", "0"), ("LATENCY", "LATEST"),
    ("LATENCY", "HISTORY", "command"), ("LATENCY", "GRAPH", "command"), ("LATENCY", "RESET", "command"),
    ("CONFIG", "SET", "slowlog-log-slower-than", "0"), ("CONFIG", "SET", "cluster-announce-hostname", "requirepass", "masterauth", "secret"), ("AUTH", "ann", "secret"),
    ("ACL", "SETUSER", "ann", "on", ">secret"), ("ACL", "GETUSER", "none"), ("ACL", "DELUSER", "none", "ann"),
    ("HELLO", "3", "AUTH", "ann", "secret"), ("AUTH", "ann", "wrong"), ("ACL", "LOG"), ("ACL", "LOG", "RESET"), ("SET", "k", "v" * 200), ("RPUSH", "l", *"abcdefghijklmnopqrstuvwxyzabcdefghi"),
    ("SLOWLOG", "GET", "11"), ("SLOWLOG", "GET", "1"), ("SLOWLOG", "GET"), ("SLOWLOG", "RESET"), ("SLOWLOG", "LEN"), ("SLOWLOG", "GET", "-1"),
    ("CONFIG", "SET", "slowlog-log-slower-than", "10000"), ("ACL", "GENPASS"), *(("ACL", "GENPASS", bits) for bits in ("0", "32", "33", "36", "37", "4096", "4097")),
)  # fmt: skip
"""Requests whose replies are alike but for numbers: sizes, times and secrets."""


MONITORED: Final = (
    ("SET", "k", 'a\r\n\t"\\\x00\xe9'), ("GET", "k"), ("INCR", "k"), ("CLIENT", "SETNAME", "ann"), ("PING",), ("LPUSH", "l", "a", ""),
    ("FUNCTION", "LOAD", "none"), ("FUNCTION", "LOAD", "REPLACE", "#!lua name=f\nredis.register_function('f', function() return 1 end)"),
    ("FCALL", "f", "0"), ("EVAL", "return 1", "0"), ("EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"),
    ("SORT", "l"), ("BLPOP", "l", "1"),
)  # fmt: skip
"""Requests that a monitor is told of, each in a reply."""


def beside(env: Environment, work: Callable[[Environment], T], *flags: str) -> tuple[T, T]:
    """What some work sees on one more server of the kind that is judged, and on one that it is compared with."""

    def seen(anew: Callable[..., AbstractContextManager[Address]]) -> T:
        with anew(*flags) as address, Environment(address, env.client) as own:
            return work(own)

    assert env.address.another is not None
    return seen(env.address.another), seen(real_redis if env.address.in_process else embedded)


@check("wire.server")
def tells_alike(env: Environment) -> None:
    """On servers of their own, in both protocols."""
    from ...differential.rival import DEBUG

    for here, there in zip(*beside(env, told_by_all, *DEBUG), strict=True):
        expect(here, there, f"a request and its reply, but for numbers, beside {reference_of(env)}")


def told_by_all(own: Environment) -> list[tuple[str, Any]]:
    """Each of the requests, and what is told then."""
    told: list[tuple[str, Any]] = []
    for protocol in ("2", "3"):
        own.redis.flushall()
        server = own.connect()
        server.command("HELLO", protocol)
        server.command("CONFIG", "RESETSTAT")
        told += [(" ".join(words), without_numbers(decoded(server.command(*words)))) for words in ALIKE]
        server.command("MONITOR")
        for words in MONITORED:
            own.connect().command(*words)
            told.append((f"monitored {' '.join(words)}", without_numbers(decoded(server.reply()))))
    return told


def without_numbers(reply: Any) -> Any:
    """A reply without what differs from run to run."""
    match reply:
        case list():
            return list(map(without_numbers, reply))
        case dict():
            return [[without_numbers(part) for part in item] for item in reply.items()]
        case bytes():
            return (
                len(reply) if re.fullmatch(rb"[0-9a-f]{8,}", reply) else re.sub(rb"\d+(\.\d+)?", b"0", reply)
            )
        case Exception():
            return str(reply)
        case _:
            return type(reply)


BEGUN: Final = (b"PIN", b"*1\r\n$4\r\nPI", b"*2\r\n$4\r\nPING\r\n$5\r\nab")
"""Requests that are not whole."""


@check("wire.server")
def counts_what_has_come_of_a_request(env: Environment) -> None:
    """CLIENT LIST, of another client that has sent a part of a request."""
    here, there = beside(env, lambda own: [bytes_of(own, part) for part in BEGUN])
    expect(here, there, f"qbuf and argv-mem after {BEGUN}, beside {reference_of(env)}")


def bytes_of(env: Environment, part: bytes) -> list[bytes]:
    """What CLIENT LIST tells of the bytes of a client that has sent a part of a request, when it has come."""
    sender, other = env.connect(), env.connect()
    number = decoded(sender.command("CLIENT", "ID"))

    def told() -> list[bytes]:
        line = decoded(other.command("CLIENT", "LIST", "ID", str(number)))
        return re.findall(rb" (?:qbuf|argv-mem)=(\d+)", line)

    before = told()
    sender.socket.sendall(part)
    env.until(lambda: told() != before, f"did CLIENT LIST tell of {part!r}")
    return told()


@check("wire.server")
def passwords_differ(env: Environment) -> None:
    """In each of their digits: no digit is the same in all of forty."""
    server = env.connect()
    some = [decoded(server.command("ACL", "GENPASS")) for _ in range(40)]
    alike = [place for place, digits in enumerate(zip(*some, strict=True)) if len(set(digits)) == 1]
    expect(
        alike, [], f"places of digits that are the same in all of {len(some)} passwords such as {some[0]!r}"
    )


ENDS: Final = (("l", "0"), ("text", "0"), ("l", "0.01"))
"""Waits that end by what comes, by an error that comes of it, and when their time is over."""


@check("wire.server")
def waits_are_counted(env: Environment) -> None:
    """When they end, by LATENCY HISTOGRAM and by INFO."""
    here, there = beside(env, lambda own: [calls_of(own, *end) for end in ENDS])
    expect(here, there, f"calls of BLMOVE, and failed ones, after {ENDS}, beside {reference_of(env)}")


def calls_of(env: Environment, target: str, timeout: str) -> tuple[int, ...]:
    """How many calls of BLMOVE are counted after one more, in the histogram and by INFO, and of these failed ones."""
    waiter, server = env.connect(), env.connect()
    env.redis.set(env.key("text"), "v")
    waiter.send("BLMOVE", env.key("k"), env.key(target), "LEFT", "LEFT", timeout)
    if timeout == "0":
        env.until_blocked(1)
        server.command("RPUSH", env.key("k"), "v")
    waiter.reply()
    env.redis.delete(env.key("k"))
    histogram = decoded(server.command("LATENCY", "HISTOGRAM", "blmove"))
    seen = (histogram[1][1], histogram[1][3][-1]) if histogram else (0, 0)
    stats: Any = env.redis.info("commandstats")["cmdstat_blmove"]
    return *seen, stats["calls"], stats["failed_calls"]


WAITS: Final = (
    (("BLPOP", "k", "0"), ("RPUSH", "k", "1", "2")), (("BRPOP", "k", "0"), ("RPUSH", "k", "1")),
    (("BLMOVE", "k", "d", "LEFT", "RIGHT", "0"), ("RPUSH", "k", "1")), (("BRPOPLPUSH", "k", "d", "0"), ("RPUSH", "k", "1")),
    (("BLMPOP", "0", "1", "k", "LEFT"), ("RPUSH", "k", "1")), (("BZPOPMIN", "k", "0"), ("ZADD", "k", "1", "a")),
    (("BZMPOP", "0", "1", "k", "MAX", "COUNT", "2"), ("ZADD", "k", "1", "a", "2", "b")),
    (("XREAD", "BLOCK", "0", "STREAMS", "k", "$"), ("XADD", "k", "1-1", "f", "v")),
    (("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "k", ">"), ("XADD", "k", "1-1", "f", "v")),
)  # fmt: skip
"""A command that waits, and one that serves it."""


@check("wire.blocking")
def changes_are_counted(env: Environment) -> None:
    """For save points, by INFO: a served client is counted as Redis does it."""
    here, there = beside(env, lambda own: [changes_of(own, *words) for words in WAITS])
    what = f"changes by commands that waited and those that served them, beside {reference_of(env)}"
    expect(here, there, what)
    here, there = beside(env, lambda own: [changes_by(own, words) for words in BY_NO_SCRIPT])
    expect(here, there, f"changes by {BY_NO_SCRIPT}, beside {reference_of(env)}")


BY_NO_SCRIPT: Final = (
    ("FUNCTION", "LOAD", "#!lua name=f\nredis.register_function('f', function() return 1 end)"),
    ("FUNCTION", "DELETE", "f"), ("FUNCTION", "FLUSH"), ("FUNCTION", "FLUSH", "ASYNC"),
)  # fmt: skip
"""Commands that scripts must not run, so that ``recorded.changes`` does not have them."""


def changes_by(env: Environment, words: tuple[str, ...]) -> int:
    """How many changes are counted by a command."""
    before: Any = env.redis.info("persistence")
    env.connect().command(*words)
    after: Any = env.redis.info("persistence")
    return int(after["rdb_changes_since_last_save"] - before["rdb_changes_since_last_save"])


def changes_of(env: Environment, waits: tuple[str, ...], serves: tuple[str, ...]) -> int:
    """How many changes are counted while a client waits and is served."""
    env.redis.flushall()
    if waits[0].startswith("XREAD"):
        env.redis.xgroup_create("k", "g", mkstream=True)
    before: Any = env.redis.info("persistence")
    waiter = env.connect()
    waiter.send(*waits)
    env.until_blocked(1)
    env.connect().command(*serves)
    waiter.reply()
    after: Any = env.redis.info("persistence")
    return int(after["rdb_changes_since_last_save"] - before["rdb_changes_since_last_save"])


THERE: Final = (
    "SET t 1",
    "RPUSH l a b c",
    "SADD s a b c",
    "ZADD z 1 a 2 b",
    "XADD x 1-1 f v",
    "XGROUP CREATE x h 0",
    "PFADD p a b",
)

LOOKS: Final = (
    "SPOP s", "SPOP s 0", "SPOP s 2", "SPOP s 3", "SPOP s 4", "SPOP none 1", "SRANDMEMBER s 2", "SMOVE s d a", "SUNIONSTORE d s none",
    "GET t", "MGET t none l", "GETDEL t", "APPEND t x", "SET t v GET", "SET t v XX", "SETNX t v", "LCS t t", "BITOP NOT d t", "BITFIELD t GET u8 0",
    "LPOP l", "BLPOP none l 0", "LRANGE l 0 -1", "SORT l BY t GET t", "EXISTS t none", "TOUCH t none", "TYPE t", "TTL t", "EXPIRE t 10", "RENAME t u",
    "COPY t u", "OBJECT ENCODING t", "DEL t none", "WATCH t none", "SCAN 0", "ZPOPMIN z", "ZUNIONSTORE d 2 z s", "ZRANK z a", "GEOPOS z a",
    "XADD x * f v", "XLEN x", "XREAD STREAMS x 0", "XREADGROUP GROUP h c STREAMS x >", "XINFO STREAM x", "PFCOUNT p none", "PFMERGE d p none",
)  # fmt: skip
"""Requests that look keys up, some of them more often than they need, and some uncounted."""


@check("wire.server")
def hits_and_misses_are_counted(env: Environment) -> None:
    """By INFO, after each request of its own on the same keys."""
    for here, there in zip(*beside(env, lambda own: [hits_of(own, words) for words in LOOKS]), strict=True):
        expect(here, there, f"a request, its hits and its misses, beside {reference_of(env)}")


def hits_of(env: Environment, words: str) -> tuple[str, int, int]:
    """A request, and how many hits and misses are counted by it."""
    server = env.connect()
    for each in ("FLUSHALL", *THERE, "CONFIG RESETSTAT", words):
        server.command(*each.split())
    stats: Any = env.redis.info("stats")
    return words, stats["keyspace_hits"], stats["keyspace_misses"]
