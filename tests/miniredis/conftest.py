"""Fixtures: a fresh miniredis for each test, on each of its event loops.

The default run leaves out the poller of other platforms.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import miniredis

from ..cases import exhaustive
from .loops import LOOPS, started


@pytest.fixture(params=[exhaustive(each, when=each == "selector") for each in LOOPS])
def loop(request: pytest.FixtureRequest) -> str:
    """How the server waits for its clients."""
    return str(request.param)


@pytest.fixture
def server(loop: str) -> Iterator[miniredis.EmbeddedServer]:
    """A server in this process, on that loop."""
    with started(loop) as server:
        yield server
