"""One connection hangs, and the server is reachable: a lease is renewed all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

import miniredis
from conformance.clients.flavours import MAKERS
from conformance.targets import Address
from tests.pressure.conftest import JOBS, until
from tests.servers import RealServer
from tests.tools.chaos.front import Front

LEASE = 1.0
"""Seconds of a lease: an attempt to renew it may take a third."""

LIMIT = 8.0
"""Seconds in which it has to be renewed; a reply is waited for nearly twice as long."""


@pytest.fixture
def front(held: miniredis.Server) -> Iterator[Front]:
    """A way to it."""
    with Front(Address(held.url, "miniredis on a held clock")) as made:
        yield made


@pytest.mark.parametrize("flavour", MAKERS)
def test_a_lease_is_renewed_though_a_connection_hangs(
    flavour: str, held: miniredis.Server, front: Front
) -> None:
    with redis.Redis.from_url(held.url) as raw:
        queue = MAKERS[flavour]("Queue", "jobs", url=front.url, lease=LEASE)
        queue.create()
        queue.put(b"v")
        block = queue.receive()
        block.__enter__()

        def renewed() -> bool:
            return int(raw.pttl(f"{JOBS}:consumer")) > 0.95 * LEASE * 1000

        for _ in range(2):
            held.fast_forward(LEASE / 5)
            until(renewed, "is it renewed", LIMIT)
        front.block()
        for _ in range(3):
            held.fast_forward(LEASE / 5)
            until(renewed, "is it renewed on a fresh connection", LIMIT)
        front.hang_up()
        block.__exit__(None, None, None)
        assert queue.stats().consumed_messages == 1
        queue.disconnect()


@pytest.mark.slow
@pytest.mark.parametrize("flavour", MAKERS)
def test_a_lease_on_a_real_redis_lasts_though_a_connection_hangs(
    flavour: str, start_server: Callable[..., RealServer]
) -> None:
    server = start_server()
    address = Address(server.url, "a server of the test's own")
    with Front(address) as front, redis.Redis.from_url(server.url) as raw:
        queue = MAKERS[flavour]("Queue", "jobs", url=front.url, lease=6.0)
        queue.create()
        queue.put(b"v")
        block = queue.receive()
        block.__enter__()
        front.block()
        until(lambda: int(raw.pttl(f"{JOBS}:consumer")) < 4000, "has time passed", LIMIT)
        until(lambda: int(raw.pttl(f"{JOBS}:consumer")) > 5000, "was it renewed in time", 4.0)
        front.hang_up()
        block.__exit__(None, None, None)
        queue.disconnect()
