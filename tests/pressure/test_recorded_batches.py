"""Each operation sends the recorded batches; ``recorded_batches`` says how to read a difference."""

from __future__ import annotations

import pytest

from pressure.protocol.liveness import PROBE_INTERVAL

from .recorded_batches import FILE, GROUPS, lines_of


def recorded() -> dict[str, list[str]]:
    traces: dict[str, list[str]] = {}
    for line in FILE.read_text().splitlines():
        if line.startswith("# "):
            lines = traces[line] = []
        lines.append(line)
    return traces


RECORDED = recorded()


@pytest.fixture(autouse=True)
def looks_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As far apart as they are; time costs nothing here."""
    monkeypatch.setattr("pressure.protocol.liveness.PROBE_INTERVAL", PROBE_INTERVAL)


@pytest.mark.parametrize(("operation", "situation", "scripts"), GROUPS)
def test_each_operation_sends_the_recorded_batches(operation: str, situation: str, scripts: bool) -> None:
    lines = list(lines_of(operation, situation, scripts))
    assert lines == RECORDED[lines[0]]


def test_every_recorded_trace_belongs_to_an_operation() -> None:
    assert len(RECORDED) == len(GROUPS)
