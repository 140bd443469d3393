"""Queues of each kind on each kind of server, and readers and writers for them, without Spark."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
import redis

from conformance.targets import Address
from pressure import BackupQueue, Queue, ReliableQueue
from pressure.spark.options import Options, options_of
from pressure.spark.rows import Rows

KINDS = ("pressure", "backup", "reliable")
_numbers = itertools.count()


@pytest.fixture(params=["embedded_server", "real_server"])
def server(request: pytest.FixtureRequest) -> Address:
    address: Address = request.getfixturevalue(request.param)
    return address


@pytest.fixture
def raw(server: Address) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as client:
        yield client


class Place:
    """A queue by the client's own means; its kind may also be ``module``: reliable, with RedisMQ's commands."""

    def __init__(
        self, url: str, kind: str, stack: ExitStack, bound: int = 0, name: str | None = None
    ) -> None:
        self.url, self.name = url, name or f"q{next(_numbers)}"
        self.kind = "reliable" if kind == "module" else kind
        self.queue: Any
        if kind == "pressure":
            self.queue = Queue(self.name, url=url)
            self.queue.create(bound)
        elif kind == "backup":
            self.queue = BackupQueue(self.name, url=url)
        else:
            self.queue = ReliableQueue(self.name, url=url, backend="module" if kind == "module" else "stream")
        stack.callback(self.queue.disconnect)

    def put(self, *values: bytes) -> None:
        (self.queue.put_many(values) if self.kind == "pressure" else self.queue.push(*values))

    def look(self) -> list[bytes]:
        """What waits, the next first."""
        if self.kind == "pressure":
            return list(self.queue.peek_many(100_000))
        if self.kind == "backup":
            return [each.payload for each in self.queue.peek(100_000)]
        return [each.data for each in self.queue.inspect(0, 100_000)]

    def options(self, **given: object) -> Options:
        return options_of(
            {
                "queue": self.name,
                "url": self.url,
                "kind": self.kind,
                **{key: str(value) for key, value in given.items()},
            }
        )


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, server: Address) -> Iterator[Place]:
    """A queue of each kind."""
    with ExitStack() as stack:
        yield Place(server.url, request.param, stack)


@pytest.fixture
def make(server: Address) -> Iterator[Callable[..., Place]]:
    with ExitStack() as stack:
        yield lambda kind="pressure", bound=0: Place(server.url, kind, stack, bound)


class One(NamedTuple):
    """A row by itself."""

    value: bytes
    id: str | None
    enqueued: int | None
    deliveries: int


def each_of(rows: Rows) -> list[One]:
    count, deliveries = len(rows), rows.deliveries
    nothing = [None] * count
    numbers = [deliveries] * count if isinstance(deliveries, int) else deliveries
    return [*map(One, rows.values, rows.ids or nothing, rows.enqueued or nothing, numbers)]


def some(first: int, last: int) -> list[bytes]:
    return [b"row %d" % number for number in range(first, last)]
