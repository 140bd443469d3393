"""Runs an exchange: starts both ends, kills them in turn as messages come, and counts."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from conformance.targets import Address
from pressure import Queue

from .ends import NUMBER, Role, numbers
from .verdict import judged

__all__ = ["Exchange", "Findings", "exchanged"]

STALLED: Final = 180.0
"""Seconds without a message after which an exchange counts as stuck; a repair may take a minute."""

TICK: Final = 0.001
"""Seconds between two looks at how far it is."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is to be done.

    Attributes:
        messages: how many.
        kills: how often an end is killed, the producer and the consumer in turn.
        bound: of the queue.
        seed: of the moments of the kills.
        force: whether ends are repaired by force.
        plain: whether they send plain batches.
    """

    messages: int = 1_000_000
    kills: int = 20
    bound: int = 100
    seed: int = 0
    force: bool = False
    plain: bool = False


@dataclass(slots=True)
class Findings:
    """What came of it.

    Attributes:
        seconds: how long it took.
        kills: how often each end was killed.
        came: how many messages came, those that came again among them.
        again: how many came again.
        repairs: how many seconds each repair took.
        repaired: what they did, and how often.
        problems: what is wrong, a sentence each.
    """

    seconds: float = 0.0
    kills: dict[Role, int] = field(default_factory=lambda: {"producer": 0, "consumer": 0})
    came: int = 0
    again: int = 0
    repairs: list[float] = field(default_factory=list)
    repaired: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class _Ends:
    """The two processes."""

    def __init__(self, exchange: Exchange, address: Address, prefix: str, folder: Path) -> None:
        self._exchange = exchange
        self._where = ("--url", address.url, "--prefix", prefix, "--folder", str(folder))
        self._folder = folder
        self._running: dict[Role, subprocess.Popen[bytes]] = {}

    def start(self, role: Role, *, again: bool = False) -> None:
        words = [role, *self._where, "--messages", str(self._exchange.messages)]
        flags = {"plain": self._exchange.plain, "again": again, "force": self._exchange.force}
        words += [f"--{name}" for name, set_ in flags.items() if set_]
        with (self._folder / f"{role} complaints").open("ab") as complaints:
            self._running[role] = subprocess.Popen(
                [sys.executable, "-m", "tests.tools.exchange.ends", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints,
            )  # fmt: skip

    def kill(self, role: Role) -> None:
        self._running[role].kill()
        self._running[role].wait()

    def kill_all(self) -> None:
        for role in self._running:
            self.kill(role)

    def has_ended(self, role: Role) -> bool:
        return self._running[role].poll() is not None

    def complaints(self) -> Iterator[str]:
        """What those say that did not end well."""
        for role, process in self._running.items():
            if process.wait() != 0:
                said = (self._folder / f"{role} complaints").read_text().strip().split("\n")[-1]
                yield f"the {role} ended with {process.returncode}: {said}"


def exchanged(exchange: Exchange, address: Address) -> Findings:
    """Runs an exchange on a server; its keys are removed in the end."""
    findings, begin = Findings(), time.monotonic()
    prefix = f"exchange:{uuid.uuid4().hex[:12]}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="exchange-")))
        queue = stack.enter_context(created(exchange, address, prefix))
        ends = _Ends(exchange, address, prefix, folder)
        stack.callback(ends.kill_all)
        for role in ("producer", "consumer"):
            ends.start(role)
        try:
            _kill_in_turn(exchange, ends, folder, findings)
            _until_come(folder, None, ends)
        except TimeoutError as error:
            findings.problems.append(f"{error}; {queue.doctor()}")
            ends.kill_all()
        else:
            findings.problems += [*ends.complaints(), *queue.doctor().problems]
        findings.seconds = time.monotonic() - begin
        _count(exchange, folder, findings)
    return findings


@contextmanager
def created(exchange: Exchange, address: Address, prefix: str) -> Iterator[Queue]:
    """The queue, which is gone afterwards, whatever was left of it."""
    with Queue("exchange", url=address.url, prefix=prefix) as queue:
        queue.create(exchange.bound)
        try:
            yield queue
        finally:
            if not queue.repair(force=True).left:
                queue.delete(timeout=5)


def _kill_in_turn(exchange: Exchange, ends: _Ends, folder: Path, findings: Findings) -> None:
    """Kills an end at moments that luck spreads over the messages, and starts it anew."""
    luck = random.Random(exchange.seed)  # noqa: S311  (nothing here is secret)
    moments = sorted(luck.randrange(exchange.messages) for _ in range(exchange.kills))
    for count, moment in enumerate(moments):
        role: Role = "producer" if count % 2 == 0 else "consumer"
        _until_come(folder, moment, ends)
        ends.kill(role)
        ends.start(role, again=True)
        findings.kills[role] += 1


def _until_come(folder: Path, count: int | None, ends: _Ends) -> None:
    """Waits until so many messages came, or (None) until both ends are done.

    Raises:
        TimeoutError: no more come.
    """
    log, last, since = folder / "consumer", -1, time.monotonic()
    while not (ends.has_ended("producer") and ends.has_ended("consumer")):
        came = log.stat().st_size // NUMBER if log.exists() else 0
        if count is not None and came > count:
            return
        if came != last:
            last, since = came, time.monotonic()
        elif time.monotonic() - since > STALLED:
            raise TimeoutError(f"no message came for {STALLED:.0f} s, and {came} did before")
        time.sleep(TICK)


def _count(exchange: Exchange, folder: Path, findings: Findings) -> None:
    came = numbers(folder / "consumer")
    findings.came, findings.again = len(came), len(came) - len(set(came))
    findings.problems += judged(came, exchange.messages, sum(findings.kills.values()))
    notes = folder / "repairs"
    for line in notes.read_text().splitlines() if notes.exists() else ():
        note = json.loads(line)
        findings.repairs.append(note["seconds"])
        for what in note["done"]:
            kind = what.partition(",")[0]
            findings.repaired[kind] = findings.repaired.get(kind, 0) + 1
