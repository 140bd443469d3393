"""The suite needs neither pyarrow nor PySpark, and says what it lacks where it is asked for them."""

from __future__ import annotations

import subprocess
import sys

HIDDEN = "import sys\nsys.modules.update(dict.fromkeys(('pyarrow', 'pyspark', 'pandas', 'numpy')))\n"


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HIDDEN + code], capture_output=True, text=True, timeout=60)


def test_nothing_else_needs_them() -> None:
    done = run("import conformance.histories, conformance.bench, conformance.__main__, conformance.pipeline")
    assert done.returncode == 0, done.stderr


def test_the_command_says_what_is_missing() -> None:
    done = run("from conformance.pipeline.__main__ import main\nsys.exit(main(['history.parquet']))")
    assert (done.returncode, done.stdout) == (
        2, "histories in Parquet files need pyarrow: install the extra 'spark'\n"
    ), done.stderr  # fmt: skip


def test_so_does_the_bench() -> None:
    done = run("from conformance.bench.__main__ import main\nsys.exit(main(['--rows', 'histories']))")
    assert "pyarrow" in done.stdout, done.stderr
    assert "pip install 'pressure-queues[spark]'" in done.stdout
