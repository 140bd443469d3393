"""A plain model of RedisMQ's README on reliable queues: lists and dicts, searched from one end to the other.

It shares no code with the engine. A reply is text, an integer, None, a list, or an error as ``Refusal``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class Refusal(Exception):  # noqa: N818  (it is a reply)
    """An error, as a line."""


WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


@dataclass
class Item:
    number: tuple[int, int]
    payload: str
    given: int = 0
    times: int = 0

    @property
    def id(self) -> str:
        return f"{self.number[0]}-{self.number[1]}"

    def copy(self) -> Item:
        return Item(self.number, self.payload, self.given, self.times)


@dataclass
class Queue:
    last: tuple[int, int] = (0, 0)
    undelivered: list[Item] = field(default_factory=list)
    delivered: list[Item] = field(default_factory=list)

    def copy(self) -> Queue:
        lists = ([each.copy() for each in items] for items in (self.undelivered, self.delivered))
        return Queue(self.last, *lists)


@dataclass
class Waiter:
    client: int
    count: int
    keys: list[str]
    names: bool
    until: int | None


class Model:
    """A server that has reliable queues and strings."""

    def __init__(self, now: int) -> None:
        self.now = now  # wall, milliseconds
        self.steady = 0
        self.keys: dict[str, Queue | str] = {}
        self.deadlines: dict[str, int] = {}
        self.waiters: list[Waiter] = []
        self.told: list[tuple[int, Any]] = []  # to clients that waited, in order

    # Time

    def pass_time(self, passes: int, on_the_wall: int) -> None:
        self.now += on_the_wall
        self.steady += passes
        self.drop_expired()
        over = [each for each in self.waiters if each.until is not None and each.until <= self.steady]
        for waiter in over:
            self.waiters.remove(waiter)
            self.told.append((waiter.client, None))

    def drop_expired(self) -> None:
        for key in [key for key, until in self.deadlines.items() if until < self.now]:
            self.drop(key)

    # Commands

    def queue(self, key: str) -> Queue | None:
        value = self.keys.get(key)
        if isinstance(value, str):
            raise Refusal(WRONG_TYPE)
        return value

    def push(self, key: str, payloads: list[str]) -> Any:
        queue = self.queue(key)
        if queue is None:
            queue = self.keys[key] = Queue()
        ids = []
        for payload in payloads:
            milliseconds, sequence = queue.last
            if self.now > milliseconds:
                queue.last = (self.now, 1)
            else:
                queue.last = (milliseconds, sequence + 1)
            item = Item(queue.last, payload)
            queue.undelivered.append(item)
            ids.append(item.id)
        self.is_ready(key)
        return ids

    def pop(self, count: int, keys: list[str], *, names: bool) -> Any:
        queues = [self.queue(key) for key in keys]
        popped: list[Any] = []
        for key, queue in zip(keys, queues, strict=True):
            while queue is not None and queue.undelivered and len(popped) < count:
                item = queue.undelivered.pop(0)
                item.given, item.times = self.now, 1
                queue.delivered.append(item)
                popped.append([key, item.id, item.payload] if names else [item.id, item.payload])
        return popped or None

    def wait(self, client: int, count: int, keys: list[str], names: bool, timeout: int) -> None:
        until = self.steady + timeout if timeout else None
        self.waiters.append(Waiter(client, count, keys, names, until))

    def is_ready(self, key: str) -> None:
        """Serves the waiters for a key, which the server does when the command that pushed is over."""
        for waiter in list(self.waiters):
            queue = self.keys.get(key)
            if key in waiter.keys and isinstance(queue, Queue) and queue.undelivered:
                self.waiters.remove(waiter)
                self.told.append((waiter.client, self.pop(waiter.count, [key], names=waiter.names)))

    def ack(self, key: str, ids: list[str]) -> Any:
        queue = self.queue(key)
        if queue is None:
            return None
        found = []
        for each in ids:
            for item in queue.delivered:
                if item.id == each:
                    queue.delivered.remove(item)
                    found.append(each)
                    break
        return found

    def recover(self, key: str, count: int, elapsed: int) -> Any:
        queue = self.queue(key)
        if queue is None:
            return None
        due: list[Item] = []
        for item in queue.delivered:
            if len(due) == count or max(self.now - item.given, 0) < elapsed:
                break
            due.append(item)
        for item in due:
            queue.delivered.remove(item)
            queue.delivered.append(item)
            item.given = self.now
            item.times += 1
        return [[item.id, item.payload] for item in due]

    def inspect(self, key: str, pending: bool, start: int, count: int) -> Any:
        queue = self.queue(key)
        if queue is None:
            raise Refusal("EMPTYKEY")
        items = queue.delivered if pending else queue.undelivered
        places = (
            range(start, start + count)
            if start >= 0
            else range(len(items) + start, len(items) + start + count)
        )
        if places[0] < 0:
            return []
        shown = [items[place] for place in places if place < len(items)]
        if not pending:
            return [[item.id, item.payload] for item in shown]
        return [
            [item.id, item.payload, item.given, max(self.now - item.given, 0), item.times] for item in shown
        ]

    def info(self, key: str) -> Any:
        queue = self.queue(key)
        if queue is None:
            raise Refusal("EMPTYKEY")
        return [
            "last-id", f"{queue.last[0]}-{queue.last[1]}",
            "undelivered-queue-length", len(queue.undelivered),
            "delivered-queue-length", len(queue.delivered),
        ]  # fmt: skip

    # Keys of any type

    def drop(self, key: str) -> int:
        self.deadlines.pop(key, None)
        return int(self.keys.pop(key, None) is not None)

    def set_string(self, key: str) -> None:
        self.drop(key)
        self.keys[key] = "text"

    def rename(self, old: str, new: str) -> Any:
        if old not in self.keys:
            raise Refusal("ERR no such key")
        if old != new:
            value, until = self.keys[old], self.deadlines.get(old)
            self.drop(old)
            self.put(new, value, until)
        return True

    def copy(self, old: str, new: str) -> Any:
        if old == new:
            raise Refusal("ERR source and destination objects are the same")
        if old not in self.keys:
            return 0
        value = self.keys[old]
        self.put(new, value if isinstance(value, str) else value.copy(), self.deadlines.get(old))
        return 1

    def put(self, key: str, value: Queue | str, until: int | None) -> None:
        self.drop(key)
        self.keys[key] = value
        if until is not None:
            self.deadlines[key] = until
        self.is_ready(key)

    def expire(self, key: str, milliseconds: int) -> Any:
        if key not in self.keys:
            return 0
        self.deadlines[key] = self.now + milliseconds
        if milliseconds <= 0:
            self.drop(key)
        return 1
