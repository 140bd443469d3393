"""Copies of the project that mutants are put into, one at a time, and the processes that run there.

A fork server has imported what nobody changes, so that a process costs no more than what it does.
"""

from __future__ import annotations

import compileall
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self, TypeVar

from ..forking import Forked, ForkServer
from .model import ROOT, Mutant

__all__ = ["Bench", "Benches"]

T = TypeVar("T")

COPIED: Final = ("miniredis", "pressure", "conformance", "tests")
COMPILED: Final = ("miniredis", "pressure", "conformance", "tests/tools")
ALSO: Final = ("pyproject.toml", "README.md", "CHANGELOG.md")

IMPORTED: Final = ("trio", "hiredis", "redis.asyncio", "lupa.lua51", "pytest", "hypothesis")
"""What is imported before the packages that may be changed."""


class Bench:
    """One copy of the project."""

    def __init__(self, server: ForkServer, folder: Path) -> None:
        self._server, self.folder = server, folder
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name)
        for name in COMPILED:
            compileall.compile_dir(folder / name, quiet=2)  # once, where no process writes any
        for name in ALSO:
            shutil.copy2(ROOT / name, folder)

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """The copy has the mutant's change within this block.

        Raises:
            ValueError: the change does not fit the file: its text is not there, or more than once.
        """
        (self.folder / mutant.file).write_text(mutant.source())
        try:
            yield
        finally:
            shutil.copy2(
                ROOT / mutant.file, self.folder / mutant.file
            )  # with its time, which compiled files name

    def run(self, words: list[str], limit: float, **variables: str) -> tuple[int | None, str]:
        """Runs ``python WORD...`` in the copy: its exit status, None if it did not end in time, and what it printed."""
        environment = {
            **os.environ,
            **variables,
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        with tempfile.TemporaryFile("w+") as output:
            process = Forked(
                self._server, [sys.executable, *words], cwd=self.folder, env=environment,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip
            status: int | None
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = None
            output.seek(0)
            return status, output.read()


class Benches:
    """So many copies that work at the same time; leaving its ``with`` block ends their processes."""

    def __init__(self, number: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mutation-")
        self._server = ForkServer(*IMPORTED)
        self._idle: queue.SimpleQueue[Bench | None] = queue.SimpleQueue()
        self.pool = ThreadPoolExecutor(number)
        for _ in range(number):
            self._idle.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown(cancel_futures=True)
        self._server.__exit__()
        self._folder.cleanup()

    def with_bench(self, work: Callable[[Bench], T]) -> T:
        """What the work gives on the next bench that is free."""
        bench = self._idle.get() or Bench(self._server, Path(tempfile.mkdtemp(dir=self._folder.name)))
        try:
            return work(bench)
        finally:
            self._idle.put(bench)
