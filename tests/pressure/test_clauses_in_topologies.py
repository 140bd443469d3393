"""Every clause about queues holds in a cluster whose slots move, and behind sentinels that fail over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import miniredis
from conformance.clients.flavours import FLAVOURS
from conformance.documents import CLAUSES, Clause
from conformance.judging.capabilities import capabilities_of
from conformance.judging.environment import Environment
from conformance.judging.runner import judge_clause
from conformance.targets import Address

from .topologies import ONE_SERVER, SUITES, BehindSentinels, InCluster, Topological

pytestmark = pytest.mark.slow

APPLY = [each for each in CLAUSES.values() if SUITES & set(each.suites) and each.id not in ONE_SERVER]


@pytest.fixture(scope="module", params=["cluster", "sentinels"])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Topological]]:
    """Makes what a check works with, for a flavour."""
    with ExitStack() as stack:
        if request.param == "cluster":
            cluster = stack.enter_context(miniredis.cluster(2))
            yield lambda flavour: InCluster(cluster, FLAVOURS[flavour])
        else:
            servers = stack.enter_context(miniredis.sentinel(loglevel="warning"))
            yield lambda flavour: BehindSentinels(servers, FLAVOURS[flavour])


@pytest.fixture(scope="module")
def able() -> frozenset[str]:
    with miniredis.start() as server:
        return capabilities_of(lambda: Environment(Address(server.url, "miniredis"), FLAVOURS["sync"]))


@pytest.mark.parametrize("flavour", ["sync", "aio", "trio"])
@pytest.mark.parametrize("clause", APPLY, ids=[each.id for each in APPLY])
def test_a_clause_holds(
    clause: Clause, flavour: str, make: Callable[[str], Topological], able: frozenset[str]
) -> None:
    made: list[Topological] = []

    def environment() -> Any:
        made.append(make(flavour))
        return made[-1]

    outcome = judge_clause(clause, able, environment)
    if outcome.verdict == "not asked":
        pytest.skip(outcome.reason)
    assert outcome.verdict == "passed", outcome.reason


def test_each_clause_that_is_left_out_is_one() -> None:
    assert CLAUSES.keys() >= ONE_SERVER
