"""A queue's keys, and who waits where: taken from a queue that is put to, got from and closed on miniredis.

What kind of value each key has, the server says. Where an operation waits is what it asks its driver for when
it cannot go on; it is stopped there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from redis import Redis

import miniredis
from conformance.bench import svg
from pressure import Queue, protocol
from pressure.connections.arguments import settings
from pressure.connections.settings import Settings
from pressure.keys import Keys
from pressure.protocol import Context, Deadline, Operation, Wait
from pressure.sync.driver import Driver

from .shapes import arrow

__all__ = ["SHOWN", "Seen", "look", "make"]

NAME, BOUND = "jobs", 3
VALUES: Final = (b"a", b"b", b"c")
KEY, TYPE, NOTE = 32, 176, 232
"""Where a line says what."""
ROW: Final = 25


@dataclass(frozen=True, slots=True)
class Seen:
    """What a real queue showed.

    Attributes:
        root: what its keys begin with.
        types: the type of each of its twelve keys, by what the key adds to the queue's name.
        values: what was in it when it was full, as Redis has it: newest first.
        waits: the same keys on which each of ``SITUATIONS`` waited.
    """

    root: str
    types: dict[str, str]
    values: list[str]
    waits: dict[str, tuple[str, ...]]


Ask = Callable[[Context, Deadline], Operation[Any]]

PRODUCERS, CONSUMERS = "other producers", "other consumers"
FULL, EMPTY, CLOSING = "put, while full", "get, while empty", "wait_closed"

SITUATIONS: Final[dict[str, Ask]] = {
    PRODUCERS: lambda ctx, deadline: protocol.put(ctx, b"d", deadline),
    FULL: lambda ctx, deadline: protocol.put(ctx, b"d", deadline),
    EMPTY: protocol.get,
    CLOSING: protocol.wait_closed,
    CONSUMERS: protocol.get,
}
"""Who waits, and the operation that does."""

SHOWN: Final = {
    "": "the values, newest left",
    ":bound": "how many it may hold",
    ":producer_free": "empty while in use",
    ":producer": "who took the role last",
    ":not_full": "empty while it is full",
    ":consumer_free": "empty while in use",
    ":consumer": "who took the role last",
    ":closed": "empty until it is closed",
    ":stats:produced_messages": "",
    ":stats:produced_bytes": "",
    ":stats:consumed_messages": "",
    ":stats:consumed_bytes": "",
}
"""What is said of each key."""

PARTS: Final = {
    "To put": (":producer_free", ":producer", ":not_full"),
    "The queue": ("", ":bound", ":closed"),
    "To get": (":consumer_free", ":consumer"),
    "Counters": tuple(suffix for suffix in SHOWN if ":stats:" in suffix),
}
"""Which keys are drawn together."""


def look() -> Seen:
    """Takes a queue through a life, and looks at it."""
    with miniredis.start() as server, Redis.from_url(server.url) as client:
        where = settings(url=server.url)
        with Queue(NAME, url=server.url) as queue:
            queue.create(BOUND)
            keys = queue.keys
            waits = {who: waited_on(where, keys, who) for who in (EMPTY, CLOSING)}
            queue.put_many(VALUES)
            full: Any = client.lrange(keys.queue, 0, -1)
            waits[FULL] = waited_on(where, keys, FULL)
            for role, who in ((keys.producer_free, PRODUCERS), (keys.consumer_free, CONSUMERS)):
                client.rpop(role)  # as a client does that takes the role
                waits[who] = waited_on(where, keys, who)
                client.lpush(role, 0)
            queue.get()
            queue.shutdown()
        types: dict[str, Any] = {short(keys, key): client.type(key) for key in keys.twelve}
    return Seen(
        root=keys.queue.decode(),
        types={key: kind.decode() for key, kind in types.items()},
        values=[value.decode() for value in full],
        waits={who: waits[who] for who in SITUATIONS},
    )


def short(keys: Keys, key: bytes) -> str:
    """What a key adds to the name of its queue."""
    return key.removeprefix(keys.queue).decode()


def waited_on(where: Settings, keys: Keys, who: str) -> tuple[str, ...]:
    """The keys on which an operation would wait; it is stopped there."""
    ctx = Context(keys, time.monotonic)
    driver = Driver(where)
    try:
        driver.run(up_to_its_wait(SITUATIONS[who](ctx, Deadline.of(ctx))))
    except WaitsError as wait:
        return tuple(short(keys, key) for key in wait.lists)
    finally:
        driver.connections.disconnect()
    raise AssertionError(f"{who}: it did not have to wait")


class WaitsError(Exception):
    """An operation would wait on these lists."""

    def __init__(self, lists: tuple[bytes, ...]) -> None:
        self.lists = lists


def up_to_its_wait(operation: Operation[Any]) -> Operation[Any]:
    """The same operation, stopped where it would wait: it gives its role back, and raises WaitsError."""
    step = next(operation)
    while True:
        if isinstance(step, Wait):
            step = operation.throw(WaitsError(lists_of(step)))
        try:
            step = operation.send((yield step))
        except StopIteration as stop:
            return stop.value


def lists_of(wait: Wait) -> tuple[bytes, ...]:
    """What a blocking pop pops from."""
    name, *lists, _timeout = wait.commands[0]
    return tuple(each for each in (lists if name == b"BRPOP" else lists[:1]) if isinstance(each, bytes))


def make() -> bytes:
    """The picture."""
    return as_svg(look()).encode()


def as_svg(seen: Seen) -> str:
    """The picture of what was seen."""
    parts = [svg.text(20, 36, f"The twelve keys of a queue, {NAME}", 21, "ink bold"), *flow(seen)]
    parts += [svg.text(20, 148, f"Names begin with {seen.root}", 16, "soft"), *waiting(20, 174, "waits here")]
    y = 190.0
    for title, suffixes in PARTS.items():
        shapes, end = part(seen, title, suffixes, y)
        parts += shapes
        y = end + 12
    who = "; ".join(f"{who} at {' and '.join(NAME + each for each in at)}" for who, at in seen.waits.items())
    return svg.document("The keys of a queue, and who waits where", f"Who waits: {who}.", y + 4, parts)


def flow(seen: Seen) -> list[str]:
    """Values on their way from a producer to a consumer."""
    right = svg.WIDTH - 20
    parts = [svg.text(20, 98, "producer", 17), svg.text(right, 98, "consumer", 17, anchor="end")]
    for left, command in ((106, "LPUSH"), (318, "RPOP")):
        parts += [arrow([(left, 92), (left + 54, 92)]), svg.text(left + 2, 82, command, 16, face="mono")]
    for place, value in enumerate(seen.values):
        x = 179 + 42 * place
        parts += [svg.box(x, 74, 38, 36, "panel", "good"), svg.text(x + 19, 98, value, 17, anchor="middle")]
    return parts


def part(seen: Seen, title: str, suffixes: Sequence[str], top: float) -> tuple[list[str], float]:
    """Keys that belong together, in a frame; and where it ends."""
    y, rows = top + 30, [svg.text(KEY, top + 24, title, 17, "good bold")]
    for suffix in suffixes:
        y += ROW
        rows.append(svg.text(KEY, y, suffix or NAME, 16, "ink bold" if not suffix else "ink", face="mono"))
        if SHOWN[suffix]:
            rows.append(svg.text(TYPE, y, seen.types[suffix], 16, "soft"))
            rows.append(svg.text(NOTE, y, SHOWN[suffix], 16))
        for who in (who for who, keys in seen.waits.items() if suffix in keys):
            y += ROW
            rows += waiting(NOTE, y, who)
    return [svg.box(16, top, svg.WIDTH - 32, y + 14 - top, "panel", radius=6), *rows], y + 14


def waiting(x: float, y: float, who: str) -> list[str]:
    """Somebody who waits: two upright bars, as on a button that pauses."""
    bars = [svg.box(x + at, y - 12, 4, 13, "wait", radius=1) for at in (0, 7)]
    return [*bars, svg.text(x + 18, y, who, 16, "wait bold")]
