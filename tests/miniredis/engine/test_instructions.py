"""The cost of requests in bytecode instructions, which does not depend on the machine, stays as accepted."""

import dataclasses
import sys
from pathlib import Path

import pytest

from tests.tools.instructions import guard
from tests.tools.instructions.counting import SCENARIOS, Scenario, instructions

HAND_OVER = SCENARIOS["hand-over"]


@pytest.mark.skipif(
    guard.accepted_for(guard.this_python()) is None,
    reason=f"nothing is accepted yet for Python {guard.this_python()}: python -m tests.tools.instructions --accept",
)
def test_no_request_costs_much_more_than_accepted() -> None:
    accepted = guard.accepted_for(guard.this_python())
    assert accepted is not None
    assert guard.complaints(accepted, guard.counted()) == []


@pytest.mark.parametrize("name", ["lpush", "set-16", "hand-over"])
def test_the_count_of_instructions_is_the_same_every_time(name: str) -> None:
    assert instructions(SCENARIOS[name]) == instructions(SCENARIOS[name])


@pytest.mark.parametrize("name", ["lpush", "rpop", "lrange-100"])
def test_the_length_of_a_list_costs_nothing(name: str) -> None:
    short, long = (dataclasses.replace(SCENARIOS[name], elements=length) for length in (100, 100_000))
    assert instructions(long) == instructions(short)


@pytest.mark.parametrize("who", ["waiters", "bystanders"])
def test_blocked_clients_cost_nothing(who: str) -> None:
    few, many = (Scenario(**dataclasses.asdict(HAND_OVER) | {who: count}) for count in (10, 2000))
    assert instructions(many) == instructions(few)


def test_counting_restores_the_previous_tracer() -> None:
    before = sys.gettrace()
    instructions(SCENARIOS["get"])
    assert sys.gettrace() is before


def test_a_cost_that_grew_is_reported_with_what_to_do() -> None:
    found = {"get": 126.0, "set": 125.0}
    (complaint,) = guard.complaints({"get": 100.0, "set": 100.0}, found)
    assert complaint.startswith("get: 126 instructions per command, 100 are accepted")
    assert "python -m tests.tools.instructions --accept" in complaint


def test_a_scenario_without_an_accepted_cost_is_reported() -> None:
    assert len(guard.complaints({}, {"get": 1.0})) == 1


def test_accepting_costs_keeps_the_numbers_of_other_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "accepted.json"
    there.write_text('{"2.7": {"get": 1.0}}')
    monkeypatch.setattr(guard, "ACCEPTED", there)
    found = guard.accept()
    assert guard.accepted_for("2.7") == {"get": 1.0}
    assert guard.accepted_for(guard.this_python()) == found
    assert guard.accepted_for("4.0") is None
    assert found.keys() == SCENARIOS.keys()
