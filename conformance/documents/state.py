"""The queue ``jobs`` as its keys show it, clients of it, and the other side of it played by hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from pressure import QueueDoesNotExistError

from ..clients.judged import Judged
from ..judging.environment import Environment, answered, expect

LONG: Final = 3600.0
"""Seconds; longer than any check takes."""

PRODUCER: Final = ":producer_free"

CONSUMER: Final = ":consumer_free"

COUNTERS: Final = tuple(
    f":stats:{done}_{unit}" for done in ("produced", "consumed") for unit in ("messages", "bytes")
)

SUFFIXES: Final = (
    "", ":bound", ":producer", ":consumer", PRODUCER, CONSUMER, *COUNTERS, ":not_full", ":closed",
)  # fmt: skip
"""The twelve keys, as what follows prefix and name."""

LISTS: Final = ("", ":closed", ":not_full", PRODUCER, CONSUMER, ":unacked", ":rejected")
"""The keys that are lists, and those of our own; the others are strings."""


def contents(env: Environment) -> dict[str, Any]:
    """All that the queue's keys hold, as bytes or as lists of bytes, by what follows prefix and name."""
    start, found = env.queue_key(), dict[str, Any]()
    with answered("KEYS"):
        keys: Any = env.redis.keys(f"{start}*")
    for suffix in sorted(key.decode().removeprefix(start) for key in keys):
        key = env.queue_key(suffix)
        found[suffix] = env.redis.lrange(key, 0, -1) if suffix in LISTS else env.redis.get(key)
    return found


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
    with answered("KEYS"):
        found: Any = env.redis.keys(f"{env.prefix}*")
    return len(found)


def counters(env: Environment) -> list[int]:
    """Messages and bytes produced, messages and bytes consumed."""
    return [int(text(env, suffix) or 0) for suffix in COUNTERS]


@contextmanager
def held(env: Environment, role: str) -> Iterator[None]:
    """Another client holds a role for as long as the block lasts; it has written its identifier, as the documents say."""
    expect(env.redis.rpop(env.queue_key(role)) is not None, True, f"{role} has an element to take")
    env.redis.set(env.queue_key(role.removesuffix("_free")), "another client")
    yield
    env.redis.lpush(env.queue_key(role), "back")


def expect_roles_free(env: Environment) -> None:
    """Fails unless both roles are free, with one element each."""
    expect((length(env, PRODUCER), length(env, CONSUMER)), (1, 1), "elements of the two role lists")


def full(env: Environment, bound: int = 2) -> Judged:
    """A client of a queue that is full."""
    queue = env.created(bound)
    for place in range(bound):
        queue.put(b"%d" % place)
    return queue


def filled(env: Environment, *contents: bytes) -> Judged:
    """A client of a queue with these values in it."""
    queue = env.created()
    for value in contents:
        queue.put(value)
    return queue


@contextmanager
def our_own(env: Environment, name: str | bytes, **settings: object) -> Iterator[Any]:
    """Our client with settings of its own; what another client calls them the documents do not say."""
    queue = env.ours(name, **settings)
    try:
        yield queue
    finally:
        queue.disconnect()


VARIABLES = ("REDIS_URL", "REDIS_SERVER", "REDIS_PORT", "REDIS_DB", "PRESSURE_PREFIX")


def only(**variables: str) -> dict[str, str]:
    """The environment with these of our variables, and none else."""
    return {name: value for name, value in os.environ.items() if name not in VARIABLES} | variables


def put_all(queue: Judged, messages: Iterable[bytes], *, close: bool = True) -> None:
    """Puts one message after the other, and then closes the queue or leaves it open."""
    for message in messages:
        queue.put(message)
    if close:
        queue.shutdown()


def get_some(queue: Judged, count: int) -> list[bytes]:
    """As many messages, got one after the other."""
    return [queue.get() for _ in range(count)]


def produce(env: Environment, messages: Iterable[bytes], *, close: bool) -> None:
    """``put_all`` with a client of its own."""
    put_all(env.queue(), messages, close=close)


def consume(env: Environment, count: int) -> list[bytes]:
    """``get_some`` with a client of its own."""
    return get_some(env.queue(), count)


def claimed(item: Any) -> Any:
    """The item that a claim returned; fails if it returned none."""
    expect(item is not None, True, "a claim returns an item of a queue that has some")
    return item


class MishapError(Exception):
    """What goes wrong in a block."""


def expect_no_queue(env: Environment, operate: Callable[[Judged], object], what: str) -> None:
    """Fails unless an operation says that there is no queue, and leaves no key."""
    env.start(lambda: operate(env.queue())).expect_error(QueueDoesNotExistError, f"{what} no queue")
    expect(count(env), 0, "keys that this left")


def whose(env: Environment, suffix: str) -> bytes:
    """What tells the client in its identifiers: each may say which role was held, and when."""
    return (text(env, suffix) or b"").partition(b"/")[0]


def expect_named(env: Environment, suffix: str, operate: Callable[[Judged], object]) -> None:
    """Fails unless an operation leaves the identifier that its client left before."""
    queue = env.created()
    queue.put(b"v")
    name = whose(env, ":producer")
    env.redis.set(env.queue_key(suffix), "somebody before")
    operate(queue)
    expect((bool(name), whose(env, suffix)), (True, name), f"a name, and the one in {suffix}")


def server_time(env: Environment) -> int:
    """The server's time in milliseconds."""
    seconds, microseconds = env.redis.time()
    return int(seconds) * 1000 + int(microseconds) // 1000


@contextmanager
def during(env: Environment, what: str) -> Iterator[list[float]]:
    """Fails unless the times that the block adds, in milliseconds of the server, are within the block."""
    seen: list[float] = []
    before = server_time(env)
    yield seen
    after = server_time(env)
    for each in seen:
        expect(before <= each <= after, True, f"{what}: {each:.0f} is from {before} to {after}")


def datas(items: Iterable[Any]) -> list[bytes]:
    """The bytes of items or messages."""
    return [each.data for each in items]
