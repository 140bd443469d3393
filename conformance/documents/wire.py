"""The wire: conversations that nobody thought of, with every byte compared.

Miniredis is to answer as Redis 7.0.15 does, which decides every question of behaviour. A clause is a group of
commands: the same seeded conversations of several clients go to miniredis and to a real Redis of its own that may be
emptied, whichever of the two is judged. So the reference of miniredis is a real Redis, and that of any other server is
miniredis, whose fault convicts a server that is right: each violation names its reference. To have another group, add
a row to ``GROUPS``. What is slow to import is imported by the first check.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import hiredis

from ..failure import Evidence
from ..judging.environment import Environment, Failure, expect
from ..targets import embedded, real_redis
from ..wire import RawConnection
from .model import Clause
from .registry import check, declare

if TYPE_CHECKING:
    from ..differential.grammar import Form
    from ..differential.search import Found

EXAMPLES: Final = 25
"""Conversations of a group, of 30 to 80 requests each."""

SHORTEN: Final = 10.0
"""Seconds in which a conversation that differs is made shorter."""

LIMIT: Final = 60.0
"""Seconds, some of them to make a conversation that differs shorter; without one it takes about one."""

GROUPS: Final[Mapping[str, tuple[str, str]]] = {
    "lists": ("List commands", "@list"),
    "strings": ("Strings, bits and HyperLogLogs", "@string @bitmap @hyperloglog"),
    "hashes": ("Hashes", "@hash"),
    "sets": ("Sets", "@set"),
    "sorted-sets": ("Sorted sets and places on a globe", "@sorted-set @geo"),
    "streams": ("Streams and their groups", "@stream"),
    "keys": ("Commands on keys of every type: expiry, copies, dumps, sorting", "@generic set rpush hset sadd zadd xadd"),
    "transactions": ("MULTI, EXEC and WATCH", "@transactions @list set get incr del select"),
    "blocking": ("Commands that wait, and what wakes them", "blpop brpop blmove blmpop brpoplpush bzpopmin bzpopmax bzmpop xread xreadgroup xgroup|create lpush rpush zadd xadd del rename lmove client|unblock"),
    "messages": ("Publishing, keyspace events and tracking", "@pubsub client|tracking client|caching config|set set get del lpush expire"),
    "scripts": ("Scripts and functions", "@scripting set get lpush"),
    "server": ("Commands about the server and its clients", "@server @connection set get"),
}  # fmt: skip
"""What each clause is about, in words and as commands and @groups of commands; by what follows ``wire.`` in its id."""


def declare_group(group: str) -> None:
    """Adds the clause of a group."""
    text = f"{GROUPS[group][0]}: every client hears the same bytes from miniredis and from Redis 7.0."
    needs = ("redis-7.0", "reference", *(["scripts"] if group == "scripts" else []))
    declare(Clause(f"wire.{group}", ("wire",), "Redis 7.0.15", "decided", text, needs, LIMIT))
    check(f"wire.{group}")(lambda env: compare(env, group))


for _group in GROUPS:
    declare_group(_group)


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
        both = set.intersection(*names)
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
        *(docs.get(each) for each in (b"since", b"group", b"arguments", b"doc_flags", b"deprecated_since")),
        sorted(both.intersection((docs.get(b"subcommands") or ())[::2])),
        server.command(name, "HELP").split(b"\r\n")[1] if help_ else b"",
    ]


def decoded(reply: bytes) -> Any:
    """A reply as objects, flags and other statuses as bytes."""
    reader = hiredis.Reader()
    reader.feed(reply)
    return reader.gets()


ALIKE: Final = (
    ("MEMORY", "STATS"), ("SET", "k", "v", "EX", "100"), ("MEMORY", "STATS"), ("LATENCY", "HISTOGRAM", "set"),
    ("CLIENT", "GETNAME"), ("LATENCY", "HISTOGRAM", "get", "set", "client|getname", "none"),
    ("LATENCY", "HISTOGRAM", "client"), ("LATENCY", "GRAPH", "command"),
    ("CONFIG", "SET", "latency-monitor-threshold", "90"), ("DEBUG", "SLEEP", "0.1"),
    ("CONFIG", "SET", "latency-monitor-threshold", "0"), ("LATENCY", "LATEST"),
    ("LATENCY", "HISTORY", "command"), ("LATENCY", "GRAPH", "command"), ("LATENCY", "RESET", "command"),
    ("CONFIG", "SET", "slowlog-log-slower-than", "0"), ("CONFIG", "SET", "masterauth", "secret"), ("AUTH", "ann", "secret"),
    ("ACL", "SETUSER", "ann", "on", ">secret"), ("ACL", "GETUSER", "none"), ("ACL", "DELUSER", "none", "ann"),
    ("HELLO", "3", "AUTH", "ann", "secret"), ("AUTH", "ann", "wrong"), ("ACL", "LOG"), ("ACL", "LOG", "RESET"), ("SET", "k", "v" * 200), ("RPUSH", "l", *"abcdefghijklmnopqrstuvwxyzabcdefghi"),
    ("SLOWLOG", "GET", "9"), ("SLOWLOG", "GET", "1"), ("SLOWLOG", "GET"), ("SLOWLOG", "RESET"), ("SLOWLOG", "LEN"), ("SLOWLOG", "GET", "-1"),
    ("CONFIG", "SET", "slowlog-log-slower-than", "10000"), ("ACL", "GENPASS"), *(("ACL", "GENPASS", bits) for bits in ("0", "32", "33", "36", "37", "4096", "4097")),
)  # fmt: skip
"""Requests whose replies are alike but for numbers: sizes, times and secrets."""


MONITORED: Final = (
    ("SET", "k", 'a\r\n\t"\\\x00\xe9'), ("GET", "k"), ("INCR", "k"), ("CLIENT", "SETNAME", "ann"), ("PING",), ("LPUSH", "l", "a", ""),
    ("FUNCTION", "LOAD", "none"), ("EVAL", "return 1", "0"), ("EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"),
    ("SORT", "l"), ("BLPOP", "l", "1"),
)  # fmt: skip
"""Requests that a monitor is told of, each in a reply."""


@check("wire.server")
def tells_alike(env: Environment) -> None:
    """On servers of their own, in both protocols."""
    from ..differential.rival import DEBUG

    assert env.address.another is not None
    told = []
    for anew in (env.address.another, real_redis if env.address.in_process else embedded):
        with anew(*DEBUG) as address, Environment(address, env.client) as own:
            for protocol in (b"2", b"3"):
                own.redis.flushall()
                server = own.connect()
                server.command("HELLO", protocol)
                server.command("CONFIG", "RESETSTAT")
                told += [without_numbers(decoded(server.command(*words))) for words in ALIKE]
                server.command("MONITOR")
                for words in MONITORED:
                    own.connect().command(*words)
                    told.append(without_numbers(decoded(server.reply())))
    requests = [
        (*words, end)
        for protocol in ("in RESP2", "in RESP3")
        for words, end in (
            *((words, protocol) for words in ALIKE),
            *((words, f"to a monitor {protocol}") for words in MONITORED),
        )
    ]
    for words, here, there in zip(requests, told, told[len(requests) :], strict=False):
        expect(here, there, f"{' '.join(words)}, but for numbers, beside {reference_of(env)}")


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
    assert env.address.another is not None
    told = []
    for anew in (env.address.another, real_redis if env.address.in_process else embedded):
        with anew() as address, Environment(address, env.client) as own:
            told.append([bytes_of(own, part) for part in BEGUN])
    here, there = told
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
    assert env.address.another is not None
    told = []
    for anew in (env.address.another, real_redis if env.address.in_process else embedded):
        with anew() as address, Environment(address, env.client) as own:
            told.append([calls_of(own, *end) for end in ENDS])
    here, there = told
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


@check("wire.blocking")
def swaps_wake(env: Environment) -> None:
    """On a server of its own, as others have databases, too; conversations seldom come to it."""
    anew = env.address.another
    assert anew is not None
    for databases in (("0", "1"), ("1", "0")):
        with anew() as address, Environment(address, env.client) as own:
            waiter = own.connect()
            waiter.command("SELECT", "1")
            waiter.send("BLPOP", "k", "0")
            own.until_blocked(1)
            other = own.connect()
            for words in (("RPUSH", "k", "v"), ("SWAPDB", *databases)):
                other.command(*words)
            what = f"what SWAPDB {' '.join(databases)} gives a waiter in database 1"
            expect(waiter.reply(), b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n", what)


MEMBERS: Final = [b"%d" % number for number in range(600)]

WALKS: Final[Mapping[str, tuple[str | bytes, ...]]] = {
    "SCAN": ("MSET", *(word for each in MEMBERS for word in (each, b"v"))),
    "SSCAN": ("SADD", "k", *MEMBERS, "no number"),
    "HSCAN": ("HSET", "k", *(word for each in MEMBERS for word in (each, b"v"))),
    "ZSCAN": ("ZADD", "k", *(word for each in MEMBERS for word in (b"1", each))),
}
"""A command that walks, and one that makes what it walks through, too much for one step."""


@check("wire.keys")
def walks_meet_everything(env: Environment) -> None:
    """On a server of its own; where a step ends, and its cursor, are each server's own."""
    assert env.address.another is not None
    with env.address.another() as address, Environment(address, env.client) as own:
        server = own.connect()
        for name, makes in WALKS.items():
            own.redis.flushall()
            server.command(*makes)
            cursor, met, steps = b"0", set[bytes](), 0
            while (cursor != b"0" or not steps) and steps < len(MEMBERS):
                cursor, some = decoded(
                    server.command(name, *makes[1:2] * (name != "SCAN"), cursor, "COUNT", "40")
                )
                met.update(some[:: 1 if name in ("SCAN", "SSCAN") else 2])
                steps += 1
            expect(met.issuperset(MEMBERS), True, f"whether {name} meets all {len(MEMBERS)} in {steps} steps")
            expect(1 < steps < len(MEMBERS), True, f"{steps} steps of {name}")
        own.redis.mset(dict.fromkeys(MEMBERS, "v"))
        for place in (1, 2, 300):
            same = (server.command("SCAN", f"{place - wrap}") for wrap in (0, 1 << 64))
            expect(len(set(same)), 1, f"replies to SCAN {place} and to the same number below 0")


MOVES: Final[tuple[tuple[tuple[str, ...], bytes], ...]] = (
    (("a", "0", "0", "AUTH", "wrong"), b"-ERR Target instance replied with error: WRONGPASS invalid username-password pair or user is disabled.\r\n"),
    (("a", "0", "0"), b"-ERR Target instance replied with error: NOAUTH Authentication required.\r\n"),
    (("none", "0", "0", "AUTH", "secret"), b"+NOKEY\r\n"),
    (("a", "0", "0", "COPY", "AUTH", "secret"), b"+OK\r\n"),
    (("a", "0", "0", "AUTH", "secret"), b"-ERR Target instance replied with error: BUSYKEY Target key name already exists.\r\n"),
    (("a", "0", "0", "REPLACE", "AUTH2", "default", "secret"), b"+OK\r\n"),
    (("b", "1", "0", "AUTH", "secret", "KEYS", "b", "c"), b"-ERR When using MIGRATE KEYS option, the key argument must be set to the empty string\r\n"),
    (("", "1", "0", "AUTH", "secret", "KEYS", "b", "none", "c"), b"+OK\r\n"),
)  # fmt: skip
"""What follows host and port in MIGRATE, and its reply, one after the other."""


@check("wire.keys")
def keys_move_to_another_server(env: Environment) -> None:
    """From one of its own to another one, which has a password; no log tells it."""
    anew = env.address.another
    assert anew is not None
    with (
        anew() as here,
        anew() as there,
        Environment(here, env.client) as own,
        Environment(there, env.client) as other,
    ):
        source, target = own.connect(), other.connect()
        source.command("MSET", "a", "1", "b", "2", "c", "3")
        source.command("PEXPIRE", "b", "100000")
        source.command("CONFIG", "SET", "slowlog-log-slower-than", "0")
        target.command("CONFIG", "SET", "requirepass", "secret")
        target.command("AUTH", "secret")
        for words, wanted in MOVES:
            expect(source.command("MIGRATE", there.host, str(there.port), *words), wanted, f"MIGRATE {words}")
            logged = source.command("SLOWLOG", "GET", "1")
            expect(b"secret" in logged or b"wrong" in logged, False, f"whether {logged!r} tells a password")
        expect(source.command("DBSIZE"), b":0\r\n", "keys that are left")
        target.command("SELECT", "1")
        expect(target.command("MGET", "b", "c"), b"*2\r\n$1\r\n2\r\n$1\r\n3\r\n", "keys that have come")
        left = decoded(target.command("PTTL", "b"))
        expect(0 < left <= 100_000, True, f"{left} ms are left of 100 s")
        target.command("CONFIG", "SET", "requirepass", "")


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
    assert env.address.another is not None
    counted = []
    for anew in (env.address.another, real_redis if env.address.in_process else embedded):
        with anew() as address, Environment(address, env.client) as own:
            counted.append([changes_of(own, *words) for words in WAITS])
    here, there = counted
    what = f"changes by commands that waited and those that served them, beside {reference_of(env)}"
    expect(here, there, what)


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


LONGEST_LINE: Final = 64 * 1024
"""Bytes of a line without its end that a server waits for."""

LINES: Final[Mapping[bytes, tuple[bytes, bytes]]] = {
    b"": (b"inline request", b"-ERR unknown command '1111"),
    b"*": (b"mbulk count string", b"-ERR Protocol error: invalid multibulk length\r\n"),
    b"*1\r\n$": (b"bulk count string", b"-ERR Protocol error: invalid bulk length\r\n"),
}
"""Where a line begins: what a server calls one that is too long, and its reply to the longest, of ones alone."""


@check("wire.server")
def lines_have_a_limit(env: Environment) -> None:
    """Of a command, of how many words it has, and of how long a word is."""
    for begins, (name, wanted) in LINES.items():
        whole, _, line = begins.rpartition(b"\n")
        ones = b"1" * (LONGEST_LINE - len(line))
        longest, longer = env.connect(), env.connect()
        longest.socket.sendall(begins + ones)
        env.connect().command("PING")  # by then it has been looked at
        longest.socket.sendall(b"\r\n")
        expect(longest.reply()[: len(wanted)], wanted, f"a line of {LONGEST_LINE} bytes, behind {whole!r}")
        longer.socket.sendall(begins + ones + b"1")
        refused = b"-ERR Protocol error: too big %b\r\n" % name
        expect(longer.reply(), refused, f"{LONGEST_LINE + 1} bytes without an end, behind {whole!r}")


BUSY: Final = b"-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"

WHILE_BUSY: Final[Mapping[str, bytes]] = {
    **dict.fromkeys(("GET k", "FUNCTION KILL", "SHUTDOWN", "SHUTDOWN SAVE", "SHUTDOWN NOW FORCE"), BUSY),
    "SHUTDOWN ABORT": b"-ERR No shutdown in progress.\r\n",
    "SHUTDOWN NOSAVE SAVE": b"-ERR syntax error\r\n",
    "SCRIPT KILL": b"+OK\r\n",
}
"""What others get while a script takes too long."""


@check("wire.scripts")
def a_busy_server_is_not_shut_down(env: Environment) -> None:
    """On a server of its own, whose script never ends by itself."""
    assert env.address.another is not None
    with env.address.another() as address, Environment(address, env.client) as own:
        listener, runs, other = own.connect(), own.connect(), own.connect()
        other.command("CONFIG", "SET", "lua-time-limit", "10")
        listener.command("SUBSCRIBE", "begun")
        runs.send("EVAL", "redis.call('PUBLISH', 'begun', 1) while true do end", "0")
        listener.reply()
        for request, wanted in WHILE_BUSY.items():
            expect(other.command(*request.split()), wanted, f"{request} while a script runs")
        killed = b"-ERR Script killed by user with SCRIPT KILL... script: "
        expect(runs.reply().startswith(killed), True, "whether a script that is killed says so")


def compare(env: Environment, group: str) -> None:
    """Fails if a conversation of the group differs."""
    from ..differential.coverage import Coverage
    from ..differential.pair import Pair
    from ..differential.rival import DEBUG, Rival
    from ..differential.search import converse, themed

    another = real_redis if env.address.in_process else env.address.another
    assert another is not None
    with another(*DEBUG) as address:
        forms = themed(all_forms(address.host, address.port), GROUPS[group][1].split())
        pair = Pair(Rival(address), Coverage(), Counter())
        try:
            found = converse(pair, forms, f"wire {group}", examples=EXAMPLES, shorten_for=SHORTEN)
        finally:
            pair.close()
    if found is not None:
        raise conviction(found, env)


def reference_of(env: Environment) -> str:
    """What the server that is judged is compared with, for people."""
    return "a real Redis" if env.address.in_process else "miniredis, which may itself be wrong"


def all_forms(host: str, port: int) -> list[Form]:
    """What the real server takes and miniredis knows."""
    from ..differential.coverage import all_names
    from ..differential.grammar import LEFT_OUT, read_forms

    with RawConnection(host, port) as server:
        return read_forms(server, [name for name in all_names() if name not in LEFT_OUT])


def conviction(found: Found, env: Environment) -> Failure:
    """What a difference says of the server that is judged."""
    from ..differential.report import line, shown

    difference = found.difference
    judged, reference = difference.ours, difference.theirs
    if not env.address.in_process:
        judged, reference = reference, judged
    *_, (client, step) = found.steps
    beside = reference_of(env)
    request = shown(" ".join(step.words).encode("latin-1"))
    return Failure(
        f"after '{request}' of client {client}, client {difference.client} heard "
        f"{shown(judged)}, and of {beside}: {shown(reference)}",
        Evidence("what was sent, and by which client", "\n".join(map(line, found.steps))),
        Evidence(f"what client {difference.client} heard of the server that is judged", shown(judged)),
        Evidence(f"what client {difference.client} heard of {beside}", shown(reference)),
    )
