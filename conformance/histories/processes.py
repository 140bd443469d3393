"""A run whose clients are processes, of which some are killed wherever they are.

Each of our clients is a process that does its work and records it (``worker``). A client that is another
program is asked and recorded by a thread of this process.

A client that is killed leaves its role taken; as soon as the role is seen to be a dead client's at two
looks, it is freed by force, as somebody would who knows that it is dead. Nobody else's role is touched.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import redis

from ..clients.adapter.client import Adapter, Foreign
from ..judging.running import Running
from ..targets import Address
from .model import Facts, History
from .recorder import Notebook, RecordedQueue, Recorder
from .records import read
from .runs import QUEUE, Plan, consume, produce

__all__ = ["final_contents", "processes"]

STALLED: Final = 20.0
"""Seconds without anything after which a run counts as stuck."""

TICK: Final = 0.005
"""Seconds between two looks."""


class _Foreign:
    """Clients that are other programs.

    Attributes:
        doubt: seconds without anything after which a role is freed whoever seems to hold it, if somebody was
            killed. A client of ours does no harm if that is a mistake.
    """

    doubt = 10.0

    def __init__(self, plan: Plan, address: Address, prefix: str, client: Adapter) -> None:
        self._notebook = Notebook()
        self._clients: dict[str, Foreign] = {}
        self.running: dict[str, Running[None]] = {}
        self.killed: dict[str, Sequence[int]] = {}
        for role, name in plan.clients():
            made = self._clients[name] = client(QUEUE, url=address.url, prefix=prefix)
            queue = RecordedQueue(made, Recorder(name, self._notebook))
            luck = random.Random(f"{plan.seed} {name}")  # noqa: S311  (nothing here is secret)
            puts = partial(produce, queue, name, plan.share, luck)
            self.running[name] = Running(puts if role == "producer" else partial(consume, queue, luck))

    def size(self, client: str) -> int:
        """How much it has done, about as many bytes as the records of it would have."""
        return 200 * sum(each.client == client for each in self._notebook.operations)

    def alive(self, role: str) -> list[str]:
        return [name for name, each in self.running.items() if name[0] == role[0] and not each.done()]

    def kill(self, client: str) -> None:
        self.killed[client] = self._clients[client].kill()

    def kill_all(self) -> None:
        for client in self._clients.values():
            client.kill()
            client.disconnect()

    def complaint(self) -> str:
        """What one ended by that did not end well, if any."""
        for name, each in self.running.items():
            if each.done() and name not in self.killed and (error := each.exception()):
                return f"{name} ended with {error}"
        return ""

    def recorded(self) -> History:
        return History(self._notebook.operations)


class _Workers:
    """Our clients."""

    doubt = 3.0

    def __init__(self, plan: Plan, address: Address, prefix: str, flavour: str, folder: Path) -> None:
        self._where = ["--url", address.url, "--prefix", prefix, "--queue", QUEUE, "--flavour", flavour]
        self._where += ["--puts", str(plan.share), "--seed", str(plan.seed)]
        self._folder = folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.killed: dict[str, Sequence[int]] = {}
        for role, name in plan.clients():
            self._start(role, name)

    def _start(self, role: str, client: str) -> None:
        words = [role, *self._where, "--client", client, "--file", str(self.file(client))]
        with (self._folder / f"{client} complaints").open("wb") as complaints:
            self.running[client] = subprocess.Popen(  # noqa: S603  (our own program)
                [sys.executable, "-m", "conformance.histories.worker", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints,
            )  # fmt: skip

    def file(self, client: str) -> Path:
        return self._folder / client

    def recorded(self) -> History:
        return read(*(file for client in self.running if (file := self.file(client)).exists()))

    def size(self, client: str) -> int:
        """How much it has done, in bytes."""
        return self.file(client).stat().st_size if self.file(client).exists() else 0

    def alive(self, role: str) -> list[str]:
        return [name for name, each in self.running.items() if name[0] == role[0] and each.poll() is None]

    def kill(self, client: str) -> None:
        process = self.running[client]
        process.kill()
        process.wait()
        self.killed[client] = [process.pid]

    def kill_all(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait()

    def complaint(self) -> str:
        """What one says that did not end well, if any."""
        for client, process in self.running.items():
            if client not in self.killed and process.poll():
                said = (self._folder / f"{client} complaints").read_text().strip().split("\n")[-1]
                return f"{client} ended with {process.returncode}: {said}"
        return ""


class _Mending:
    """Frees the roles of the dead, and notices when nothing goes on."""

    def __init__(self, queue: Any, workers: _Workers | _Foreign) -> None:
        self._queue = queue
        self._workers = workers
        self._seen: dict[str, bytes | None] = {}
        self._size, self._since = -1, time.monotonic()

    def look(self) -> None:
        """Looks once.

        Raises:
            TimeoutError: nothing goes on.
            RuntimeError: a client ended by an error.
        """
        size, now = sum(map(self._workers.size, self._workers.running)), time.monotonic()
        if size != self._size:
            self._size, self._since = size, now
        if problem := self._workers.complaint():
            raise RuntimeError(problem)
        if now - self._since > STALLED:
            raise TimeoutError(f"nothing was done for {STALLED:.0f} s; {self._queue.doctor()}")
        if self._workers.killed:
            for role in ("producer", "consumer"):
                self._free(role, now - self._since)
        time.sleep(TICK)

    def _free(self, role: str, still: float) -> None:
        """Frees a role if its holder is dead, or must be, since nothing was done for so many seconds."""
        holder = self._queue.holder(role)
        again, self._seen[role] = self._seen.get(role) == holder, holder
        if holder is None or not again:
            return
        process = holder.partition(b"/")[0].rpartition(b":")[2].decode("latin-1")
        if process in map(str, chain(*self._workers.killed.values())) or still > self._workers.doubt:
            self._queue.repair(force=True, role=role)
            self._since = time.monotonic()


def processes(address: Address, plan: Plan, client: str | Adapter = "sync") -> History:
    """A run with clients as processes on a queue of its own; its keys are removed in the end.

    Args:
        address: the server.
        plan: what is to be done.
        client: the flavour of ours, or another program.

    Raises:
        TimeoutError: nothing went on any more.
        RuntimeError: a client ended by an error that it should not have had.
    """
    prefix, notebook = f"histories:{uuid.uuid4().hex[:12]}", Notebook()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="histories-")))
        queue = stack.enter_context(_created(address, prefix, plan.bound))
        workers: _Workers | _Foreign
        if isinstance(client, str):
            workers = _Workers(plan, address, prefix, client, folder)
        else:
            workers = _Foreign(plan, address, prefix, client)
        stack.callback(workers.kill_all)
        mending = _Mending(queue, workers)
        _kill_some(plan, workers, mending)
        _until_over("producer", workers, mending)
        RecordedQueue(queue, Recorder("closer", notebook)).shutdown(timeout=STALLED)
        _until_over("consumer", workers, mending)
        facts = Facts(
            address.origin, {QUEUE: plan.bound}, final_contents(address, f"{prefix}:{QUEUE}"),
            killed=frozenset(workers.killed), slack=int(client == "plain"),
        )  # fmt: skip
        recorded = workers.recorded()
    operations = sorted([*recorded.operations, *notebook.operations], key=lambda each: each.invoked)
    return replace(recorded, operations=operations, facts=facts)


@contextmanager
def _created(address: Address, prefix: str, bound: int) -> Iterator[Any]:
    from pressure import Queue

    with Queue(QUEUE, url=address.url, prefix=prefix) as queue:
        queue.create(bound)
        try:
            yield queue
        finally:
            with redis.Redis.from_url(address.url) as client, suppress(redis.ConnectionError):
                client.delete(*(client.keys(f"{prefix}*") or ["none"]))


def _kill_some(plan: Plan, workers: _Workers | _Foreign, mending: _Mending) -> None:
    """Kills a producer and a consumer in turn, each when it has done something, and goes on doing it."""
    luck = random.Random(plan.seed)  # noqa: S311  (nothing here is secret)
    for number in range(plan.kills):
        role = ("producer", "consumer")[number % 2]
        enough = 1000 + luck.randrange(3000)
        while len(able := workers.alive(role)) > 1:
            busiest = max(able, key=workers.size)
            if workers.size(busiest) > enough:
                workers.kill(busiest)
                break
            mending.look()


def _until_over(role: str, workers: _Workers | _Foreign, mending: _Mending) -> None:
    while workers.alive(role):
        mending.look()


def final_contents(address: Address, key: str) -> dict[str, tuple[bytes, ...]]:
    """What is in the queue with this key, what comes next first, by its name in histories."""
    with redis.Redis.from_url(address.url) as client:
        received: Any = client.lrange(f"{key}:unacked", 0, -1)
        there: Any = client.lrange(key, 0, -1)
    return {QUEUE: tuple(reversed(there + received))}
