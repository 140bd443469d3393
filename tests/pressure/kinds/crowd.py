"""Workers that are killed as they work: ``python -m tests.pressure.kinds.crowd KIND URL ITEMS SECONDS SEED``.

One process forks eight workers, kills one of them after the other with SIGKILL, at random and with new ones in
their place, and plays the producer and the reaper. It does so for so many seconds, and then lets them come to an
end. Each worker counts an item as done and then completes it. Prints what became of it all, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import redis

import pressure

WORKERS = 8
PATIENCE = 0.5
"""Seconds after which something that is claimed counts as left behind."""

Take = Callable[[Any], Iterator[bytes]]


def backup(queue: Any) -> Iterator[bytes]:
    while True:
        with contextlib.suppress(pressure.QueueEmptyError), queue.take(timeout=0.2) as item:
            yield item.data


def ring(queue: Any) -> Iterator[bytes]:
    while True:
        try:
            with queue.take(PATIENCE) as item:
                yield item.data
        except pressure.QueueEmptyError:
            time.sleep(0.01)


def reliable(queue: Any) -> Iterator[bytes]:
    while True:
        for message in queue.recover(PATIENCE) or queue.pop(timeout=0.2):
            yield message.data
            if not queue.ack(message):
                raise pressure.ItemLostError("too late")


KINDS: dict[str, tuple[str, Take]] = {
    "backup": ("BackupQueue", backup),
    "ring": ("RingQueue", ring),
    "reliable": ("ReliableQueue", reliable),
}


def work(kind: str, url: str) -> None:
    """A worker's life."""
    name, take = KINDS[kind]
    client = redis.Redis.from_url(url)
    queue = getattr(pressure, name)("jobs", url=url)
    while True:
        with contextlib.suppress(pressure.ItemLostError):
            try:
                for data in take(queue):
                    client.hincrby("done", data.decode(), 1)
            except pressure.ItemLostError:
                client.incr("late")
                raise


class Crowd:
    """The workers, and who kills them."""

    def __init__(self, kind: str, url: str, seed: int) -> None:
        self.kind = kind
        self.url = url
        self.random = random.Random(seed)  # noqa: S311, the same for the same seed
        self.workers: list[int] = []
        self.kills = self.recovered = 0
        self.client = redis.Redis.from_url(url)
        self.queue: Any = getattr(pressure, KINDS[kind][0])("jobs", url=url)

    def fork(self) -> None:
        worker = os.fork()
        if worker == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                work(self.kind, self.url)
            finally:
                os._exit(1)
        self.workers.append(worker)

    def kill(self) -> None:
        worker = self.workers.pop(self.random.randrange(len(self.workers)))
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
        self.kills += 1

    def reap(self) -> None:
        if self.kind == "backup":
            self.recovered += len(self.queue.requeue_stale(PATIENCE))

    def run(self, items: int, seconds: float) -> dict[str, Any]:
        begin, pushed = time.monotonic(), 0
        for _ in range(WORKERS):
            self.fork()
        while pushed < items:
            due = min(int(items * (time.monotonic() - begin) / seconds) + 1, items)
            self.queue.push(*(b"%d" % number for number in range(pushed, due)))
            pushed = due
            time.sleep(self.random.uniform(0, 0.1))
            self.kill()
            self.fork()
            self.reap()
        while not self.over(items):
            self.reap()
            time.sleep(0.02)
        return self.verdict(items)

    def over(self, items: int) -> bool:
        if int(self.client.hlen("done")) < items:
            return False
        if self.kind == "reliable":
            info = self.queue.info()
            return bool(info.undelivered + info.delivered == 0)
        left = self.queue.length() + (len(self.queue.in_progress()) if self.kind == "backup" else 0)
        return bool(left == 0)

    def verdict(self, items: int) -> dict[str, Any]:
        done: Any = self.client.hgetall("done")
        return {
            "missing": items - len(done),
            "twice": sum(int(count) - 1 for count in done.values()),
            "kills": self.kills,
            "recovered": self.recovered,
            "late": int(self.client.get("late") or 0),
        }

    def end(self) -> None:
        for worker in self.workers:
            os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)


def main() -> None:
    kind, url, items, seconds, seed = sys.argv[1:]
    crowd = Crowd(kind, url, int(seed))
    try:
        sys.stdout.write(json.dumps(crowd.run(int(items), float(seconds))))
    finally:
        crowd.end()


if __name__ == "__main__":
    main()
