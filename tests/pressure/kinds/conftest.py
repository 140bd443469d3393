"""Fixtures for the other kinds of queues: each test runs with every flavour, on both servers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.clients.flavours import MAKERS
from conformance.targets import Address
from tests.cases import exhaustive_but

Make = Callable[..., Any]
"""Makes a queue: its kind, its name, its options."""

SETTINGS = {
    "miniredis, sync": ("embedded_server", "sync"),
    "miniredis, plain batches": ("embedded_server", "plain"),
    "miniredis, asyncio": ("embedded_server", "aio"),
    "redis-server, sync": ("real_server", "sync"),
    "redis-server, plain batches": ("real_server", "plain"),
    "redis-server, trio": ("real_server", "trio"),
}


#: Each client on one server: in the default run.
USUAL = ["miniredis, sync", "miniredis, asyncio", "redis-server, plain batches", "redis-server, trio"]


@pytest.fixture(params=exhaustive_but(USUAL, SETTINGS))
def setting(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server_address(request: pytest.FixtureRequest, setting: str) -> Address:
    address: Address = request.getfixturevalue(SETTINGS[setting][0])
    return address


@pytest.fixture
def make(redis_url: str, setting: str) -> Iterator[Make]:
    """Makes queues of the setting's flavour, which are disconnected at the end."""
    with contextlib.ExitStack() as stack:

        def made(kind: str, name: str | bytes = "jobs", **options: Any) -> Any:
            queue = MAKERS[SETTINGS[setting][1]](kind, name, **{"url": redis_url, **options})
            stack.callback(queue.disconnect)
            return queue

        yield made


def datas(items: Any) -> list[bytes]:
    return [item.data for item in items]
