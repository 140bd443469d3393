"""Queries through Spark Connect: a server in a process of its own, and a program without Java."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import some

from .cluster import connect_server
from .recipes import recipe
from .test_kills import LIMIT, ROOT

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("spark_installed")]

MORE = """
table = spark.read.format("pressure").options(url=url, queue="copies", format="text").load()
assert [row.value for row in table.where("position < 2").orderBy("position").collect()] == ["ROW 0", "ROW 1"]
last = spark.createDataFrame([("the end",)], "value STRING")
for _ in range(2):  # the second one writes nothing
    writing = last.write.format("pressure").options(url=url, queue="copies", writer="end", batch=1)
    writing.mode("append").save()
spark.stop()
"""


def test_a_queue_is_drained_through_a_connect_server_by_a_program_without_java(
    on_real: Any, tmp_path: Path
) -> None:
    if importlib.util.find_spec("grpc") is None:
        pytest.skip("grpcio, which Spark Connect needs, is not installed; it is in the extra 'spark'")
    place, target = on_real(name="notes"), on_real(name="copies")
    place.put(*some(0, 2500))
    (tmp_path / "logs").mkdir()
    with connect_server(tmp_path / "logs") as remote:
        program = recipe("through_connect.py", {
            "sc://spark.example.com:15002": remote,
            "redis://redis.example.com:6379": place.url,
            "/shared/checkpoints/notes": str(tmp_path / "checkpoint"),
            "spark.stop()\n": MORE,
        })  # fmt: skip
        environ = {"PATH": str(tmp_path), "PYTHONPATH": str(ROOT), "HOME": os.environ.get("HOME", "")}
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environ, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LIMIT,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert target.look() == [*(row.upper() for row in some(0, 2500)), b"the end"]
    assert place.look() == []
    assert place.queue.doctor().problems == target.queue.doctor().problems == ()
