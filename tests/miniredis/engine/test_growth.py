"""Commands that once took quadratic time: sixteen times the work takes about sixteen times as long."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from conformance.wire import encode

from .test_engine import World

Words = list[str]

TIMES = 16
MOST = 64
"""How many times as long it may take at the best of a few times: quadratic time would be 256 times."""
TRIES = 4


def bitfield(count: int) -> Words:
    return ["BITFIELD", "b", *["INCRBY", "u8", "100", "1"] * count]


def bitfield_get(count: int) -> Words:
    return ["BITFIELD", "b", *["GET", "u8", "100"] * count]


def prefixes(count: int) -> Words:
    return [
        "CLIENT",
        "TRACKING",
        "ON",
        "BCAST",
        *[word for at in range(count) for word in ("PREFIX", f"p{at:06}")],
    ]


def prefixes_that_overlap(count: int) -> Words:
    return [*prefixes(count), "PREFIX", "p000000x", "PREFIX", f"p{count - 1:06}x"]


def sort_options(count: int) -> Words:
    return ["SORT", "l", *["GET", "#"] * count]


def config_get(count: int) -> Words:
    return ["CONFIG", "GET", *["*"] * count]


REQUESTS: dict[Callable[[int], Words], int] = {
    bitfield: 2000,
    bitfield_get: 2000,
    prefixes: 1500,
    prefixes_that_overlap: 1500,
    sort_options: 4000,
    config_get: 500,
}
"""How to ask, and for how much."""


def seconds(request: Words) -> float:
    """Of processor time, which a busy machine does not change much."""
    world = World()
    client = world.client()
    for words in (["HELLO", "3"], ["PFADD", "h", *"abc"], ["RPUSH", "l", "1"]):
        world.engine.receive(client, encode(*words), world.now)
    world.settle()
    data = encode(*request)
    start = time.thread_time()
    world.engine.receive(client, data, world.now)
    taken = time.thread_time() - start
    assert world.settle()[client.id]
    return taken


@pytest.mark.parametrize("request_of", REQUESTS)
def test_time_grows_linearly_with_the_work(request_of: Callable[[int], Words]) -> None:
    count = REQUESTS[request_of]
    few = sorted(seconds(request_of(count)) for _ in range(5))[2]
    assert any(seconds(request_of(count * TIMES)) < few * MOST for _ in range(TRIES))


def test_pfcount_reads_a_hyperloglog_named_4000_times_once() -> None:
    names = ["h"] * 4000
    asked = sorted(seconds(["EXISTS", *names]) for _ in range(5))[2]
    assert any(seconds(["PFCOUNT", *names]) < 100 * asked for _ in range(TRIES))
