"""Operations send what they always sent, whatever comes between; ``courses`` says how to read a difference."""

from __future__ import annotations

import sys

import pytest

from pressure.protocol.vitals import LOOK_APART

from .courses import FILE, GROUPS, lines_of


def recorded() -> dict[str, list[str]]:
    courses: dict[str, list[str]] = {}
    for line in FILE.read_text().splitlines():
        if line.startswith("# "):
            lines = courses[line] = []
        lines.append(line)
    return courses


RECORDED = recorded()


@pytest.fixture(autouse=True)
def looks_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As far apart as they are; time costs nothing here."""
    monkeypatch.setattr(sys.modules["pressure.protocol.repair"], "LOOK_APART", LOOK_APART)


@pytest.mark.parametrize(("operation", "situation", "scripts"), GROUPS)
def test_operations_keep_their_courses(operation: str, situation: str, scripts: bool) -> None:
    lines = list(lines_of(operation, situation, scripts))
    assert lines == RECORDED[lines[0]]


def test_nothing_is_recorded_that_is_not_played() -> None:
    assert len(RECORDED) == len(GROUPS)
