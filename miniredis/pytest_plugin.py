"""Fixtures for people who test their own code: each test gets a server of its own.

They come with the installed package; nothing has to be imported or registered.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import redis

    from .embedded import EmbeddedServer


@pytest.fixture
def miniredis_server() -> Iterator[EmbeddedServer]:
    """A fresh server on a free port of 127.0.0.1, gone after the test."""
    from . import start  # only the tests that ask for a server pay for importing it

    with start() as server:
        yield server


@pytest.fixture
def held_miniredis_server() -> Iterator[EmbeddedServer]:
    """A fresh server whose clock stands still until the test says ``fast_forward(seconds)``."""
    from . import start

    with start(clock="held") as server:
        yield server


@pytest.fixture
def redis_url(miniredis_server: EmbeddedServer) -> str:
    """Where that server is, as ``redis://127.0.0.1:PORT``."""
    return miniredis_server.url


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    """A redis-py client connected to that server."""
    import redis

    with redis.Redis.from_url(redis_url) as client:
        yield client
