"""Actors for Dramatiq: its command is given the broker at the end."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import GroupCallbacks
from dramatiq.rate_limits import ConcurrentRateLimiter
from dramatiq.rate_limits.backends import RedisBackend as RedisLimits
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend as RedisResults

from .effects import OnPurposeError, note, note_time, server, third_time, wait_for


def broker_of(url: str) -> Any:
    """A broker with its actors: in ``broker.all``."""
    broker: Any = RedisBroker(url=url, maintenance_chance=200_000)  # of a million: to see some maintenance
    broker.limits = RedisLimits(url=url)
    broker.add_middleware(Results(backend=RedisResults(url=url), store_results=True))
    broker.add_middleware(GroupCallbacks(broker.limits))
    broker.all = SimpleNamespace(**simple(broker), **rare(broker))
    return broker


def simple(broker: Any) -> dict[str, Any]:
    @dramatiq.actor(broker=broker)
    def square(key: str, number: int) -> int:
        note(key, number)
        return number * number

    @dramatiq.actor(broker=broker, max_retries=0)
    def fail() -> None:
        raise OnPurposeError("as the test asked")

    @dramatiq.actor(broker=broker, min_backoff=10, max_backoff=20)
    def come_around(key: str) -> int:
        return third_time(key)

    @dramatiq.actor(broker=broker)
    def clock(key: str) -> None:
        note_time(key)

    return {"square": square, "fail": fail, "come_around": come_around, "clock": clock}


def rare(broker: Any) -> dict[str, Any]:
    @dramatiq.actor(broker=broker, min_backoff=10, max_backoff=20, max_retries=1000)
    def alone(key: str, gate: str) -> int:
        with ConcurrentRateLimiter(broker.limits, f"{key}:limit", limit=1).acquire():
            running = int(server().incr(f"{key}:running"))
            note(key, running)
            wait_for(gate)
            server().decr(f"{key}:running")
        return running

    @dramatiq.actor(broker=broker, queue_name="other", priority=5)
    def elsewhere(key: str, word: str) -> None:
        note(key, word)

    return {"alone": alone, "elsewhere": elsewhere}


broker = broker_of(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
