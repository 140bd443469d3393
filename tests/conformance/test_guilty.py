"""The suite fails each faulty server and client, by the clauses one would expect.

All of it: pytest -n 0 -m "slow or not slow" tests/conformance/test_guilty.py
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conformance.clients.flavours import FLAVOURS
from conformance.documents import CLAUSES
from tests.tools.mutation.clauses import PARTIES, Court, Guilty, unconvicting
from tests.tools.mutation.clauses.batches import BATCHES
from tests.tools.mutation.clauses.servers import SERVERS
from tests.tools.mutation.clauses.wire import WIRE

AT_ONCE = 4
"""Trials at the same time; each is a process that mostly waits for what does not come."""


PART = 12
"""How many clauses those are judged by at once who are not guilty."""


def nobodies(client: str) -> Iterator[Guilty]:
    """Parties that change nothing, judged by all that those are who are judged with this client."""
    same = '"""The version of Redis."""'
    clauses = dict.fromkeys(clause for party in PARTIES if party.client == client for clause in party.clauses)
    for first in range(0, len(clauses), PART):
        some = tuple(clauses)[first : first + PART]
        yield Guilty(f"nobody, {client} {first}", "miniredis/engine/version.py", same, same, some, client)


NOBODIES = [party for client in sorted({party.client for party in PARTIES}) for party in nobodies(client)]

FIRST = [NOBODIES[0], BATCHES[1], SERVERS[0]]

Trial = Callable[[Guilty], dict[str, str]]


@pytest.fixture(scope="module")
def trial(request: pytest.FixtureRequest) -> Iterator[Trial]:
    """Holds a trial; those of all tests that were chosen are begun at once, unless other processes do some."""
    with Court() as court:

        def held(party: Guilty) -> dict[str, str]:
            return court.convicted_of(party, patient=party in NOBODIES)

        if "PYTEST_XDIST_WORKER" in os.environ:
            yield held
        else:
            yield from begun(held, request)


def begun(held: Trial, request: pytest.FixtureRequest) -> Iterator[Trial]:
    chosen = [party for item in request.session.items if (party := of_trial(item)) is not None]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        trials = {party.name: pool.submit(held, party) for party in chosen}
        yield lambda party: trials[party.name].result()
        pool.shutdown(cancel_futures=True)


def of_trial(item: pytest.Item) -> Guilty | None:
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return parameters.get("party")


def marked(party: Guilty) -> Any:
    """In the default run one client and one server take part; a trial is a process, and there are a hundred."""
    return pytest.param(party, id=party.name, marks=[] if party in FIRST else [pytest.mark.slow])


SLIPS = "NameError", "AttributeError", "TypeError"


@pytest.mark.parametrize("party", [marked(party) for party in PARTIES])
def test_each_faulty_server_or_client_fails_its_clauses(
    party: Guilty, trial: Trial, request: pytest.FixtureRequest
) -> None:
    if party in WIRE:
        request.getfixturevalue("redis_7_0")
    convictions = trial(party)
    assert convictions.keys() == set(party.clauses)
    crashes = [why for why in convictions.values() if "Hangup" in why or "ConnectionError" in why]
    crashes += [why for why in convictions.values() if why.startswith(SLIPS)]
    assert not crashes, "what is wrong with it is to be one small thing, and not that it falls over"


@pytest.mark.parametrize("party", [marked(party) for party in NOBODIES])
def test_correct_servers_and_clients_pass(party: Guilty, trial: Trial) -> None:
    assert trial(party) == {}


def test_faulty_servers_and_clients_have_distinct_names_and_existing_clauses() -> None:
    assert {party.package for party in PARTIES} == {"miniredis", "pressure"}
    assert len({party.name for party in PARTIES}) == len(PARTIES) >= 6
    assert all(clause in CLAUSES for party in PARTIES for clause in party.clauses)
    assert {party.client for party in PARTIES} == {"sync", "plain"} <= FLAVOURS.keys()


def test_every_clause_convicts_a_mutant() -> None:
    convicting = {clause for party in PARTIES for clause in party.clauses}
    assert unconvicting(convicting) == []
    assert unconvicting(convicting - {"list.llen"}) == ["list.llen"]


def test_a_patch_that_does_not_apply_is_reported() -> None:
    with Court() as court, pytest.raises(ValueError, match="0 times"):
        court.convicted_of(Guilty("misfit", "pressure/keys.py", "no such text", "", ("queue.fifo",)))
