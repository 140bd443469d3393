"""The queue ``jobs`` as its keys show it, and the other side of it played by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from ..judging.environment import Environment, expect

__all__ = [
    "CONSUMER",
    "PRODUCER",
    "SUFFIXES",
    "count",
    "counters",
    "expect_roles_free",
    "held",
    "length",
    "number",
    "text",
    "values",
]

PRODUCER: Final = ":producer_free"
CONSUMER: Final = ":consumer_free"

SUFFIXES: Final = (
    "", ":bound", ":producer", ":consumer", PRODUCER, CONSUMER, ":stats:produced_messages",
    ":stats:produced_bytes", ":stats:consumed_messages", ":stats:consumed_bytes", ":not_full", ":closed",
)  # fmt: skip
"""The twelve keys, as what follows prefix and name."""


def length(env: Environment, suffix: str) -> int:
    """How many elements one of the queue's lists has."""
    size: Any = env.redis.llen(env.queue_key(suffix))
    return int(size)


def values(env: Environment) -> list[bytes]:
    """The values that wait, the oldest first."""
    found: Any = env.redis.lrange(env.queue_key(), 0, -1)
    return list(reversed(found))


def text(env: Environment, suffix: str) -> bytes | None:
    """One of the queue's strings."""
    found: Any = env.redis.get(env.queue_key(suffix))
    return None if found is None else bytes(found)


def number(env: Environment, counter: str) -> int:
    """One of the queue's counters, such as ``produced_messages``."""
    return int(text(env, f":stats:{counter}") or 0)


def count(env: Environment) -> int:
    """How many keys this check has on the server."""
    found: Any = env.redis.keys(f"{env.prefix}*")
    return len(found)


def counters(env: Environment) -> list[int]:
    """Messages and bytes produced, messages and bytes consumed."""
    return [
        number(env, f"{done}_{unit}") for done in ("produced", "consumed") for unit in ("messages", "bytes")
    ]


@contextmanager
def held(env: Environment, role: str) -> Iterator[None]:
    """Another client holds a role for as long as the block lasts."""
    expect(env.redis.rpop(env.queue_key(role)) is not None, True, f"{role} has an element to take")
    yield
    env.redis.lpush(env.queue_key(role), "back")


def expect_roles_free(env: Environment) -> None:
    """Fails unless both roles are free, with one element each."""
    expect((length(env, PRODUCER), length(env, CONSUMER)), (1, 1), "elements of the two role lists")
