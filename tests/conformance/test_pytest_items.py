"""``pytest --pyargs conformance`` in an empty folder, as people run it who test their own server."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import conformance
from conformance.pytest_options import OPTIONS, is_ours
from conformance.targets import Address
from conformance.test_conformance import clauses_of, subjects_of

ROOT = Path(__file__).parents[2]

PLUGIN = ("-p", "no:conformance", "-p", "conformance.pytest_options")
"""As the entry point would have it, which is there once the package is installed anew."""


def items(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGIN, *options],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


@pytest.mark.slow
def test_each_clause_is_a_pytest_item(tmp_path: Path, embedded_server: Address) -> None:
    clauses = ("list.llen", "create.saves-bound", "mq.info", "list.block.fifo")
    asked = [word for clause in clauses for word in ("--clause", clause)]
    done = items(
        tmp_path, "--pyargs", "conformance", "-n", "2", "-rsfp",
        "--target", embedded_server.url, "--target", "false=false", "--client", "plain", *asked,
    )  # fmt: skip
    assert done.returncode == 1
    for clause in clauses:
        assert f"PASSED test_conformance.py::test_clause[{embedded_server.url} plain-{clause}]" in done.stdout
    assert "false: /" in done.stdout
    assert "does not start" in done.stdout
    assert "4 passed, 4 errors" in done.stdout


def test_failed_and_skipped_clauses_show_their_reasons(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(
        "import conformance.documents as checks\n"
        "from conformance.judging.environment import Failure\n"
        "from conformance.failure import Evidence\n"
        "def fails(env): raise Failure('a reason', Evidence('what was said', 'very much'))\n"
        "checks.CHECKS['list.llen'] = [fails]\n"
        "import conformance.judging.capabilities as capabilities\n"
        "capabilities.LACKS = {'databases': lambda env: True, 'no-password': lambda env: False}\n"
    )
    done = items(
        tmp_path, "--pyargs", "conformance", "-p", "broken", "-rs", "--suite", "list-notes", "--suite",
        "protocol-0.1", "--clause", "list.llen", "--clause", "broker.database", "--clause", "mq.info",
    )  # fmt: skip
    assert done.returncode == 1
    assert "1 failed, 1 skipped" in done.stdout
    assert "the server has one database only" in done.stdout
    assert "a reason\n\nwhat was said:\nvery much" in done.stdout
    assert "LLEN answers the length" in done.stdout


@pytest.mark.parametrize("option", ["target", "suite", "clause", "client"])
def test_an_option_with_an_unknown_name_is_refused(option: str) -> None:
    class Told:
        def getoption(self, name: str, _: object) -> list[str]:
            return ["nonsense"] if name == f"conformance_{option}" else []

    config: Any = Told()
    with pytest.raises(ValueError, match=f"no {option} 'nonsense'"):
        _ = subjects_of(config), clauses_of(config)


def test_pytest_does_not_know_the_options_for_other_packages(tmp_path: Path) -> None:
    done = items(tmp_path, "--target", "embedded")
    assert "unrecognized arguments: --target" in done.stderr


def test_the_options_are_added_for_this_package_alone() -> None:
    assert is_ours("conformance")
    assert is_ours("conformance.test_conformance")
    assert not any(map(is_ours, ("tests/conformance", "conformances", "pressure", "")))
    assert {"target", "client", "adapter", "suite"} <= OPTIONS.keys()


def test_the_projects_own_test_run_does_not_collect_the_clauses() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["pytest"]["ini_options"]["testpaths"] == ["tests"]
    assert project["project"]["entry-points"]["pytest11"]["conformance"] == "conformance.pytest_options"


@pytest.mark.parametrize(
    ("module", "leaves_out"),
    [("pytest_options", "redis pressure"), ("histories.worker", "redis miniredis trio")],
)
def test_a_module_that_starts_often_leaves_out_what_is_slow_to_import(module: str, leaves_out: str) -> None:
    code = f"import sys, conformance.{module}; print(sys.modules.keys() & set({leaves_out.split()!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_every_name_in_all_can_be_imported() -> None:
    assert all(getattr(conformance, name) for name in conformance.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = conformance.nonsense
