"""On a machine without a Redis 7.0, what needs one is skipped, and the run says so in one line for each reason."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.targets import Address, program

from .conftest import is_7_0, pytest_terminal_summary, skip_unless_7_0


def test_tests_that_compare_with_redis_7_0_are_skipped_for_an_older_one(older_redis: Path) -> None:
    with (
        program(lambda: older_redis) as address,
        pytest.raises(
            pytest.skip.Exception,
            match=r"those of Redis 7\.0, and the only real Redis here is .* Redis 6\.2\.",
        ),
    ):
        skip_unless_7_0(address)


@pytest.mark.parametrize("name", ["embedded_server", "redis_7_0"])
def test_miniredis_and_a_redis_7_0_are_recognised_as_7_0(name: str, request: pytest.FixtureRequest) -> None:
    server: Address = request.getfixturevalue(name)
    assert is_7_0(server)


def test_each_reason_for_skipping_is_one_line_with_its_count() -> None:
    skipped = [
        SimpleNamespace(longrepr=("a.py", line, f"Skipped: no {what}"))
        for line, what in enumerate(["node", "browser", "node"])
    ]
    lines: list[str] = []
    reporter: Any = SimpleNamespace(stats={"skipped": skipped}, section=lines.append, write_line=lines.append)
    pytest_terminal_summary(reporter)
    assert lines == ["what was skipped, and why", "    2 no node", "    1 no browser"]
