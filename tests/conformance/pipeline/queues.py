"""Legal histories of one queue, of all kinds of operations."""

from __future__ import annotations

from collections import deque
from random import Random

from conformance.histories.model import Operation


class Simulated:
    """A queue to which something is done, one thing after the other, each known to within some time."""

    def __init__(self, random: Random, queue: str) -> None:
        self.random, self.queue = random, queue
        self.now, self.names, self.most = 1000, 0, 0
        self.contents = deque[bytes]()
        self.operations: list[Operation] = []

    def did(self, name: str, argument: tuple[bytes, ...] = (), result: tuple[bytes, ...] | None = None, **others: str) -> None:  # fmt: skip
        client = others.get("client", f"c{len(self.operations)}")
        rest = self.random.random() < 0.35 or name in {"receive", "ack", "put_back"}
        self.now += 100 if rest else 7
        begun, over = (self.now - self.random.randrange(1, 30), self.now + self.random.randrange(1, 30))
        outcome, error = ("error", others["error"]) if "error" in others else ("ok", "")
        self.operations.append(
            Operation(client, self.queue, name, argument, result, begun, over, outcome, error)  # type: ignore[arg-type]
        )
        self.most = max(self.most, len(self.contents))

    def fresh(self, count: int) -> tuple[bytes, ...]:
        self.names += count
        return tuple(b"%d" % (self.names - count + number) for number in range(count))

    def put(self) -> None:
        values = self.fresh(1)
        self.contents.extend(values)
        self.did("put", values)

    def put_many(self) -> None:
        values = self.fresh(self.random.randrange(2, 6))
        done = self.random.randrange(len(values)) if self.random.random() < 0.2 else len(values)
        self.contents.extend(values[:done])
        if done < len(values):
            self.did("put_many", values, (b"%d" % done,), error="QueueInUseError")
        else:
            self.did("put_many", values)

    def get(self) -> None:
        if self.contents:
            self.did("get", (), (self.contents.popleft(),))
        else:
            self.did("get", error="QueueEmptyError")

    def get_many(self) -> None:
        if not self.contents:
            return
        count = self.random.randrange(1, 5)
        got = tuple(self.contents.popleft() for _ in range(min(count, len(self.contents))))
        self.did("get_many", (b"%d" % count,), got)

    def receive(self) -> None:
        if not self.contents:
            return
        value, client = self.contents[0], f"r{len(self.operations)}"
        self.did("receive", (), (value,), client=client)
        if self.random.random() < 0.6:
            self.contents.popleft()
            self.did("ack", (value,), client=client)
        else:
            self.did("put_back", (value,), client=client)


def simulated(random: Random, queue: str, steps: int) -> Simulated:
    done = Simulated(random, queue)
    doing = [done.put, done.put_many, done.put, done.get, done.get_many, done.get, done.receive]
    for _ in range(steps):
        random.choice(doing)()
    if random.random() < 0.3:
        done.did("close")
        done.did("get" if not done.contents else "put", error="QueueClosedError")
    return done
