"""Every recorded conversation, byte for byte, on miniredis and on a real Redis."""

import pytest
import redis

from .transcript import Player, Scenario, all_scenarios

SCENARIOS = dict(all_scenarios())


@pytest.fixture
def as_recorded(address: tuple[str, int]) -> tuple[str, int]:
    with redis.Redis(*address) as client:
        version = client.info("server")["redis_version"]
    if not version.startswith("7.0."):
        pytest.skip(f"this server is Redis {version}, and the transcripts are of 7.0.15")
    return address


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_transcript(scenario: Scenario, as_recorded: tuple[str, int]) -> None:
    with Player(as_recorded) as player:
        player.play(scenario)


def test_the_player_notices_one_wrong_byte(embedded_address: tuple[str, int]) -> None:
    wrong = Scenario("wrong", [*SCENARIOS["lists: LLEN"].steps])
    answer = next(index for index, step in enumerate(wrong.steps) if step.verb == "=")
    wrong.steps[answer] = type(wrong.steps[answer])("a", "=", r":7\r\n")
    with pytest.raises(AssertionError), Player(embedded_address) as player:
        player.play(wrong)
