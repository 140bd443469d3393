"""Every example of every guide runs.

A block marked ``python`` is a program, or, if it defines a test, a file of tests for pytest; one that begins with
``@command`` is a piece of the engine that has to stand there word for word. One that begins with a comment that is
a file's name, such as ``# worker.py``, is that file: the blocks marked ``sh`` that come after it in the same guide
find it in their folder. A block marked ``sh`` is run by bash with a server of its own, whose URL is in
``REDIS_URL``. A block marked ``shell`` is not run: it installs something, runs for long or needs what a test does
not have. What an example imports beyond the extra ``test`` may
be missing: then it is skipped.

The default run leaves out what takes a process or more: each ``pressure`` and ``python`` in a shell example is one,
and so is pytest. CI runs all: ``pytest -m "not spark" tests/guides``.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from _pytest.mark.structures import ParameterSet

import miniredis
import pressure
from tests.waiting import until

from .markdown import ROOT, Block, blocks


def is_test(block: Block) -> bool:
    return "def test_" in block.code


def is_ours(block: Block) -> bool:
    return block.code.startswith("@command")


def file_name(block: Block) -> str | None:
    """The name of the file that a block is, if it is one."""
    found = re.match(r"# (\w+\.py)\n", block.code)
    return found[1] if found else None


def is_in_spark(block: Block) -> bool:
    return "pressure.spark" in block.code or "--from-jsonl" in block.code


def example(block: Block) -> ParameterSet:
    marks = [pytest.mark.spark] if is_in_spark(block) else []
    if block.language == "sh":
        marks.append(pytest.mark.slow)
    return pytest.param(block, id=str(block), marks=marks)


def missing(block: Block, *files: str) -> str:
    """What the example imports that is neither installed nor one of the files beside it; empty if nothing is."""
    for node in ast.walk(ast.parse(block.code)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for name in names:
            name = name.partition(".")[0]
            if f"{name}.py" not in files and importlib.util.find_spec(name) is None:
                return name
    return ""


def need_imports(block: Block, *files: str) -> None:
    if name := missing(block, *files):
        pytest.skip(f"the example imports {name}, which is not installed")


WITHOUT = "-p no:cacheprovider -p no:xdist -p no:hypothesispytest".split()
"""Plugins that no example needs, and that take longer to load than an example takes."""

PYTHON = blocks("python")
PROGRAMS = [each for each in PYTHON if not (is_test(each) or is_ours(each) or file_name(each))]
TESTS = [each for each in PYTHON if is_test(each)]
TOGETHER = [each for each in TESTS if not (missing(each) or is_in_spark(each))]


@pytest.mark.parametrize("block", [example(each) for each in PROGRAMS])
def test_a_python_example_runs(block: Block, tmp_path: Path) -> None:
    need_imports(block)
    if is_in_spark(block):  # which is to end with its process, and warns of this and that
        subprocess.run([sys.executable, "-c", block.code], check=True, timeout=1000)
    else:
        run_here(block, tmp_path)


def run_here(block: Block, folder: Path) -> None:
    """In this process, where all that it imports is loaded; it leaves no thread behind that would keep its own alive."""
    before = threads()
    with patch.dict(os.environ), patch.object(tempfile, "tempdir", str(folder)):
        exec(compile(block.code, str(block), "exec"), {"__name__": "__main__"})  # noqa: S102  (it is ours)
    until(lambda: threads() <= before, f"the threads of {block} have ended")


@pytest.mark.parametrize(
    "package", [miniredis, pressure, pressure.aio, pressure.trio], ids=lambda package: package.__name__
)
def test_the_example_in_the_docstring_of_a_package_runs(
    package: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = re.search(r"::\n\n((?: {4}.*\n|\n)+)", inspect.getdoc(package) or "")
    assert found
    with miniredis.start() as server:
        monkeypatch.setenv("REDIS_URL", server.url)
        exec(textwrap.dedent(found[1]), {"__name__": "__main__"})  # noqa: S102  (it is ours)


def threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if not each.daemon}


@pytest.mark.slow
def test_the_tests_in_the_examples_pass(tmp_path: Path) -> None:
    """All in one process, since pytest takes longer to start than they take."""
    expect_passed(tmp_path, *TOGETHER)


@pytest.mark.parametrize("block", [example(each) for each in TESTS if each not in TOGETHER])
def test_the_tests_in_an_example_pass(block: Block, tmp_path: Path) -> None:
    need_imports(block)
    expect_passed(tmp_path, block)


def expect_passed(folder: Path, *examples: Block) -> None:
    for each in examples:
        (folder / f"test_{re.sub(r'[^a-z0-9]', '_', str(each).lower())}.py").write_text(each.code)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *WITHOUT, str(folder)],
        capture_output=True, text=True, timeout=1000, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("block", [example(each) for each in PYTHON if is_ours(each)])
def test_an_example_of_engine_code_is_in_the_engine(block: Block) -> None:
    modules = (ROOT / "miniredis" / "engine" / "commands").rglob("*.py")
    assert any(f"\n{block.code}" in module.read_text() for module in modules)


def run_in_bash(script: str, folder: Path, timeout: float = 300) -> list[str]:
    """The lines that a script prints. It has a server of its own."""
    scripts = Path(sys.executable).parent
    with miniredis.start() as server:
        done = subprocess.run(
            ["bash", "-euc", script], cwd=folder,
            env={"PATH": f"{scripts}:/usr/bin:/bin", "REDIS_URL": server.url, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("block", [example(each) for each in blocks("sh")])
def test_a_shell_example_prints_what_the_guide_says(block: Block, tmp_path: Path) -> None:
    """What follows ``#=>`` at the end of a line is what the script prints there."""
    files = {
        name: each
        for each in PYTHON
        if (name := file_name(each)) and each.guide == block.guide and each.line < block.line
    }
    for name, each in files.items():
        need_imports(each, *files)
        (tmp_path / name).write_text(each.code)
    code = block.code.replace("100000", "2000")
    expected = [line.partition("#=> ")[2] for line in code.splitlines() if "#=> " in line]
    out = run_in_bash(code, tmp_path)
    if expected:
        assert out == expected
