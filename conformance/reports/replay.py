"""Runs what failed once more, with every byte written down, there and on a server to compare with.

The server to compare with is a real Redis if miniredis in this process is judged, and miniredis otherwise.
"""

from __future__ import annotations

import time
import uuid
from contextlib import ExitStack
from dataclasses import replace
from typing import Final, Self

from ..clients.judged import Client
from ..documents import CHECKS, Check, Clause
from ..failure import Evidence
from ..judging.environment import Environment
from ..judging.runner import CHECK_LIMIT, Outcome, Verdict, describe, run_check, verdict_of
from ..targets import Address, NoRealRedisError, embedded, real_redis
from ..wire.masking import without_secret
from ..wire.recording import Recorder
from .take import Take

__all__ = ["Replayer"]

BUDGET: Final = 120.0
"""Seconds that all of this may take in a run."""

AT_LEAST: Final = 2.0
"""Seconds that a check may take the second time, however quick it was the first time."""


class Replayer:
    """Runs failed checks again; a context manager, as it may start a server to compare with."""

    def __init__(self) -> None:
        self._resources = ExitStack()
        self._others: dict[bool, Address | str] = {}
        self._left = BUDGET

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._resources.close()

    def shown(self, outcome: Outcome, name: str, address: Address, client: Client) -> Outcome:
        """The outcome of a failed clause, with what was said when it was run again as evidence."""
        if not outcome.is_bad or outcome.evidence:
            return outcome  # it shows enough; and what runs on the engine says nothing on any wire
        begin = time.monotonic()
        if self._left <= 0:
            late = f"It was not run again: the {BUDGET:.0f} s for this were over."
            evidence = Evidence("Conversation with the server", late)
        else:
            evidence = self._tried(outcome, name, address, client)
        self._left -= time.monotonic() - begin
        return replace(outcome, evidence=(*outcome.evidence, evidence))

    def _tried(self, outcome: Outcome, name: str, address: Address, client: Client) -> Evidence:
        try:
            return self._compared(outcome, name, address, client)
        except Exception as error:  # what is only to be shown is no reason to end the run
            return Evidence("Conversation with the server", f"It could not be recorded: {describe(error)}")

    def _compared(self, outcome: Outcome, name: str, address: Address, client: Client) -> Evidence:
        from .conversation import compared  # reports are made of outcomes, and not needed to judge

        limit = limit_of(outcome, self._left)
        prefix = f"conformance:{uuid.uuid4().hex[:12]}"
        check, here = first_failing(outcome.clause, name, address, client, prefix, limit)
        other = self._other(address)
        if isinstance(other, str):
            return compared(here, other)
        return compared(here, record(check, other.origin, other, client, prefix, limit))

    def _other(self, address: Address) -> Address | str:
        """A server to compare with, or why there is none."""
        make = real_redis if address.in_process else embedded
        if address.in_process not in self._others:
            try:
                self._others[address.in_process] = self._resources.enter_context(make())
            except (NoRealRedisError, OSError) as error:
                self._others[address.in_process] = str(error)
        return self._others[address.in_process]


def limit_of(outcome: Outcome, left: float) -> float:
    """Seconds for each run: twice what it took, within what a check may take and what is left."""
    usual = CHECK_LIMIT if outcome.clause.limit is None else outcome.clause.limit
    return min(usual, max(AT_LEAST, 2 * outcome.seconds), left)


def first_failing(
    clause: Clause, name: str, address: Address, client: Client, prefix: str, limit: float
) -> tuple[Check, Take]:
    """The first check of the clause that fails, or its last one, and how it went."""
    for check in CHECKS[clause.id]:
        take = record(check, name, address, client, prefix, limit)
        if take.verdict != "passed":
            break
    return check, take


def record(check: Check, name: str, address: Address, client: Client, prefix: str, limit: float) -> Take:
    """Runs a check with every byte written down."""

    def environment() -> Environment:
        made = Environment(recorder.address, client)
        made.prefix = prefix  # the same on both sides, so that their bytes can be compared
        return made

    with Recorder(address) as recorder:
        problem = run_check(check, environment, limit)
        moves = tuple(recorder.moves())
    verdict: Verdict = "passed" if problem is None else verdict_of(problem)
    reason = "" if problem is None else describe(problem)
    return Take(name, verdict, without_secret(reason, address.password), moves, recorder.lost)
