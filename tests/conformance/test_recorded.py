"""The recorded conversations, where the clauses about them do not go; test_clauses.py plays those."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.documents import CLAUSES
from conformance.documents.recorded import FILES
from conformance.documents.recorded.player import Player, Scenario, read
from conformance.judging.environment import Failure
from conformance.judging.runner import judge
from conformance.targets import TARGETS, Address, program
from tests.cases import check_each, exhaustive
from tests.miniredis.record_older import scenarios_on_6_2

ON_6_2 = [name for name in FILES if scenarios_on_6_2(name)]


def play(address: Address, scenarios: list[Scenario]) -> None:
    def played(scenario: Scenario) -> None:
        with Player((address.host, address.port)) as player:
            player.play(scenario)

    check_each({each.title: each for each in scenarios}, played)


@pytest.mark.parametrize("name", [exhaustive(name, when=name != "lists") for name in FILES])
def test_every_client_in_the_process_gets_the_recorded_bytes(name: str, local_server: Address) -> None:
    play(local_server, read(FILES[name]))


@pytest.mark.parametrize("name", [exhaustive(name, when=name != "lists") for name in ON_6_2])
def test_what_is_said_to_hold_on_redis_6_2_holds_there(name: str, older_redis: Path) -> None:
    chosen = scenarios_on_6_2(name)
    with program(lambda: older_redis) as address:
        play(address, [each for each in read(FILES[name]) if each.title in chosen])


def test_no_two_scenarios_of_a_file_share_a_title() -> None:
    for name, path in FILES.items():
        titles = [each.title for each in read(path)]
        assert len(titles) == len(set(titles)), name


WRONG = {
    r"a= :7\r\n": r"what client a gets: wanted :7\r\n, got :0\r\n",
    r"a= :0\r\n+OK": r"what client a gets: wanted :0\r\n+OK, got :0\r\n",
    "a waits": "never were 1 clients blocked",
    "a closed": "what client a gets at its end: wanted , got :",
    "a speaks 3": "HELLO 3: wanted %7, got :0",
    "b: PING": r"what client a gets in the end: wanted -ERR DISCARD without MULTI\r\n, got :0\r\n",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_not_so_fails(
    line: str, embedded_server: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.judging.running.PATIENCE", 0.1)
    file = tmp_path / "wrong.txt"
    file.write_text(f"== wrong\na: LLEN none\n{line}\n")
    with Player((embedded_server.host, embedded_server.port)) as player, pytest.raises(Failure) as caught:
        player.play(*read(file))
    assert str(caught.value).startswith(WRONG[line])


def test_a_failure_names_the_conversation_and_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miniredis.engine.protocol.errors.SYNTAX", b"ERR sin tax")
    with TARGETS["embedded"].up() as address:
        (outcome,) = judge(address, [CLAUSES["recorded.list-elements"]])
    assert outcome.verdict == "violated"
    assert "ERR sin tax" in outcome.reason
    assert "a= -ERR syntax error" in outcome.evidence[0].text


def test_a_server_of_somebody_else_is_not_emptied(embedded_server: Address) -> None:
    (outcome,) = judge(Address(embedded_server.url, "somebody else's"), [CLAUSES["recorded.lists"]])
    assert outcome.verdict == "not asked"
    assert "a server that may be emptied is given as redis://HOST:PORT#may-be-emptied" in outcome.reason
