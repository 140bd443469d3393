"""Reliable queues for the checks of this package, as a check needs them."""

from __future__ import annotations

from typing import Any

from ...judging.environment import Environment, exactly, expect
from ...judging.running import PATIENCE
from ..state import MishapError


def made(env: Environment, *values: bytes, **options: Any) -> Any:
    """A queue that holds these."""
    queue = env.kind("ReliableQueue", **options)
    queue.push(*values)
    return queue


def popped(queue: Any, count: int = 1) -> Any:
    """So many messages, popped at once; fails if there are more or fewer, and does not wait for ever."""
    return exactly(count, queue.pop(count, timeout=PATIENCE), "messages that a pop delivers")


def counts(queue: Any) -> tuple[int, int, int, int]:
    """Undelivered, delivered, delayed, dead."""
    info = queue.info()
    return info.undelivered, info.delivered, info.delayed, info.dead


def dead_of(env: Environment, *values: bytes) -> Any:
    """A queue whose messages have all been given up."""
    queue = made(env, *values, max_deliveries=1)
    for message in popped(queue, len(values)):
        queue.retry(message, 0, MishapError("no customer"))
    return queue


def pass_moment(env: Environment, queue: Any, seconds: float = 0.05) -> None:
    """Waits until everything was delivered so long ago; there are at most a hundred messages."""
    env.until(lambda: all(each.idle > seconds for each in queue.pending(count=100)), "had time passed")


def pass_time(env: Environment, seconds: float) -> None:
    """Lets time pass for what is delayed."""
    members: Any = env.redis.zrange(env.key("jobs:delayed"), 0, -1)
    for member in members:
        env.redis.zincrby(env.key("jobs:delayed"), -1000 * seconds, member)


def expect_time(seconds: float, first: int, last: int) -> None:
    """Fails unless a time is within these milliseconds of the server."""
    is_within = first - 2 <= seconds * 1000 <= last + 2
    expect(is_within, True, f"whether a message was delivered at {seconds} s, from {first} ms to {last} ms")
