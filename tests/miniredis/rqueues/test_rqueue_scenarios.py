"""Conversations about reliable queues, written by hand from what the module's README says."""

import pytest

from tests.cases import for_each

from .rqueue_scenarios import FOLDER, Player, Scenario, read

SCENARIOS = {
    f"{path.stem}: {scenario.title}": scenario
    for path in sorted(FOLDER.glob("*.txt"))
    for scenario in read(path)
}


@for_each("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_a_scenario_gets_the_replies_it_states(scenario: Scenario) -> None:
    assert scenario.sentences, "it names no sentence"
    Player().play(scenario)


def test_the_player_notices_a_wrong_form_of_null() -> None:
    scenario = Scenario("null", steps=[("a", ":", "MQ.POP 1 q"), ("a", "=", r"*-1")])
    with pytest.raises(AssertionError):
        Player().play(scenario)
