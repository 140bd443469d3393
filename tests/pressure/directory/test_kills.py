"""The processes that run the server of a directory are killed, one after the other: no acknowledged put is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

import miniredis
from conformance.chaos import judged
from conformance.chaos.journal import read
from conformance.chaos.judge import Blow
from conformance.chaos.staff import QUEUE, Staff

from .conftest import owner


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
    findings = judged(read(staff.files), blows, left, most=60)
    assert not findings.wrong, findings
    assert findings.put >= 90 * kills
    assert len(blows) == kills, "the run was over before all were killed"


def once(url: str, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "pressure", *words, "--url", url], check=True, capture_output=True)


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_no_acknowledged_put_is_lost_when_owners_are_killed(folder: Path, url: str, kills: int) -> None:
    run_with_kills(folder, url, kills)
