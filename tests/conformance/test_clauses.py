"""Every clause, on miniredis and on a real Redis, with our client."""

from __future__ import annotations

import sys

import pytest
import redis

import pressure
from conformance.capabilities import LACKS, capabilities_of
from conformance.checks import CHECKS
from conformance.clauses import CLAUSES, SUITES
from conformance.environment import Environment
from conformance.flavours import FLAVOURS
from conformance.runner import judge_clause, run
from conformance.targets import Address, embedded

CAPABILITIES: dict[str, frozenset[str]] = {}


def capabilities(address: Address) -> frozenset[str]:
    if address.url not in CAPABILITIES:
        CAPABILITIES[address.url] = capabilities_of(lambda: Environment(address, pressure.Queue))
    return CAPABILITIES[address.url]


#: What takes more than a moment takes part once for each server.
LONG = [each.id for each in CLAUSES.values() if each.suites == ("histories",)]


@pytest.mark.parametrize("clause", [each for each in CLAUSES if each not in LONG])
def test_clause(clause: str, server_address: Address) -> None:
    expect_passed(clause, server_address)


@pytest.mark.parametrize("server", ["embedded_server", "real_server"])
@pytest.mark.parametrize("clause", LONG)
def test_long_clause(clause: str, server: str, request: pytest.FixtureRequest) -> None:
    expect_passed(clause, request.getfixturevalue(server))


def expect_passed(clause: str, server_address: Address) -> None:
    outcome = judge_clause(
        CLAUSES[clause], capabilities(server_address), lambda: Environment(server_address, pressure.Queue)
    )
    if outcome.verdict == "skipped":
        pytest.skip(outcome.reason)
    assert outcome.verdict == "passed", outcome.reason


#: What a client of ours takes part in; the others are replies to plain commands.
OURS = [
    each.id
    for each in CLAUSES.values()
    if each.suites != ("list-notes",) and "reliable-queues" not in each.needs and each.id not in LONG
]


@pytest.mark.parametrize("flavour", [name for name in FLAVOURS if name != "sync"])
@pytest.mark.parametrize("server", ["embedded_server", "real_server"])
@pytest.mark.parametrize("clause", OURS)
def test_clause_with_every_flavour(
    clause: str, server: str, flavour: str, request: pytest.FixtureRequest
) -> None:
    address: Address = request.getfixturevalue(server)
    outcome = judge_clause(
        CLAUSES[clause], capabilities(address), lambda: Environment(address, FLAVOURS[flavour])
    )
    assert outcome.verdict == "passed", outcome.reason


def test_queues_need_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of the README's commands installs none, and a server without lupa runs no scripts."""
    monkeypatch.setitem(sys.modules, "lupa", None)
    monkeypatch.delitem(sys.modules, "miniredis.scripting.interpreter", raising=False)
    with embedded() as address:
        with redis.Redis.from_url(address.url) as client, pytest.raises(redis.ResponseError, match="lupa"):
            client.eval("return 1", 0)
        outcomes = run(address, suites=["decisions"])
    assert [outcome for outcome in outcomes if outcome.verdict != "passed"] == []


def test_miniredis_can_do_all_that_is_asked_of_redis_7_0(embedded_server: Address) -> None:
    assert capabilities(embedded_server) == set(LACKS)


def test_every_clause_has_a_check_and_every_check_a_clause() -> None:
    assert set(CHECKS) == set(CLAUSES)


def test_no_two_clauses_share_an_id() -> None:
    from conformance.clauses import ALL

    assert len(ALL) == len(CLAUSES)


def test_the_suites_are_the_documents() -> None:
    assert SUITES == (
        "protocol-0.1",
        "protocol-0.15",
        "decisions",
        "list-notes",
        "distributed-queues",
        "redismq",
        "histories",
    )
