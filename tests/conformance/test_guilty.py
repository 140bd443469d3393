"""The suite convicts what is wrong on purpose, by the clauses one would expect."""

import pytest

from conformance.clauses import CLAUSES
from conformance.guilty import PARTIES, Guilty, convicted_of


@pytest.mark.parametrize("party", PARTIES, ids=[party.name for party in PARTIES])
def test_guilty_party_is_convicted(party: Guilty) -> None:
    convictions = convicted_of(party)
    assert convictions.keys() == set(party.clauses)
    crashes = [why for why in convictions.values() if "Hangup" in why or "ConnectionError" in why]
    assert not crashes, "what is wrong with it is to be one small thing, and not that it falls over"


def test_who_is_not_guilty_is_not_convicted() -> None:
    clauses = tuple(dict.fromkeys(clause for party in PARTIES for clause in party.clauses))
    nothing = '"""Which Redis this is."""'
    assert convicted_of(Guilty("nothing", "miniredis/engine/version.py", nothing, nothing, clauses)) == {}


def test_there_are_guilty_servers_and_clients() -> None:
    assert {party.package for party in PARTIES} == {"miniredis", "pressure"}
    assert len({party.name for party in PARTIES}) == len(PARTIES) >= 6
    assert all(clause in CLAUSES for party in PARTIES for clause in party.clauses)


def test_a_change_that_does_not_fit_is_told() -> None:
    with pytest.raises(ValueError, match="0 times"):
        convicted_of(Guilty("misfit", "pressure/keys.py", "no such text", "", ("queue.fifo",)))
