"""The command and the example, each a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import some

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_installed")]

ROOT = Path(__file__).parents[3]
LIMIT = 500.0
"""Seconds a run may take on a busy machine."""

DOUBLED = "def doubled(table):\n    return table.selectExpr('concat(value, value) AS value')\n"


def started(*words: str, cwd: Path) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", *words], cwd=cwd, env=environ, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def pipeline(place: Any, target: Any, *more: str, cwd: Path) -> subprocess.Popen[str]:
    (cwd / "mine.py").write_text(DOUBLED)
    words = ["--url", place.url, "--from", place.name, "--to", target.name, "--checkpoint", "checkpoint"]
    words += ["--transform", "mine:doubled", "--master", "local[2]", *more]
    return started("pressure", "pipeline", *words, cwd=cwd)


def test_a_pipeline_that_was_stopped_goes_on_where_it_ended(on_real: Any, tmp_path: Path) -> None:
    place, target = on_real(), on_real()
    place.put(*some(0, 1000))
    process = pipeline(place, target, cwd=tmp_path)
    deadline = time.monotonic() + LIMIT
    while target.queue.length() < 1000 and process.poll() is None and time.monotonic() < deadline:
        target.queue.wait_closed(0.2)  # which it never is
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 143, errors[-2000:]
    assert "1000 rows done" in errors
    assert place.queue.stats().unacknowledged == 0
    place.put(*some(1000, 1200))
    _, errors = pipeline(place, target, "--drain", cwd=tmp_path).communicate(timeout=LIMIT)
    assert "200 rows done" in errors
    assert target.look() == [row + row for row in some(0, 1200)]


def test_the_access_log_example_runs(tmp_path: Path) -> None:
    words = ["--lines", "20000", "--out", "out", "--master", "local[2]"]
    process = started("pressure.spark.example", *words, cwd=tmp_path)
    out, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, errors[-4000:]
    told = out.splitlines()
    hours = [line for line in told if line[2:6] == ":00 "]
    assert len(hours) == 24
    assert "failed" in hours[14]
    broken = int(told[-1].split()[0])
    assert sum(int(line[66:74]) for line in hours) + broken == 20_000
    assert (tmp_path / "out" / "chart.svg").read_text().startswith("<svg")
