"""Queues with ``miniredis:`` URLs in a real Spark: its processes share one server, whichever of them runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pressure.spark
from miniredis.processes.shared import LOCK, SERVERS
from tests.spark.conftest import some

from .test_streams import drained

pytestmark = pytest.mark.spark

ROWS = some(0, 1000)

FILL = """
import sys, pressure
for name in ("words", "shouted"):
    pressure.Queue(name, url=sys.argv[1]).create()
pressure.Queue("words", url=sys.argv[1]).put_many([b"row %d" % number for number in range(1000)])
"""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """That of two queues, which a program has made that has ended."""
    made = f"miniredis://{tmp_path}/queues"
    subprocess.run([sys.executable, "-c", FILL, made], check=True)
    yield made
    SERVERS.stop()


class Named(NamedTuple):
    """What the options of a query say of a queue."""

    url: str
    name: str
    kind: str = "pressure"


@pytest.mark.parametrize("who", ["this program", "a process of Spark"])
def test_a_queue_is_drained_into_another_by_processes_that_share_the_server(
    spark: Any, url: str, who: str, tmp_path: Path
) -> None:
    with pressure.Queue("shouted", url=url) as shouted:
        if who == "this program":
            assert shouted.length() == 0
        query = drained(spark, Named(url, "words"), Named(url, "shouted"), tmp_path / "checkpoint")
        assert (owner(tmp_path / "queues") == os.getpid()) == (who == "this program")
        assert pressure.spark.finish(query, url) == 0
        assert shouted.get_many(len(ROWS) + 1) == [row.upper() for row in ROWS]


def owner(folder: Path) -> int:
    """The process that runs the server of a directory."""
    return int((folder / LOCK).read_text().removeprefix("process "))
