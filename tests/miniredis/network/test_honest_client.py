"""How long a well-behaved client waits while others misbehave."""

from __future__ import annotations

import math

import pytest

import miniredis
from conformance.bench.servers import SERVERS
from conformance.targets import Address, NoRealRedisError
from conformance.wire import RawConnection
from tests.tools.hostile.floods import FLOODS, Flood, worst_ping
from tests.tools.hostile.honest import Honest

PAUSE = 600
"""Milliseconds."""


def test_the_honest_client_measures_how_long_it_waited(server_address: Address) -> None:
    with (
        Honest(server_address.host, server_address.port) as honest,
        RawConnection(server_address.host, server_address.port) as other,
    ):
        assert other.command("CLIENT", "PAUSE", str(PAUSE)) == b"+OK\r\n"
        other.command("PING")  # is held up as well
    assert PAUSE / 1000 * 0.3 < honest.worst < 30  # a busy machine may keep it from asking at first
    assert honest.count > 1


def test_a_disconnected_honest_client_reports_an_infinite_wait() -> None:
    with (
        miniredis.start() as server,
        Honest(server.host, server.port) as honest,
        RawConnection(server.host, server.port) as other,
    ):
        assert other.command("CLIENT", "KILL", "TYPE", "normal") == b":1\r\n"
    assert honest.worst == math.inf
    assert honest.trouble


TIMES = 10
"""How many times as long as beside a real Redis an honest client may wait."""

NOISE = 0.2
"""Seconds for which a busy machine may keep any process waiting."""


def worst_beside(kind: str, flood: Flood) -> float:
    try:
        with SERVERS[kind]() as server:
            return worst_ping(flood, ("127.0.0.1", server.port))
    except NoRealRedisError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOODS)
def test_an_honest_client_waits_little_longer_than_on_redis_during_a_flood(name: str) -> None:
    tried = []
    for _ in range(3):
        ours, theirs = (worst_beside(kind, FLOODS[name]) for kind in ("miniredis", "redis-server"))
        if ours < max(TIMES * theirs, NOISE):
            return
        tried.append((ours, theirs))
    pytest.fail(f"the worst PING took, in seconds, beside miniredis and redis-server: {tried}")
