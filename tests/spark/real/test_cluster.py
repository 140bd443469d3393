"""Executors that are processes of their own, one of which is killed; long: run by ``-m "spark and slow"``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import redis

from tests.spark.conftest import some

from .cluster import cluster
from .test_kills import check, expected, heard_of, program, run_to_its_end

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("spark_installed")]

STAGED = "rows are staged"


def test_executors_in_separate_processes_lose_and_double_no_row(on_real: Any, tmp_path: Path) -> None:
    place, target = on_real(), on_real()
    place.put(*some(0, 5000))
    run_to_its_end(place, target, tmp_path, "local-cluster[2,1,1024]")
    assert target.look() == expected(0, 5000)


def test_a_cluster_whose_worker_is_killed_loses_and_doubles_no_row(on_real: Any, tmp_path: Path) -> None:
    """It dies with its executor in the middle of a task; the task is done again, by another or anew.

    The executor's Python worker lives on for a while, and stages rows that nobody moves.
    """
    place, target = on_real(), on_real()
    place.put(*some(0, 5000))
    folder = tmp_path / "cluster"
    folder.mkdir()
    with cluster(folder) as running, redis.Redis.from_url(place.url) as raw:
        with (
            heard_of(STAGED, raw) as heard,
            program(place, target, tmp_path / "checkpoint", running.url) as process,
        ):
            assert heard.comes(process)
            running.workers[0].kill()
            _, errors = process.communicate(timeout=400)
        check(process.returncode, errors.decode())
        assert "Lost executor" in errors.decode()
        assert running.workers[1].process.poll() is None
        run_to_its_end(place, target, tmp_path / "checkpoint", running.url)
    assert target.look() == expected(0, 5000)
    assert place.queue.doctor().problems == target.queue.doctor().problems == ()
