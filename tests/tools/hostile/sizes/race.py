"""Sends each growth's requests to both servers, size by size, until a budget is used up."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from conformance.wire import encode

from .growths import FEW, Growth
from .judge import MEMORY_FLOOR, TIME_FLOOR, Curve, Step
from .servers import SETUP_LIMIT, Cost, GoneError, Line, Party, StalledError
from .settings import Setting

__all__ = ["Budget", "Race"]

KEPT: Final = b"9"
"""The database where keys that were built are kept."""

SECOND: Final = b"$2\r\nk1\r\n"

EMPTY: Final = encode("SELECT", "1") + encode("FLUSHDB") + encode("SELECT", "0") + encode("FLUSHDB")
"""Empties the databases that requests write to."""

LEAST: Final = 10_000
"""Where this size takes next to nothing, those between the smallest and this one are not measured."""

AGAIN: Final = 3
"""How often what took neither a moment nor long is measured; the best counts."""

QUICK: Final = 0.001
SHORT: Final = 0.05
DUE: Final = 20
"""How many times what Redis took miniredis may take before it is killed; at least the budget's seconds."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What ends a curve early.

    Attributes:
        largest: the largest size.
        seconds: that one request may take. What would take Redis longer is not tried; what takes miniredis
            longer, and 20 times as long as Redis, is a finding.
        building: seconds that it may take to bring both servers to a size.
        memory: bytes that one request, or one key, may take.
    """

    largest: int = 10_000_000
    seconds: float = 2.0
    building: float = 6.0
    memory: int = 1 << 30

    @property
    def sizes(self) -> list[int]:
        """By order of magnitude."""
        return [10**power for power in range(1, 9) if 10**power <= self.largest]


class Race:
    """Both servers, and what is on them.

    Args:
        both: miniredis and redis-server.
        budget: what ends a curve early.
    """

    def __init__(self, both: Sequence[Party], budget: Budget) -> None:
        self._ours, self._theirs = both
        self._budget = budget
        self._building: dict[tuple[str, int], float] = {}  # seconds that it took, at its longest

    def run(self, growth: Growth) -> Curve:
        """One growth, from 10 up."""
        curve = Curve()
        first, *between = [size for size in self._budget.sizes if size < LEAST]
        larger = [size for size in self._budget.sizes if size >= LEAST]
        self._climb(growth, curve, [first, *larger] if larger else [first, *between])
        if larger and len(curve.steps) > 1 and is_noticed(curve.steps[1]):
            smaller = Curve(curve.steps[:1])
            self._climb(growth, smaller, between)
            curve.steps[:1] = smaller.steps
        return curve

    def _climb(self, growth: Growth, curve: Curve, sizes: Sequence[int]) -> None:
        for size in sizes:
            if growth.grows and not self._can_build(growth.setting, size):
                curve.ended = "to build more would take too long"
                curve.is_whole = False
                break
            try:
                curve.steps.append(self._step(growth, size))
            except (StalledError, GoneError) as error:
                curve.ended = f"at {size:,} redis-server: {error}"
                self._theirs.start()
                break
            curve.ended = self._reason_to_end(curve.steps[-1])
            if curve.ended:
                break

    def _can_build(self, setting: Setting, size: int) -> bool:
        smaller = self._building.get((setting.name, size // 10), 0.0)
        return size <= setting.most and smaller * 10 <= self._budget.building

    def _reason_to_end(self, step: Step) -> str:
        if step.ours is None:
            return step.failure
        costs = (step.ours, step.theirs)
        if max(cost.seconds for cost in costs) * 10 > self._budget.seconds:
            return "the next request would take too long"
        if max(cost.memory for cost in costs) * 10 > self._budget.memory:
            return "the next request would take too much memory"
        return ""

    def _step(self, growth: Growth, size: int) -> Step:
        request, elements = growth.request(size), size if growth.grows else FEW
        crowd = max(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0)  # others who need the processors, too
        theirs = self._best(self._theirs, growth, elements, request, self._budget.seconds * crowd)
        limit = max(self._budget.seconds, DUE * theirs.seconds) * crowd
        try:
            return Step(size, self._best(self._ours, growth, elements, request, limit), theirs)
        except StalledError as error:
            failure = f"miniredis stalls: {error}"
        except GoneError as error:
            failure = f"miniredis is gone: {error}"
        self._ours.start()
        return Step(size, None, theirs, failure)

    def _best(self, party: Party, growth: Growth, elements: int, request: bytes, limit: float) -> Cost:
        seconds, memory, cost = float("inf"), 0, Cost(0, 0, 0)
        for _ in range(AGAIN):
            with ExitStack() as stack:
                began = time.monotonic()
                prepare(party, growth.setting, elements, keys_of(request), stack)
                built = growth.setting.name, elements
                self._building[built] = max(self._building.get(built, 0.0), time.monotonic() - began)
                line = party.line() if growth.setting.is_key else stack.enter_context(party.connect())
                line.ask(b"", limit)
                cost = party.measure(line, request, limit)
                if growth.writes:
                    party.loaded = None
            seconds, memory = min(seconds, cost.seconds), max(memory, cost.memory)
            if not QUICK < seconds < SHORT:
                break
        held = party.sent.get((growth.setting.name, elements), 0)
        return Cost(seconds, memory, cost.traffic + held, cost.reply)


def is_noticed(step: Step) -> bool:
    """Whether a size takes miniredis more than what would be noise."""
    return step.ours is None or step.ours.seconds >= TIME_FLOOR or step.ours.memory >= MEMORY_FLOOR


def keys_of(request: bytes) -> tuple[str, ...]:
    """The keys that a request works on: a second one is not copied where nobody looks at it."""
    return ("k", "k1") if SECOND in request else ("k",)


def prepare(party: Party, setting: Setting, elements: int, keys: tuple[str, ...], stack: ExitStack) -> None:
    """Brings a server into a setting; ``stack`` holds the connection that must stay."""
    wanted = (setting.name, elements, keys)
    if party.loaded == wanted:
        return
    party.loaded = None
    line = stack.enter_context(party.connect()) if setting.stays else party.line()
    load(party, line, setting, elements, keys)
    party.loaded = None if setting.stays else wanted


def load(party: Party, line: Line, setting: Setting, elements: int, keys: tuple[str, ...]) -> None:
    line.ask(EMPTY, SETUP_LIMIT)
    if not setting.is_key:
        party.sent[setting.name, elements] = line.build(setting.build(elements))
        return
    kept = keep(party, line, setting, elements)
    copies = b"".join(encode("COPY", kept, key, "DB", "0", "REPLACE") for key in keys)
    line.ask(copies + encode("SELECT", "0"), SETUP_LIMIT)


def keep(party: Party, line: Line, setting: Setting, elements: int) -> bytes:
    """Builds a key in the database of those that are kept, if it is not there yet; returns its name there.

    Keys of another kind make room for it.
    """
    kept = b"%b %d" % (setting.name.encode(), elements)
    _, reply = line.ask(encode("SELECT", KEPT) + encode("EXISTS", kept), SETUP_LIMIT)
    if not reply.startswith(b"+OK\r\n:1"):
        if party.kept != setting.name:
            line.ask(encode("FLUSHDB"), SETUP_LIMIT)
            party.kept = setting.name
        party.sent[setting.name, elements] = line.build(setting.build(elements))
        line.ask(encode("RENAME", "k", kept), SETUP_LIMIT)
    return kept
