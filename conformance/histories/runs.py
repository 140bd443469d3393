"""Runs that are recorded: clients as threads, and as connections.

What each client does is luck that is the same for the same seed; when it does it is not. Values are
distinct: the client's name and a number. ``processes`` has the runs whose clients are processes that are
killed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from ..failure import Unsupported
from ..judging.running import Running
from .model import Facts, History
from .recorder import Notebook, RecordedConnection, RecordedQueue, Recorder

__all__ = ["QUEUE", "Plan", "connections", "consume", "produce", "threads"]

QUEUE: Final = "jobs"
"""The queue's name in the histories."""

MOST: Final = 4
"""Values that are put or got at once."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done on a queue.

    Attributes:
        operations: puts, about; those of several values count once.
        producers: how many clients put.
        consumers: how many get.
        kills: how many are killed, in turn of either; at least one of each is left.
        bound: of the queue.
        seed: of what each client does.
    """

    operations: int = 200
    producers: int = 4
    consumers: int = 4
    kills: int = 0
    bound: int = 4
    seed: int = 0

    @property
    def share(self) -> int:
        """The puts of each producer."""
        return max(self.operations // self.producers, 1)

    def clients(self) -> Iterator[tuple[str, str]]:
        """The role and the name of each client, producers and consumers in turn."""
        for place in range(max(self.producers, self.consumers)):
            for role, count in (("producer", self.producers), ("consumer", self.consumers)):
                if place < count:
                    yield role, f"{role[0]}{place}"


class _WorkFailed(Exception):  # noqa: N818  (work does)
    """What was to be done with a message failed."""


def produce(queue: RecordedQueue, client: str, puts: int, luck: random.Random) -> None:
    """Puts values, one or several at once."""
    number, counts = 0, [1, 1, 2, MOST]
    for _ in range(puts):
        count = luck.choice(counts)
        values = [f"{client}.{number + place}".encode() for place in range(count)]
        number += count
        with suppress(*_pressure_errors()):
            try:
                queue.put(values[0]) if count == 1 else queue.put_many(values)
            except Unsupported:
                if count == 1:
                    raise
                counts = [1]


def consume(queue: RecordedQueue, luck: random.Random) -> None:
    """Gets values in all ways that the client supports, until the queue is closed and empty."""
    from pressure import QueueClosedError

    ways = list(_WAYS)
    while True:
        way = luck.choice(ways)
        try:
            with suppress(*_pressure_errors(but=QueueClosedError), _WorkFailed):
                way(queue, luck)
        except QueueClosedError:
            return
        except Unsupported:
            if way is _get:
                raise
            ways.remove(way)


def _pressure_errors(but: type[Exception] | None = None) -> tuple[type[Exception], ...]:
    """The errors after which a client goes on."""
    import pressure

    names = "QueueInUseError QueueEmptyError QueueFullError QueueClosedError OutcomeUnknownError".split()
    return tuple(kind for name in names if (kind := getattr(pressure, name)) is not but)


def _get(queue: RecordedQueue, _: random.Random) -> None:
    queue.get()


def _get_now(queue: RecordedQueue, _: random.Random) -> None:
    queue.get(block=False)


def _get_many(queue: RecordedQueue, _: random.Random) -> None:
    queue.get_many(MOST)


def _receive(queue: RecordedQueue, luck: random.Random) -> None:
    with queue.receive():
        if luck.random() < 0.3:
            raise _WorkFailed


_WAYS: Final[Sequence[Callable[[RecordedQueue, random.Random], None]]] = (
    _get,
    _get,
    _get_now,
    _get_many,
    _receive,
)


def threads(
    make: Callable[[], Any], plan: Plan, facts: Callable[[], Facts], *, limit: float = 20.0
) -> History:
    """A run with clients as threads on a queue that has been created; producers try to put after its close.

    Args:
        make: makes a client under test.
        plan: what is to be done.
        facts: says at the end what is known of the run.
        limit: seconds after which it counts as stuck.

    Raises:
        TimeoutError: it is stuck.
        Exception: what a client raised that it should not.
    """
    notebook = Notebook()

    def client(name: str) -> RecordedQueue:
        return RecordedQueue(make(), Recorder(name, notebook))

    def producing(queue: RecordedQueue, name: str, puts: int) -> None:
        produce(queue, name, puts, random.Random(f"{plan.seed} {name}"))  # noqa: S311  (nothing here is secret)

    def consuming(name: str) -> None:
        consume(client(name), random.Random(f"{plan.seed} {name}"))  # noqa: S311

    producers = {f"p{place}": client(f"p{place}") for place in range(plan.producers)}
    putting = [Running(partial(producing, queue, name, plan.share)) for name, queue in producers.items()]
    getting = [Running(partial(consuming, f"c{place}")) for place in range(plan.consumers)]
    _join(putting, limit)
    client("closer").shutdown()
    _join([Running(partial(producing, queue, f"late-{name}", 1)) for name, queue in producers.items()], limit)
    _join(getting, limit)
    return History(notebook.operations, facts())


def _join(working: Sequence[Running[None]], limit: float) -> None:
    for each in working:
        try:
            each.result(limit)
        except TimeoutError:
            if each.done():
                raise
            raise TimeoutError(f"clients are stuck for {limit:.0f} s") from None


def connections(
    connect: Callable[[], Any], keys: Sequence[str], operations: int = 300, clients: int = 6, seed: int = 0
) -> History:
    """A run of commands on lists, from several connections at once.

    Args:
        connect: makes a raw connection.
        keys: the lists, which are empty.
        operations: how many in all.
        clients: how many connections.
        seed: of the commands.
    """
    notebook = Notebook()

    def working(place: int) -> None:
        luck = random.Random(f"{seed} {place}")  # noqa: S311  (nothing here is secret)
        connection = RecordedConnection(connect(), Recorder(f"c{place}", notebook))
        for name, key, *words in _commands(luck, keys, operations // clients, f"{place}"):
            connection.command(name, key, *words)

    with ThreadPoolExecutor(clients) as pool:
        for done in [pool.submit(working, place) for place in range(clients)]:
            done.result()
    return History(notebook.operations)


WAIT: Final = "0.002"
"""Seconds that a BLPOP waits; of one millisecond Redis 6.2 makes none, which is for ever."""


def _commands(luck: random.Random, keys: Sequence[str], count: int, mark: str) -> Iterator[Sequence[str]]:
    """Commands on lists; there are a few values only, so that LREM finds some."""
    for number in range(count):
        key, other = luck.choice(keys), luck.choice(keys)
        value, place = f"{mark}.{number}", str(luck.randrange(-4, 4))
        yield luck.choice((
            ("LPUSH", key, value), ("LPUSH", key, "a", value, "a"), ("RPUSH", key, value),
            ("RPUSH", key, "a", value, "a"),
            ("LPOP", key), ("RPOP", key), ("LPOP", key, "2"), ("RPOP", key, "2"), ("BLPOP", key, WAIT),
            ("LLEN", key), ("LINDEX", key, place), ("LRANGE", key, "0", "-1"), ("LRANGE", key, place, "2"),
            ("LTRIM", key, "-9", "-1"), ("LTRIM", key, "0", "8"), ("LREM", key, place, "a"),
            ("LMOVE", key, other, "LEFT", "RIGHT"), ("LMOVE", key, other, "RIGHT", "LEFT"), ("DEL", key),
        ))  # fmt: skip
