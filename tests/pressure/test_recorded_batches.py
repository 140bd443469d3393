"""Each operation sends the recorded batches; ``recorded_batches`` says how to read a difference.

All disturbances: ``pytest -n 2 -m exhaustive tests/pressure/test_recorded_batches.py``.
"""

from __future__ import annotations

import pytest

from pressure.protocol.liveness import PROBE_INTERVAL
from tests.cases import check_each, exhaustive

from .recorded_batches import DISTURBANCES, FILE, GROUPS, lines_of
from .recorded_batches_tables import CHOSEN


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


@pytest.mark.parametrize("operation", CHOSEN)
def test_each_operation_sends_the_recorded_batches(operation: str) -> None:
    def check(group: tuple[str, str, bool]) -> None:
        lines = [*lines_of(*group, disturbances=())]
        assert lines == [line for line in RECORDED[lines[0]] if not line.startswith(DIGESTS)]

    check_each({str(group): group for group in GROUPS if group[0] == operation}, check)


DIGESTS = tuple(f"  {each}: " for each in DISTURBANCES)

#: In which each operation that has a choice is disturbed in the default run.
TELLING = {"one"}

#: What sends many batches, each of which is disturbed in each way: in the exhaustive run.
LONG = {("repair", "deadlock", False), ("put_many at once", "one", False)}


@pytest.mark.parametrize(
    ("operation", "situation", "scripts"),
    [exhaustive(*each, when=each[1] not in TELLING or each in LONG) for each in GROUPS],
)
def test_each_disturbed_operation_sends_the_recorded_batches(
    operation: str, situation: str, scripts: bool
) -> None:
    lines = list(lines_of(operation, situation, scripts))
    assert lines == RECORDED[lines[0]]


def test_every_recorded_trace_belongs_to_an_operation() -> None:
    assert len(RECORDED) == len(GROUPS)
