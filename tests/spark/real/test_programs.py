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


def started(*words: str, cwd: Path, **more: str) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    return subprocess.Popen(
        [sys.executable, "-m", *words], cwd=cwd, env=environ, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def pipeline(place: Any, target: Any, *more: str, cwd: Path) -> subprocess.Popen[str]:
    (cwd / "mine.py").write_text(DOUBLED)
    words = ["--url", place.url, "--from", place.name, "--to", target.name, "--checkpoint", "checkpoint"]
    words += ["--master", "local[2]", *more]
    return started("pressure", "pipeline", *words, cwd=cwd)


TRANSFORM = ("--transform", "mine:doubled")


def test_a_pipeline_that_was_stopped_goes_on_where_it_ended(on_real: Any, tmp_path: Path) -> None:
    place, target = on_real(), on_real()
    place.put(*some(0, 1000))
    process = pipeline(place, target, *TRANSFORM, cwd=tmp_path)
    deadline = time.monotonic() + LIMIT
    while target.queue.length() < 1000 and process.poll() is None and time.monotonic() < deadline:
        target.queue.wait_closed(0.2)  # which it never is
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 143, errors[-2000:]
    assert "1000 rows done" in errors
    assert place.queue.stats().unacknowledged == 0
    place.put(*some(1000, 1200))
    _, errors = pipeline(place, target, *TRANSFORM, "--drain", cwd=tmp_path).communicate(timeout=LIMIT)
    assert "200 rows done" in errors
    assert target.look() == [row + row for row in some(0, 1200)]


def test_ctrl_c_under_load_ends_the_batch_and_gives_everything_back(on_real: Any, tmp_path: Path) -> None:
    """As a terminal does, the signal goes to the whole group of processes."""
    place, target = on_real(), on_real()
    place.put(*some(0, 60_000))
    process = pipeline(place, target, "--rows", "1000", "--every", "0", cwd=tmp_path)
    deadline = time.monotonic() + LIMIT
    while not target.queue.length() and process.poll() is None and time.monotonic() < deadline:
        target.queue.wait_closed(0.05)  # which it never is
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, errors[-2000:]
    lines = errors.splitlines()
    assert "Traceback" not in errors, errors
    assert lines[-2].endswith("rows done")
    done = target.queue.length()
    assert 0 < done < 60_000
    assert target.queue.peek_many(done) == some(0, done)
    assert place.queue.stats().unacknowledged == 0
    assert place.queue.get_nowait() == b"row %d" % done  # so its role is free, too


def test_sigterm_during_the_start_leaves_nothing_claimed(on_real: Any, tmp_path: Path) -> None:
    place, target = on_real(), on_real()
    place.put(*some(0, 10))
    process = pipeline(place, target, cwd=tmp_path)
    deadline = time.monotonic() + LIMIT
    while not list(tmp_path.glob("checkpoint/metadata")) and time.monotonic() < deadline:
        target.queue.wait_closed(0.01)  # which it never is
    process.terminate()
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 143, errors[-2000:]
    assert place.queue.stats().unacknowledged == 0
    assert target.look() + place.look() == some(0, 10)
    assert place.queue.doctor().problems == ()


def test_a_pipeline_copies_messages_and_puts_malformed_ones_aside(on_real: Any, tmp_path: Path) -> None:
    place, target, dead = on_real(), on_real(), on_real()
    place.put(b"one", b"\xff\x00", b"two\n")
    words = ["--drain", "--format", "text", "--dead", dead.name, "--partitions", "1", "--key", "value"]
    _, errors = pipeline(place, target, *words, cwd=tmp_path).communicate(timeout=LIMIT)
    assert "2 rows done" in errors
    assert (target.look(), dead.look()) == ([b"one", b"two\n"], [b"\xff\x00"])
    place.put(b"\xff\x00")
    _, errors = pipeline(place, target, "--drain", cwd=tmp_path).communicate(timeout=LIMIT)
    assert "1 rows done" in errors
    assert target.look()[2:] == [b"\xff\x00"]


def test_an_error_in_java_or_in_a_function_is_reported_with_its_cause_and_line(
    on_real: Any, tmp_path: Path
) -> None:
    place = on_real()
    place.put(b"one")
    (tmp_path / "file").write_text("not a folder")
    words = ["pressure", "pipeline", "--url", place.url, "--from", place.name, "--master", "local[2]"]
    words += ["--checkpoint", "checkpoint", "--drain", "--to"]
    process = started(*words, "./file", cwd=tmp_path)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 18
    assert "Exception: " in errors.splitlines()[-1]
    assert str(tmp_path / "file") in errors.splitlines()[-1]
    (tmp_path / "bad.py").write_text(
        "def each(batches):\n    for batch in batches:\n        yield batch.column(99)\n\n\n"
        "def table(rows):\n    return rows.select('value').mapInArrow(each, 'value STRING')\n"
    )
    process = started(*words, "./folder", "--transform", "bad:table", cwd=tmp_path)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 18
    assert "IndexError: " in errors.splitlines()[-1]
    assert errors.endswith(f"({tmp_path}/bad.py:3 in each)\n")


def test_the_access_log_example_runs(tmp_path: Path) -> None:
    words = ["--lines", "20000", "--out", "out", "--master", "local[2]"]
    process = started("pressure.spark.example", *words, cwd=tmp_path, TZ="America/New_York")
    out, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, errors[-4000:]
    told = out.splitlines()
    hours = [line for line in told if line[2:6] == ":00 "]
    assert len(hours) == 24
    assert "failed" in hours[14]
    broken = int(told[-1].split()[0])
    assert sum(int(line[66:74]) for line in hours) + broken == 20_000
    for name in ("chart.svg", "chart-dark.svg"):
        assert "failures (status 500 and above)" in (tmp_path / "out" / name).read_text()
