"""Judges, keeps what was found, and writes the reports at the end, however that comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Self

from ..clients.judged import Client
from ..documents import Clause
from ..failure import Evidence
from ..judging.runner import Outcome, describe, judge
from ..targets import Address
from ..wire.masking import without_secret
from .files import Files
from .model import Judgement
from .replay import Replayer
from .terminal import Progress, cause, show, told

__all__ = ["Reporting", "why", "without_secrets"]


class Reporting:
    """A run; leaving it writes the reports, also if it is left by an interrupt.

    Args:
        files: the reports that are asked for.
        say: is told each clause that was not passed as soon as it is known, and each file that was written.
        show: is told how far it is.
        writes: whether to write the files; else only what they need is kept.

    Attributes:
        judgements: what was found so far.
    """

    def __init__(
        self, files: Files, say: Callable[[str], None] = lambda _: None,
        show: Callable[[str], None] = show, *, writes: bool = True,
    ) -> None:  # fmt: skip
        self.judgements: list[Judgement] = []
        self._files, self._say, self._show, self._writes = files, say, show, writes
        self._resources = ExitStack()
        self._replayer = Replayer() if files.wants_bytes else None

    def __enter__(self) -> Self:
        if self._replayer is not None:
            self._resources.enter_context(self._replayer)
        return self

    def __exit__(self, *error: object) -> None:
        self._resources.close()
        if self._writes:
            for path in self._files.write(self.judgements):
                self._say(f"written: {path}")

    def judge(
        self, target: str, name: str, address: Address, clauses: Sequence[Clause], client: Client,
        known_before: Sequence[Outcome] = (),
    ) -> Judgement:  # fmt: skip
        """Judges a server and a client called ``name``; keeps it, with what is known of other clauses."""
        found: list[Outcome] = []
        started, begin, problem = datetime.now(UTC), time.monotonic(), ""

        def so_far() -> Judgement:
            seconds = time.monotonic() - begin
            return Judgement(
                target,
                address.origin,
                name,
                (*found, *known_before),
                started,
                seconds,
                len(clauses) + len(known_before),
                problem,
            )

        progress = Progress(so_far().name, clauses, self._show)
        causes: set[str] = set()

        def known(outcome: Outcome) -> None:
            found.append(outcome := without_secrets(outcome, address.password))
            if outcome.is_bad and cause(outcome) not in causes:
                causes.add(cause(outcome))
                progress.clear()
                self._say(told(outcome))
            progress(outcome)

        try:
            judge(address, clauses, client, progress=known)
            self._look_closer(found, so_far().name, address, client, progress)
        except BaseException as error:
            problem = without_secret(why(error), address.password)
            raise
        finally:
            progress.clear()
            self.judgements.append(so_far())
        return self.judgements[-1]

    def _look_closer(
        self, found: list[Outcome], name: str, address: Address, client: Client, progress: Progress
    ) -> None:
        """Adds what was said to those that failed."""
        if self._replayer is None:
            return
        for number, outcome in enumerate(found):
            if outcome.is_bad:
                progress.again(outcome)
                found[number] = self._replayer.shown(outcome, name, address, client)

    def absent(self, target: str, chosen: int, problem: str, *, excused: bool) -> None:
        """Keeps that a target was not there, unless it has been told by a judgement that broke off."""
        if not any(each.target == target and each.problem for each in self.judgements):
            now = datetime.now(UTC)
            self.judgements.append(Judgement(target, "", "", (), now, 0.0, chosen, problem, excused))


def why(error: BaseException) -> str:
    """Why a run ended before its end, in words."""
    return describe(error) if isinstance(error, Exception) else "interrupted"


def without_secrets(outcome: Outcome, secret: str | None) -> Outcome:
    """The outcome without a password that is known."""
    evidence = tuple(
        Evidence(*(without_secret(text, secret) for text in (each.title, each.text, each.markup)))
        for each in outcome.evidence
    )
    return replace(outcome, reason=without_secret(outcome.reason, secret), evidence=evidence)
