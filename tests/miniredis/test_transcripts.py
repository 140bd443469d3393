"""Every recorded conversation, byte for byte, on miniredis and on a real Redis."""

import pytest

from tests.cases import check_each

from .transcript import TRANSCRIPTS, Player, Scenario, read

FILES = {path.stem: {each.title: each for each in read(path)} for path in sorted(TRANSCRIPTS.glob("*.txt"))}


@pytest.mark.usefixtures("as_redis_7_0")
@pytest.mark.parametrize("scenarios", FILES.values(), ids=FILES.keys())
def test_every_conversation_of_a_transcript_gets_the_recorded_replies(
    scenarios: dict[str, Scenario], address: tuple[str, int]
) -> None:
    def play(scenario: Scenario) -> None:
        with Player(address) as player:
            player.play(scenario)

    check_each(scenarios, play)


def test_no_two_scenarios_of_a_file_share_a_title() -> None:
    for path in TRANSCRIPTS.glob("*.txt"):
        assert len(FILES[path.stem]) == len(read(path)), path


def test_the_player_notices_one_wrong_byte(embedded_address: tuple[str, int]) -> None:
    wrong = Scenario("wrong", [*FILES["lists"]["LLEN"].steps])
    answer = next(index for index, step in enumerate(wrong.steps) if step.verb == "=")
    wrong.steps[answer] = type(wrong.steps[answer])("a", "=", r":7\r\n")
    with pytest.raises(AssertionError), Player(embedded_address) as player:
        player.play(wrong)
