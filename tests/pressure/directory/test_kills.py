"""The processes that run the server of a directory are killed, one after the other: no acknowledged put is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

import miniredis
from conformance import histories
from conformance.histories import Facts, History, Operation, as_text, worst
from tests.cases import exhaustive
from tests.tools.chaos import judged
from tests.tools.chaos.journal import Event, read
from tests.tools.chaos.judge import Blow
from tests.tools.chaos.staff import QUEUE, Staff

from .conftest import owner

pytestmark = pytest.mark.usefixtures("forked")


def run_with_kills(folder: Path, url: str, kills: int) -> None:
    """Processes put and receive, and the one that runs the server is killed again and again."""
    luck, blows = Random(0), list[Blow]()  # noqa: S311  (nothing here is secret)
    once(url, "create", QUEUE, "--bound", "100")
    words = ["--url", url, "--queue", QUEUE, "--lease", "5", "--looks", "0.2"]
    records = folder.parent / "records"
    records.mkdir()
    staff = Staff(records, words, 6, 100 * (kills + 1), 2.0 * kills, luck)
    size = staff.size

    def kill() -> None:
        nonlocal size
        if len(blows) == kills or staff.size < size + 2000:
            return
        pid = owner(folder)
        for place in staff.places:
            if place.works and place.pid == pid:
                place.signal(signal.SIGKILL)
                blows.append(Blow(time.monotonic(), "killed"))
                size = staff.size

    try:
        staff.until(lambda: staff.are_over("producer"), 60, kill)
        once(url, "close", QUEUE)
        staff.until(lambda: staff.are_over("consumer"), 60, lambda: None)
    finally:
        staff.kill_all()
    with miniredis.start(dir=folder) as server, server.client(decode_responses=True) as client:
        key = f"__pressure__:{QUEUE}"
        left = client.lrange(key, 0, -1) + client.lrange(f"{key}:unacked", 0, -1)
    events = read(staff.files)
    findings = judged(events, blows, left, most=60)
    assert not findings.wrong, findings
    assert findings.put >= 90 * kills
    assert len(blows) == kills, "the run was over before all were killed"
    facts = Facts(bounds={QUEUE: 100}, final={QUEUE: tuple(each.encode() for each in reversed(left))})
    history = History([each for file in staff.files for each in operations(read([file]))], facts)
    verdict = worst(histories.judged(history).values())
    assert verdict.answer == "ok", as_text(history, verdict)


def operations(events: Sequence[Event]) -> Iterator[Operation]:
    """What one worker did. What it never came back from, or does not know the outcome of, is open."""
    before = events[0].when if events else 0.0
    for event, after in zip_longest(events, events[1:]):
        if event.kind == "putting" and not (after and (after.kind, after.value) == NOTHING_DONE):
            yield operation("put", event, after, after is not None and after.kind == "put")
        elif event.kind == "got":
            taken = event.value.encode()
            yield Operation(event.worker, QUEUE, "receive", (), (taken,), moment(before), moment(event.when))
            yield operation("ack", event, after, after is not None and after.kind == "done")
        before = event.when


NOTHING_DONE: Final = ("error", "ConnectionFailedError")


def operation(name: str, begun: Event, after: Event | None, is_done: bool) -> Operation:
    value, end = begun.value.encode(), moment(after.when) if after and is_done else None
    outcome: Any = "ok" if is_done else "open"
    return Operation(begun.worker, QUEUE, name, (value,), None, moment(begun.when), end, outcome)


def moment(seconds: float) -> int:
    return round(seconds * 1_000_000_000)


def once(url: str, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "pressure", *words, "--url", url], check=True, capture_output=True)


@pytest.mark.parametrize("kills", [1, exhaustive(3), pytest.param(20, marks=pytest.mark.slow)])
def test_no_acknowledged_put_is_lost_when_owners_are_killed(folder: Path, url: str, kills: int) -> None:
    run_with_kills(folder, url, kills)
