"""Pytest fixtures that give each test a fresh Redis-compatible server.

pytest finds them as soon as the package is installed; nothing has to be imported or registered::

    def test_greeting(redis_client):
        redis_client.set("greeting", "hello")
        assert redis_client.get("greeting") == b"hello"

A fixture of your own of the same name, in a ``conftest.py``, takes precedence. Use that for directives::

    @pytest.fixture
    def miniredis_server():
        with miniredis.start(databases=1, requirepass="secret") as server:
            yield server
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
    """A fresh ``miniredis.EmbeddedServer`` on a free port of 127.0.0.1, stopped after the test."""
    from . import start  # imported only for tests that use a server

    with start() as server:
        yield server


@pytest.fixture
def held_miniredis_server() -> Iterator[EmbeddedServer]:
    """A fresh server whose clock stands still until the test calls its ``fast_forward(seconds)``."""
    from . import start

    with start(clock="held") as server:
        yield server


@pytest.fixture
def redis_url(miniredis_server: EmbeddedServer) -> str:
    """The URL of ``miniredis_server``: ``redis://127.0.0.1:PORT``."""
    return miniredis_server.url


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    """A ``redis.Redis`` client of ``miniredis_server``, closed after the test."""
    import redis

    with redis.Redis.from_url(redis_url) as client:
        yield client
