"""A pytest plugin that records which tests execute which statements, and how long they take.

The statements are those of the copies that ``marks`` made. They count wherever they are carried out in this
process, in threads of servers and clients, too, for the test that runs meanwhile. What other processes carry
out is not seen.

``REACH_OUT`` names the file written to; each worker of xdist adds its own name.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from .marks import seen

__all__ = ["Reach"]


class Reach:
    """What was reached so far.

    Attributes:
        tests: by the name of a test its seconds, and the lines that it came by, by file.
    """

    def __init__(self) -> None:
        self.tests: dict[str, tuple[float, dict[str, list[int]]]] = {}
        self._seconds = 0.0
        self._passed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        seen.clear()
        self._passed = False
        outcome = yield
        if self._passed and seen:
            self.tests[item.nodeid] = (round(self._seconds, 4), lines_by_file())
        return outcome

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        begin = time.monotonic()
        try:
            return (yield)
        finally:
            self._seconds = time.monotonic() - begin

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self._passed = report.passed

    def pytest_sessionfinish(self) -> None:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "")
        if self.tests:
            Path(os.environ["REACH_OUT"] + worker).write_text(json.dumps(self.tests))


def lines_by_file() -> dict[str, list[int]]:
    lines: dict[str, list[int]] = {}
    for file, line in sorted(seen.copy()):
        lines.setdefault(file, []).append(line)
    return lines


def pytest_configure(config: pytest.Config) -> None:
    if "REACH_OUT" in os.environ:
        config.pluginmanager.register(Reach())
