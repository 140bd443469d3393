"""miniredis' event loops, for tests that run on each of them."""

from __future__ import annotations

import contextlib
import selectors
from collections.abc import Iterator

import pytest

import miniredis
import miniredis.network.poll_loop
from miniredis.clock import ClockChoice
from miniredis.network.pollers import SelectorPoller
from miniredis.server import LoopChoice

__all__ = ["LOOPS", "started"]

LOOPS = ("poll", "selector", "streams")
"""The poll loop on epoll, the poll loop on a selector as other platforms have it, a task per stream."""


@contextlib.contextmanager
def started(loop: str, *, clock: ClockChoice = None, **directives: str) -> Iterator[miniredis.EmbeddedServer]:
    """Starts a server on one of ``LOOPS``."""
    with pytest.MonkeyPatch.context() as patch:
        if loop == "selector":
            patch.setattr(
                miniredis.network.poll_loop, "new_poller", lambda: SelectorPoller(selectors.DefaultSelector())
            )
        choice: LoopChoice = "streams" if loop == "streams" else "poll"
        with miniredis.start(clock=clock, engine=None, loop=choice, **directives) as server:
            yield server
