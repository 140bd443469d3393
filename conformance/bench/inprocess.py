"""redis-py without sockets: commands per second of one thread, on miniredis and on fakeredis."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import miniredis
from pressure.extras import how_to_install

from .model import MissingError, Pair
from .timing import samples
from .workbench import Workbench

__all__ = ["in_process_rates"]


def in_process_rates(bench: Workbench) -> Generator[Pair]:
    """Commands per second: ``server.client()`` of miniredis, and ``fakeredis.FakeRedis()``.

    SET, GET, INCR, LPUSH and RPOP in turn, each waited for.
    """
    if importlib.util.find_spec("fakeredis") is None:
        raise MissingError(f"fakeredis is not installed: {how_to_install('bench')}")
    import fakeredis  # an extra

    with ExitStack() as stack:
        server = stack.enter_context(miniredis.start())
        make = getattr(server, "client", None)
        if make is None:
            raise MissingError("this miniredis has no server.client()")
        ours = stack.enter_context(make())
        theirs = stack.enter_context(fakeredis.FakeRedis())
        for _ in bench.turns():
            yield Pair(rate(ours, bench.effort.seconds), rate(theirs, bench.effort.seconds))


def rate(client: Any, seconds: float) -> float:
    """Commands per second."""

    def once() -> float:
        begin = perf_counter()
        client.set("key", "xxx")
        client.get("key")
        client.incr("number")
        client.lpush("list", "xxx")
        client.rpop("list")
        return perf_counter() - begin

    times = samples(once, seconds)
    return 5 * len(times) / sum(times)
