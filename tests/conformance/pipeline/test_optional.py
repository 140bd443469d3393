"""The suite runs without pyarrow and PySpark, and names them where they are needed."""

from __future__ import annotations

import subprocess
import sys

HIDDEN = "import sys\nsys.modules.update(dict.fromkeys(('pyarrow', 'pyspark', 'pandas', 'numpy')))\n"


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HIDDEN + code], capture_output=True, text=True, timeout=600)


def test_the_suite_imports_without_pyarrow_and_pyspark() -> None:
    done = run(
        "import conformance.histories, conformance.bench, conformance.__main__, conformance.histories.parquet"
    )
    assert done.returncode == 0, done.stderr


def test_the_command_says_that_pyarrow_is_missing_and_how_to_install_it() -> None:
    done = run("from conformance.histories.parquet.__main__ import main\nsys.exit(main(['history.parquet']))")
    assert (done.returncode, done.stdout) == (
        2, "Parquet files need pyarrow, which is not installed: pip install 'pressure-queues[spark]' (in a checkout: pip install '.[spark]')\n"
    ), done.stderr  # fmt: skip


def test_the_bench_says_that_pyarrow_is_missing_and_how_to_install_it() -> None:
    done = run("from conformance.bench.__main__ import main\nsys.exit(main(['--rows', 'histories']))")
    assert "pyarrow" in done.stdout, done.stderr
    assert "pip install 'pressure-queues[spark]'" in done.stdout
