"""Every recorded conversation, byte for byte, on miniredis and on a real Redis."""

from pathlib import Path

import pytest
import redis

from conformance.targets import Address, program
from tests.cases import check_each
from tests.conftest import ANY_LOOP, is_7_0, skip_unless_7_0

from .record_older import scenarios_on_6_2
from .transcript import TRANSCRIPTS, Player, Scenario, read

FILES = {path.stem: {each.title: each for each in read(path)} for path in sorted(TRANSCRIPTS.glob("*.txt"))}


@ANY_LOOP
@pytest.mark.parametrize("name", FILES)
def test_every_conversation_of_a_transcript_gets_the_recorded_replies(
    name: str, server_address: Address, address: tuple[str, int]
) -> None:
    scenarios = asked_of(server_address, name)

    def play(scenario: Scenario) -> None:
        with Player(address) as player:
            player.play(scenario)

    check_each(scenarios, play)


def asked_of(server: Address, name: str) -> dict[str, Scenario]:
    """The scenarios of a file whose replies are those of this server's version; skips the test if there are none."""
    if is_7_0(server):
        return FILES[name]
    with redis.Redis.from_url(server.url) as client:
        is_6_2 = str(client.info("server")["redis_version"]).startswith("6.2.")
    chosen = scenarios_on_6_2(name) if is_6_2 else set()
    if not chosen:
        skip_unless_7_0(server)
    return {title: scenario for title, scenario in FILES[name].items() if title in chosen}


def test_scenarios_that_hold_on_redis_6_2_are_asked_of_it(older_redis: Path) -> None:
    with program(lambda: older_redis) as server:
        assert "LLEN" in asked_of(server, "lists")
        assert len(asked_of(server, "lists")) < len(FILES["lists"])
        with pytest.raises(pytest.skip.Exception):
            asked_of(server, "functions")


def test_no_two_scenarios_of_a_file_share_a_title() -> None:
    for path in TRANSCRIPTS.glob("*.txt"):
        assert len(FILES[path.stem]) == len(read(path)), path


def test_the_player_notices_one_wrong_byte(embedded_address: tuple[str, int]) -> None:
    wrong = Scenario("wrong", [*FILES["lists"]["LLEN"].steps])
    answer = next(index for index, step in enumerate(wrong.steps) if step.verb == "=")
    wrong.steps[answer] = type(wrong.steps[answer])("a", "=", r":7\r\n")
    with pytest.raises(AssertionError), Player(embedded_address) as player:
        player.play(wrong)
