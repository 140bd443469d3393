"""What conversations seldom come to, on servers of their own: the replies are those of a Redis 7.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...judging.environment import Environment, expect, expect_error
from ...wire import Hangup, RawConnection
from ..registry import check
from . import decoded


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


@check("wire.server")
def shuts_down(env: Environment) -> None:
    """One of its own hangs up."""
    assert env.address.another is not None
    with (
        env.address.another() as address,
        RawConnection(address.host, address.port) as server,
        expect_error(Hangup, "a client that shuts a server down"),
    ):
        server.command("SHUTDOWN", "NOSAVE")


@check("wire.server")
def art_takes_numbers(env: Environment) -> None:
    """LOLWUT reads as many numbers as the art of a version has sizes; the last line of art is the server's version."""
    for words in (("5", "1", "1", "1", "x"), ("6", "1", "1", "x")):
        art = env.connect().command("LOLWUT", "VERSION", *words)
        expect(
            b"Redis ver. 7.0." in art, True, f"whether LOLWUT VERSION {' '.join(words)} ends by the version"
        )
