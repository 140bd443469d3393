"""Eight workers are killed with SIGKILL at random: no item is lost, and kills or delays explain repeats.

The long version, five minutes of each kind: ``pytest -n 0 -m slow tests/pressure/kinds/test_crowd.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import redis

from ...cases import exhaustive
from ..conftest import server_fixture

pytestmark = pytest.mark.usefixtures("forked")

ROOT = Path(__file__).parents[3]
LIMIT = 900.0
"""Seconds that the longest of these may take on a busy machine."""

SIZES = [
    pytest.param(600, 2.0, id="600 items"),
    pytest.param(100_000, 300.0, id="100,000 items", marks=pytest.mark.slow),
]


server_address = server_fixture("embedded_server", more=("real_server",))


@pytest.mark.parametrize("kind", ["reliable", exhaustive("backup"), exhaustive("ring")])
@pytest.mark.parametrize(("items", "seconds"), SIZES)
def test_killed_workers_lose_no_item(
    redis_url: str, raw: redis.Redis, kind: str, items: int, seconds: float
) -> None:
    words = [kind, redis_url, str(items), str(seconds), "7"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.pressure.kinds.crowd", *words],
        cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    verdict: dict[str, Any] = json.loads(done.stdout)
    sys.stdout.write(f"{kind}: {verdict}\n")
    assert verdict["missing"] == 0
    assert verdict["kills"] >= 3
    explained = verdict["kills"] + verdict["late"]  # what a dead worker had, and what was done too slowly
    assert verdict["twice"] <= explained
    if kind == "backup":
        assert verdict["twice"] <= verdict["recovered"]
    assert raw.hlen("done") == items
