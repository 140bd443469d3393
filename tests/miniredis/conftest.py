"""Fixtures: a fresh miniredis for each test, on each of its event loops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import miniredis

from .loops import LOOPS, started


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> str:
    """How the server waits for its clients."""
    return str(request.param)


@pytest.fixture
def server(loop: str) -> Iterator[miniredis.EmbeddedServer]:
    """A server in this process, on that loop."""
    with started(loop) as server:
        yield server
