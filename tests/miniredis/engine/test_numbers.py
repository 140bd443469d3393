"""Numbers of every length and form, in every command that reads one, on both servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import miniredis
from conformance.targets import Address
from conformance.wire import RawConnection, encode

N = 3000

LONG = [
    "9" * N, "." + "9" * N, "0." + "0" * N + "1", "1e" + "9" * N, "1e" + "0" * N + "5", "9" * N + f"e-{N}",
    "0x" + "f" * N, "0x1p" + "9" * N, "0x1p" + "0" * N + "3", "0x" + "f" * N + f"p-{4 * N}", "1e-" + "9" * N,
    "0e" + "9" * N, "0x0p" + "9" * N, "0x." + "0" * N + f"1p{4 * N}", "0." + "0" * N + f"1e{N}",
    "1" + "0" * N + f"e-{N}", "0" * N + "1", "0" * N + "1.5", "1e2147483648", "1" + "0" * 400 + "e-400",
    "0x" + "0" * 5000 + "1p-20", "0x1." + "0" * 5000 + "1", "0x1." + "0" * 5110 + "1", "0x1." + "0" * 5112 + "1",
    "0x." + "0" * 5000 + "1p20010", "1" * 5119, "1" * 5120,
]  # fmt: skip
"""Numbers, some of them out of range, at and beyond the lengths that Redis takes."""

HUGE = 30_000
NONSENSE = [
    "9" * HUGE + "x",
    "9" * HUGE + ".x",
    "." + "9" * HUGE + "e",
    "0x" + "f" * HUGE + "g",
    " " * HUGE,
    "0" * HUGE + "x",
]
"""What looks like a number up to its end, so long that quadratic time would be many seconds."""


def requests(text: str) -> list[list[str]]:
    return [
        ["DEL", "z", "g", "l", "f", "h", "s"],
        ["ZADD", "z", text, "m"],
        ["ZINCRBY", "z", text, "m"],
        ["ZRANGE", "z", "0", "-1", "WITHSCORES"],
        ["ZRANGEBYSCORE", "z", text, "+inf"],
        ["ZCOUNT", "z", "(" + text, "+inf"],
        ["ZUNION", "1", "z", "WEIGHTS", text],
        ["ZUNION", text, "z"],
        ["GEOADD", "g", text, "1", "m"],
        ["GEOSEARCH", "g", "FROMLONLAT", "1", "1", "BYRADIUS", text, "m"],
        ["SET", "f", "0"],
        ["INCRBYFLOAT", "f", text],
        ["HINCRBYFLOAT", "h", "f", text],
        ["INCRBY", "f", text],
        ["SET", "f", text],
        ["INCR", "f"],
        ["EXPIRE", "f", text],
        ["SETRANGE", "f", text, ""],
        ["GETBIT", "f", text],
        ["BITFIELD", "f", "GET", "u" + text, "#" + text],
        ["XADD", "s", text, "a", "b"],
        ["XADD", "s", "1-" + text, "a", "b"],
        ["XRANGE", "s", "(" + text, "+"],
        ["BLPOP", "none", text + "x"],
        ["EVAL", "return 1", text],
        ["SCAN", text + "x"],
        ["LRANGE", "l", text, text],
        ["CONFIG", "SET", "unixsocketperm", text + "x"],
        ["CONFIG", "SET", "maxmemory", text + "x"],
        ["CONFIG", "SET", "latency-tracking-info-percentiles", text + "x"],
        ["CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 0 x" + text],
        ["CONFIG", "SET", "oom-score-adj-values", text + " 1 x"],
    ]


@pytest.fixture
def both(embedded_server: Address, redis_7_0: Address) -> Iterator[list[RawConnection]]:
    with ExitStack() as stack:
        connections = [
            stack.enter_context(RawConnection(each.host, each.port)) for each in (embedded_server, redis_7_0)
        ]
        for each in connections:
            each.command("FLUSHALL")  # earlier tests may have left keys on one of them
        yield connections


def play_alike(both: list[RawConnection], words: list[list[str]]) -> None:
    for each in both:
        each.socket.sendall(b"".join(encode(*each) for each in words))
    for request in words:
        ours, theirs = (each.reply() for each in both)
        assert ours == theirs, [word[:40] for word in request]


@pytest.mark.parametrize("text", LONG, ids=lambda text: f"{text[:5]}..{text[-5:]}")
def test_long_numbers_are_read_as_by_redis(text: str, both: list[RawConnection]) -> None:
    play_alike(both, requests(text))


@pytest.mark.parametrize("text", NONSENSE, ids=lambda text: f"{text[:3]}..{text[-2:]}")
def test_nearly_numeric_text_gets_the_same_replies(text: str, both: list[RawConnection]) -> None:
    play_alike(both, requests(text))
    play_alike(both, [["DEL", "l"], ["RPUSH", "l", text, "1"], ["SORT", "l"]])


@pytest.mark.parametrize("zeros", ["0" * 30, "-" + "0" * 30, " " * 30, "+" + "0" * 30])
def test_leading_zeros_are_treated_as_on_redis(zeros: str, both: list[RawConnection]) -> None:
    limits = ["CONFIG", "GET", "client-output-buffer-limit"]
    play_alike(
        both,
        [
            ["COMMAND", "GETKEYS", "EVAL", "x", zeros + "2", "a", "b", "c"],
            ["CONFIG", "SET", "client-output-buffer-limit", f"pubsub 33554432 8388608 {zeros}60"],
            limits,
            ["CONFIG", "SET", "client-output-buffer-limit", "pubsub 33554432 8388608 60"],
        ],
    )


@pytest.mark.parametrize("seconds", ["1e999", "9223372036855", "1e300", "-1e999", "1e" + "9" * 5000])
def test_debug_sleep_beyond_64_bits_of_microseconds_returns_at_once(seconds: str) -> None:
    with (
        miniredis.start(enable_debug_command="yes") as server,
        RawConnection(server.host, server.port) as client,
    ):
        assert client.command("DEBUG", "SLEEP", seconds) == b"+OK\r\n"
