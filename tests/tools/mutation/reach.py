"""What is executed by which clause or test: recorded once, so that a mutant is judged by those that can notice it.

As a plugin of pytest (``-p tests.tools.mutation.reach``) it records tests; ``REACH`` in the environment names the file
it writes, to which each worker of xdist adds its name. What other processes execute is not seen.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import threading
import time
from collections.abc import Generator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

import pytest

from .model import ROOT, Mutant

__all__ = ["Reach", "Recorder", "reaching"]

Reach: TypeAlias = Mapping[str, tuple[float, Mapping[str, list[int]]]]
"""By the name of a clause or test its seconds, and the lines that it executed, by file."""

FOLDER: Final = f"{ROOT}{os.sep}"

COMMANDS: Final = "miniredis/engine/commands/"

TELLS: Final = f"{COMMANDS}server/introspection.py"
"""The file of the commands that tell of commands."""


class Recorder:
    """Notes which lines of our packages are executed, in threads that begin after it, too.

    Python 3.12 tells each line once, which takes no time; before, everything takes ten times as long.
    """

    def __init__(self) -> None:
        self._lines: set[tuple[str, int]] = set()
        if sys.version_info >= (3, 12):
            tool, lines = sys.monitoring.COVERAGE_ID, sys.monitoring.events.LINE
            sys.monitoring.use_tool_id(tool, __name__)
            sys.monitoring.register_callback(tool, lines, self._once)
            sys.monitoring.set_events(tool, lines)
        else:
            threading.settrace(self._call)
            sys.settrace(self._call)

    def _once(self, code: CodeType, line: int) -> Any:
        if is_ours(code.co_filename):
            self._lines.add((code.co_filename, line))
        if sys.version_info >= (3, 12):
            return sys.monitoring.DISABLE
        return None

    def _call(self, frame: FrameType, _: str, __: Any) -> Any:
        return self._line if is_ours(frame.f_code.co_filename) else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    def taken(self) -> dict[str, list[int]]:
        """The lines since the last call, by file."""
        lines, self._lines = self._lines, set()
        found: dict[str, list[int]] = {}
        for file, line in sorted(lines.copy()):
            found.setdefault(file.removeprefix(FOLDER), []).append(line)
        if sys.version_info >= (3, 12):
            sys.monitoring.restart_events()
        return found


@cache
def is_ours(file: str) -> bool:
    """Whether it is a file whose lines are noted."""
    return file.startswith((f"{FOLDER}miniredis/engine", f"{FOLDER}pressure"))


class Plugin:
    """Records each test that passes."""

    def __init__(self) -> None:
        self._recorder, self._reach, self._passed = Recorder(), dict[str, Any](), False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._recorder.taken()
        self._passed, begin = False, time.monotonic()
        outcome = yield
        if self._passed:
            self._reach[item.nodeid] = round(time.monotonic() - begin, 3), self._recorder.taken()
        return outcome

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self._passed = report.passed

    def pytest_sessionfinish(self) -> None:
        path = os.environ["REACH"] + os.environ.get("PYTEST_XDIST_WORKER", "")
        Path(path).write_text(json.dumps(self._reach))


def pytest_configure(config: pytest.Config) -> None:
    if "REACH" in os.environ:
        config.pluginmanager.register(Plugin())


def reaching(mutant: Mutant, reach: Reach) -> list[str]:
    """The clauses or tests that execute what a mutant changes, the quickest first.

    What is executed at import, such as a table, is used by whoever executes a function of the file; if it has none, or
    the change is in a text, such as a script in Lua, of its folder. What stands above a command is used by whoever asks
    what commands there are, too.
    """
    statements = statements_of(mutant.file)
    lines = {near for line in mutant.lines for near in statements.get(line, ())}
    place = f"{mutant.file.rpartition('/')[0]}/"
    if lines:
        chosen = [
            name for name, (_, files) in reach.items() if lines.intersection(files.get(mutant.file, ()))
        ]
    if not lines or not chosen:  # a decorator is executed at import, too
        used = {mutant.file, TELLS} if mutant.file.startswith(COMMANDS) else {mutant.file}
        of_file = (
            []
            if mutant.name.startswith("Lua")
            else [name for name in reach if used.intersection(reach[name][1])]
        )
        chosen = of_file or [name for name in reach if any(file.startswith(place) for file in reach[name][1])]
    return sorted(chosen, key=lambda name: reach[name][0])


@cache
def statements_of(file: str) -> dict[int, range]:
    """The lines of the innermost statement of a function, or of its head, by line."""
    found: dict[int, range] = {}
    tree = ast.parse((ROOT / file).read_text())
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:
        for statement in (
            each for part in function.body for each in ast.walk(part) if isinstance(each, ast.stmt)
        ):
            first, last = statement.lineno, statement.end_lineno or statement.lineno
            if body := getattr(statement, "body", None):
                last = max(first, body[0].lineno - 1)
            found |= dict.fromkeys(range(first, last + 1), range(first, last + 1))
    return found
