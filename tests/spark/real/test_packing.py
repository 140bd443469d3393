"""A packed environment, which executors get whose own Python lacks the package; long: it is made by pip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import some

from .cluster import cluster
from .recipes import recipe
from .test_kills import LIMIT, ROOT

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("spark_installed")]

#: Words of the guide's commands, and what they are here.
HERE = {
    "python3 -m venv": f"{sys.executable} -m venv",
    " . ": f" {ROOT} ",
    "python on_": f"{sys.executable} on_",
}


def run(commands: str, folder: Path) -> None:
    done = subprocess.run(
        ["sh", "-ec", commands], cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]


def test_executors_whose_python_lacks_the_package_get_a_packed_environment(
    on_real: Any, tmp_path: Path
) -> None:
    clean = {name: os.environ[name] for name in ("JAVA_HOME", "HOME") if name in os.environ}
    clean["PATH"] = os.defpath
    lacks = subprocess.run(["python3", "-c", "import pressure"], env=clean, cwd=tmp_path, check=False)
    if lacks.returncode == 0:
        pytest.skip("the Python of this machine has the package, so that no worker would lack it")
    place, target = on_real(name="notes"), on_real(name="copies")
    place.put(*some(0, 2500))
    *packing, starting = recipe("python3 -m venv", HERE, "shell").splitlines()
    run("\n".join(packing), tmp_path)
    (tmp_path / "logs").mkdir()
    with cluster(tmp_path / "logs", 1, clean) as running:
        places = {
            "spark://spark.example.com:7077": running.url,
            "redis://redis.example.com:6379": place.url,
            "/shared/checkpoints/notes": str(tmp_path / "checkpoint"),
        }
        (tmp_path / "on_a_cluster.py").write_text(recipe("on_a_cluster.py", places))
        run(starting, tmp_path)
    assert target.look() == [row.upper() for row in some(0, 2500)]
    assert place.look() == []
