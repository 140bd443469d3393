"""One run: a server, rows, a pipeline, what is done to them, and what came of it.

To add a kind of harm: a function, and a row in ``KINDS``.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any, Final

from conformance.targets import Address
from miniredis.testing.real_servers import free_port
from pressure import Queue

from ..front import Front
from ..servers import Servers
from .feed import Feed, is_odd
from .judge import Kept, wrong
from .pipeline import Pipeline

__all__ = ["Run"]

SOURCE, TARGET, ODD = "spark-source", "spark-target", "spark-odd"
#: Seconds that a frozen or cut off pipeline stays so at most: longer than the lease of its queue.
LASTS: Final = 15.0
#: Seconds within which a pipeline has to move something, and has to drain the queue in the end.
LIMIT: Final = 900.0
#: The numbers of the rows in a list, a thousand from a place on, the oldest first. The rows themselves stay in the server.
NUMBERS: Final = """
local rows, found = redis.call('LRANGE', KEYS[1], -(ARGV[1] + 1000), -(ARGV[1] + 1)), {}
for at = #rows, 1, -1 do found[#found + 1] = tonumber(string.match(rows[at], '%d+')) end
return found
"""


class Run:
    """All of it together.

    Attributes:
        blows: what was done, and how often.
        kept: what the server had after each time it went back.
        by_rollbacks: what became of rows because of that, by queue.
    """

    def __init__(self, stack: ExitStack, rate: float, master: str, luck: Random) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spark-chaos-")))
        self.luck = luck
        self.kinds = {name: kind for name, kind in KINDS.items() if name != EXECUTOR or not is_local(master)}
        self.servers = Servers(folder)
        stack.callback(self.servers.stop)
        self.front = stack.enter_context(Front(self.servers.address))
        self.queues = [
            stack.enter_context(Queue(name, url=self.servers.address.url)) for name in (SOURCE, TARGET, ODD)
        ]
        for queue in self.queues:
            queue.create()
        words = f"--url {self.front.url} --from {SOURCE} --to {TARGET} --dead {ODD} --format text --master {master}"
        self.pipeline = Pipeline(folder, words.split())
        stack.callback(self.pipeline.kill)
        self.feed = Feed(self.servers.address.url, SOURCE, rate)
        self.blows: Counter[str] = Counter()
        self.kept: list[Kept] = []
        self.by_rollbacks: dict[str, str] = {}

    def moved(self) -> int:
        """How many rows have come out."""
        return sum(self.servers.master.ask("LLEN", f"__pressure__:{name}") or 0 for name in (TARGET, ODD))

    def harm(self, seconds: float, pause: float) -> None:
        """Strikes whenever rows move, until the time is over."""
        end = time.monotonic() + seconds
        self.feed.start()
        while time.monotonic() < end:
            if not self.pipeline.is_running:
                self.pipeline.start()
            if self._moves():
                time.sleep(self.luck.uniform(0, pause))  # any moment of a batch
                kind = self.luck.choices([*self.kinds], [each[0] for each in self.kinds.values()])[0]
                self.blows[kind] += 1
                _, strike, heal = self.kinds[kind]
                strike(self)
                if heal is not None:
                    time.sleep(self.luck.uniform(0, LASTS))
                    heal(self)

    def _moves(self) -> bool:
        """Waits until a row has come out; False if the pipeline ended before."""
        before, deadline = self.moved(), time.monotonic() + LIMIT
        while self.pipeline.is_running:
            if self.moved() > before:
                return True
            if time.monotonic() > deadline:
                raise TimeoutError(f"no row was moved for {LIMIT:.0f} s; blows: {dict(self.blows)}")
            time.sleep(0.05)
        return False

    def drain(self) -> None:
        """Lets the pipeline end its work."""
        self.feed.stop()
        self.front.hang_up()
        process, deadline = self.pipeline.process, time.monotonic() + LIMIT
        if process is not None and self.pipeline.is_running:
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT)
        while self.queues[0].length() or self.queues[0].stats().unacknowledged:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the queue was not drained in {LIMIT:.0f} s: {dict(self.pipeline.ends)}")
            self.pipeline.start("--drain").wait(LIMIT)
        self.pipeline.look()

    def wrong(self) -> list[str]:
        """What does not hold."""
        found: list[str] = []
        for name, odd in ((TARGET, False), (ODD, True)):
            wanted = {each for each in self.feed.put if is_odd(each) is odd}
            some, self.by_rollbacks[name] = wrong(
                self.numbers(name), wanted, self.feed.unknown, self.kept, self.pipeline.told
            )
            found += [f"{name}: {each}" for each in some]
        return found

    def numbers(self, name: str) -> list[int]:
        """Those of the rows in a queue, the oldest first."""
        return self._numbers(f"__pressure__:{name}")

    def _numbers(self, key: str) -> list[int]:
        found: list[int] = []
        while some := self._asked("EVAL", NUMBERS, 1, key, len(found)):
            found += some
        return found

    def _asked(self, *words: str | int) -> Any:
        if (reply := self.servers.master.ask(*words)) is None:
            raise TimeoutError(f"the server does not answer {words[0]}")
        return reply

    def look(self) -> Kept:
        """What the server has while nobody changes anything."""
        (first,) = self._asked("HMGET", f"__spark__:source:__pressure__:{SOURCE}", "first")
        decided = (
            f"__spark__:stage:{stage}:{marker.decode().split(':', 3)[3]}"
            for marker in self._asked("KEYS", "__spark__:sink:*")
            for stage in (self._asked("HMGET", marker.decode(), "lists")[0] or b"").decode().split()
        )
        out = [f"__pressure__:{TARGET}", f"__pressure__:{ODD}", *decided]
        return Kept(
            int(first or 0),
            self.numbers(f"{SOURCE}:unacked"),
            self.numbers(SOURCE),
            frozenset(each for key in out for each in self._numbers(key)),
        )


def kill_driver(run: Run) -> None:
    run.pipeline.kill()


def is_local(master: str) -> bool:
    return master.startswith("local[")


def kill_one(run: Run, processes: Sequence[int]) -> None:
    if processes:
        with suppress(ProcessLookupError):
            os.kill(run.luck.choice(processes), signal.SIGKILL)


def kill_worker(run: Run) -> None:
    kill_one(run, run.pipeline.workers)


def kill_executor(run: Run) -> None:
    kill_one(run, run.pipeline.executors)


def freeze_driver(run: Run) -> None:
    run.pipeline.signal(signal.SIGSTOP)


def thaw_driver(run: Run) -> None:
    run.pipeline.signal(signal.SIGCONT)


def restart_server(run: Run) -> None:
    run.servers.restart()


def roll_back(run: Run) -> None:
    """The server loses its last second. Nobody does anything until it is known what was claimed then."""
    with run.feed.quiet:
        put, noted = len(run.feed.put), run.servers.master.noted()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        time.sleep(0.05)
    address, run.front.address = run.front.address, Address(f"redis://127.0.0.1:{free_port()}", "nobody")
    run.front.block()
    run.front.hang_up()
    with run.feed.quiet:
        if run.servers.restart(noted):
            run.kept.append(kept := run.look())
            run.feed.forget(put, {*kept.claimed, *kept.queue, *kept.put})
            run.blows["of these, it went back"] += 1
    run.front.address = address


def cut_off(run: Run) -> None:
    run.front.block()


def hang_up(run: Run) -> None:
    run.front.hang_up()


#: What is done only where executors are processes of their own.
EXECUTOR: Final = "executor killed"

Act = Callable[[Run], None]

#: What may be done, how often compared with the others, and what ends it after some seconds.
KINDS: Final[Mapping[str, tuple[int, Act, Act | None]]] = {
    "driver killed": (4, kill_driver, None),
    "worker killed": (4, kill_worker, None),
    EXECUTOR: (4, kill_executor, None),
    "driver frozen": (2, freeze_driver, thaw_driver),
    "server killed": (3, restart_server, None),
    "server rolled back by a second": (3, roll_back, None),
    "cut off": (2, cut_off, hang_up),
}
