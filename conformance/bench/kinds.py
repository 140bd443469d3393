"""The other kinds of queues: a push, a take and a completion, against the same pattern by hand on redis-py.

What is done by hand is what their documents say, and no more: no times of claims, no tokens that are looked
at, no delays, no dead letters. In these rows "ours" is ``pressure``.

To add a kind, write a function for either side, and add a row to ``PATTERNS``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import redis

import pressure

from .queues import VALUE, rate
from .turns import Pair
from .workbench import Measure, Workbench

__all__ = ["PATTERNS", "Pattern", "by_hand"]

Once = Callable[[], object]

KEY: Final = "hand"
TTL: Final = 60.0


def backup(url: str) -> tuple[pressure.BackupQueue, Once]:
    """A queue with an in-progress list."""
    queue = pressure.BackupQueue("bench", url=url)

    def once() -> None:
        queue.push(VALUE)
        item = queue.claim()
        assert item is not None
        queue.complete(item)

    return queue, once


def backup_by_hand(client: Any) -> None:
    """Its three commands."""
    client.lpush(KEY, VALUE)
    client.lrem("processing", 1, client.lmove(KEY, "processing", "RIGHT", "LEFT"))


def ring(url: str) -> tuple[pressure.RingQueue, Once]:
    """A circular buffer with locks."""
    queue = pressure.RingQueue("bench", url=url)

    def once() -> None:
        queue.push(VALUE)
        item = queue.claim(TTL)
        assert item is not None
        queue.complete(item)

    return queue, once


def ring_by_hand(client: Any) -> None:
    """Its five commands."""
    client.lpush(KEY, VALUE)
    item = client.rpoplpush(KEY, KEY)
    client.set(b"lock:" + item, b"locked", nx=True, px=int(1000 * TTL))
    client.lrem(KEY, 1, item)
    client.delete(b"lock:" + item)


def reliable(backend: str, url: str) -> tuple[pressure.ReliableQueue, Once]:
    """Messages that are acknowledged."""
    queue = pressure.ReliableQueue("bench", url=url, backend=backend)

    def once() -> None:
        queue.push(VALUE)
        queue.ack(*queue.pop())

    return queue, once


def module_by_hand(client: Any) -> None:
    """RedisMQ's three commands."""
    client.execute_command("MQ.PUSH", KEY, VALUE)
    ((id_, _),) = client.execute_command("MQ.POP", 1, KEY)
    client.execute_command("MQ.ACK", KEY, id_)


def stream_by_hand(client: Any) -> None:
    """A consumer group's three commands, and one that frees memory; the group is made when it is missed."""
    client.xadd(KEY, {"payload": VALUE})
    try:
        ((_, ((id_, _),)),) = client.xreadgroup("workers", "one", {KEY: ">"}, count=1)
    except redis.ResponseError:
        client.xgroup_create(KEY, "workers", 0)
        return stream_by_hand(client)
    client.xack(KEY, "workers", id_)
    client.xdel(KEY, id_)
    return None


Ours = Callable[[str], tuple[Any, Once]]
Theirs = Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A kind of queue, and the same by hand.

    Attributes:
        title: the kind, for people.
        ours: makes a queue, and what puts one message through it.
        theirs: puts one message through it by hand.
        servers: those that it is measured on.
    """

    title: str
    ours: Callable[[str], tuple[Any, Once]]
    theirs: Callable[[Any], object]
    servers: tuple[str, ...] = ("redis-server", "miniredis")


PATTERNS: Final[Mapping[str, Pattern]] = {
    "backup": Pattern("BackupQueue", backup, backup_by_hand),
    "ring": Pattern("RingQueue", ring, ring_by_hand),
    "reliable-stream": Pattern("ReliableQueue, a stream", partial(reliable, "stream"), stream_by_hand),
    "reliable-redismq": Pattern(
        "ReliableQueue, RedisMQ", partial(reliable, "module"), module_by_hand, ("miniredis",)
    ),
}
"""By the name that their rows have."""


def by_hand(name: str, server: str) -> Measure:
    """Messages a second that one client pushes, takes and completes, one by one."""
    pattern = PATTERNS[name]

    def measure(bench: Workbench) -> Generator[Pair]:
        url = f"redis://127.0.0.1:{bench.server(server).port}/0"
        queue, once = pattern.ours(url)
        with queue, redis.Redis.from_url(url, protocol=2) as client:
            for _ in bench.turns():
                yield Pair(rate(bench, once), rate(bench, lambda: pattern.theirs(client)))

    return measure
