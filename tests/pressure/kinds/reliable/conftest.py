"""Fixtures for reliable queues: each test runs with every backend, in some flavours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

import miniredis
from conformance.clients.flavours import MAKERS
from conformance.targets import Address
from tests.cases import exhaustive_but

from ...conftest import execute
from ..conftest import Make

JOBS = "queue:jobs"

SETTINGS = {
    "miniredis, stream": ("miniredis", "stream", "sync"),
    "miniredis, stream, plain batches": ("miniredis", "stream", "plain"),
    "miniredis, stream, asyncio": ("miniredis", "stream", "aio"),
    "miniredis, module": ("miniredis", "module", "sync"),
    "miniredis, module, plain batches": ("miniredis", "module", "plain"),
    "miniredis, module, trio": ("miniredis", "module", "trio"),
    "redis-server, stream": ("redis-server", "stream", "sync"),
    "redis-server, stream, plain batches": ("redis-server", "stream", "plain"),
    "redis-server, stream, trio": ("redis-server", "stream", "trio"),
}


class MishapError(Exception):
    """What goes wrong with a message."""


def has_module(client: redis.Redis) -> bool:
    """Whether a server has the commands of RedisMQ, found out in another way than our client does."""
    try:
        execute(client, "MQ.QINFO", "none")
    except redis.ResponseError as error:
        return "unknown command" not in str(error)
    return True


#: Each client, backend and server once, at least: in the default run.
USUAL = [
    "miniredis, stream",
    "miniredis, stream, asyncio",
    "miniredis, module, trio",
    "redis-server, stream, plain batches",
]


@pytest.fixture(params=exhaustive_but(USUAL, SETTINGS))
def setting(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server_address(request: pytest.FixtureRequest, setting: str) -> Address:
    server, backend, _ = SETTINGS[setting]
    if server == "redis-server":
        real: Address = request.getfixturevalue("real_server")
        return real
    handle: miniredis.Server = request.getfixturevalue("local_handle")
    with handle.client() as client:
        if backend == "module" and not has_module(client):
            pytest.skip("this server has no MQ.* commands")
    return Address(handle.url, "miniredis in this process")


@pytest.fixture
def make(redis_url: str, setting: str) -> Iterator[Make]:
    made: list[Any] = []

    def queue(name: str | bytes = "jobs", **options: Any) -> Any:
        _, backend, flavour = SETTINGS[setting]
        where = {"url": redis_url, "backend": backend, **options}
        made.append(MAKERS[flavour]("ReliableQueue", name, **where))
        return made[-1]

    yield queue
    for each in made:
        each.disconnect()


@pytest.fixture
def queue(make: Make) -> Any:
    return make()


@pytest.fixture
def age(request: pytest.FixtureRequest, setting: str, raw: redis.Redis) -> Callable[[float], None]:
    """Lets time pass for everything in all queues."""
    if SETTINGS[setting][0] == "miniredis":
        handle: miniredis.Server = request.getfixturevalue("local_handle")
        return handle.fast_forward

    def pass_time(seconds: float) -> None:
        for key in raw.scan_iter(_type="stream"):
            pending: Any = raw.xpending_range(key, "workers", "-", "+", 100) if raw.xinfo_groups(key) else []
            for each in pending:
                idle = each["time_since_delivered"] + int(1000 * seconds)
                raw.xclaim(key, "workers", "pressure", 0, [each["message_id"]], idle=idle, justid=True)
        for key in raw.scan_iter(_type="zset"):
            members: Any = raw.zrange(key, 0, -1)
            for member in members:
                raw.zincrby(key, -1000 * seconds, member)

    return pass_time


def datas(messages: Any) -> list[bytes]:
    return [each.data for each in messages]


def counts(queue: Any) -> tuple[int, int, int, int]:
    """Undelivered, delivered, delayed, dead."""
    info = queue.info()
    return info.undelivered, info.delivered, info.delayed, info.dead
