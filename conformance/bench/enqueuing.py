"""What it takes to hand over a piece of work: ``pressure``'s put beside enqueuing with task queues on Redis.

They do more with it: a job has a key of its own, a result, a state. The rows are for orientation.

To compare with another one, add a function that makes what enqueues once, and a row to ``PEERS``.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

import redis

from pressure.extras import how_to_install

from .queues import VALUE, queue_at, rate
from .turns import MissingError, Pair
from .workbench import Measure, Workbench

__all__ = ["PEERS", "beside"]

Enqueue = Callable[[], object]


def with_rq(module: Any, url: str) -> Enqueue:
    """RQ, whose function is named and found by its workers, of which there are none here."""
    jobs = module.Queue("bench", connection=redis.Redis.from_url(url))
    return lambda: jobs.enqueue("len", VALUE)


def with_huey(module: Any, url: str) -> Enqueue:
    """Huey, whose tasks are made of functions."""
    task = module.RedisHuey("bench", url=url).task()(len)
    return lambda: task(VALUE)


PEERS: Final[Mapping[str, Callable[[Any, str], Enqueue]]] = {"rq": with_rq, "huey": with_huey}
"""What enqueues, by the name of the module that does it."""


def beside(peer: str) -> Measure:
    """Puts to a queue without a bound, beside the same with a peer, if it is installed."""

    def measure(bench: Workbench) -> Generator[Pair]:
        if importlib.util.find_spec(peer) is None:
            raise MissingError(f"{peer} is not installed: {how_to_install('frameworks')}")
        module = importlib.import_module(peer)
        for _ in bench.turns():
            with queue_at(bench, bound=0) as (queue, url):
                enqueue = PEERS[peer](module, url)
                yield Pair(rate(bench, lambda queue=queue: queue.put(VALUE)), rate(bench, enqueue))  # type: ignore[misc]

    return measure
