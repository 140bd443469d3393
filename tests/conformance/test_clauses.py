"""Every clause, on miniredis and on a real Redis, with our client."""

from __future__ import annotations

import sys

import pytest
import redis

import pressure
from conformance.capabilities import LACKS, capabilities_of
from conformance.checks import CHECKS
from conformance.clauses import CLAUSES, SUITES, Clause
from conformance.environment import Environment
from conformance.flavours import FLAVOURS
from conformance.runner import judge, judge_clause
from conformance.targets import Address, embedded

CAPABILITIES: dict[str, frozenset[str]] = {}


def capabilities(address: Address) -> frozenset[str]:
    if address.url not in CAPABILITIES:
        CAPABILITIES[address.url] = capabilities_of(lambda: Environment(address, pressure.Queue))
    return CAPABILITIES[address.url]


#: What is asked here; test_wire.py plays the rest once for each kind of server.
ASKED = [each for each in CLAUSES.values() if each.suites != ("wire",)]

#: What takes more than a moment takes part with the usual client only.
LONG = {("simulation",), ("histories",)}

#: What is asked of a server alone, however its bytes are carried.
ANSWERS = {"list-notes", "redismq"}


def servers(clause: Clause) -> list[str]:
    """On which servers a clause is played."""
    if "engine" in clause.needs:
        return ["embedded_server"]
    carried = ["streams_server", "local_server"] if set(clause.suites) <= ANSWERS else []
    return ["embedded_server", "real_server", *carried]


@pytest.mark.parametrize(
    ("clause", "server"), [(each.id, server) for each in ASKED for server in servers(each)]
)
def test_clause(clause: str, server: str, request: pytest.FixtureRequest) -> None:
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
    for each in ASKED
    if each.suites not in LONG and each.suites != ("list-notes",) and "reliable-queues" not in each.needs
]


#: Each flavour on each server; what has coroutines is played on miniredis in the slow run only.
FLAVOURED = [
    pytest.param(
        flavour, server,
        marks=[pytest.mark.slow] if flavour in {"aio", "trio"} and server == "embedded_server" else [],
    )
    for flavour in FLAVOURS if flavour != "sync"
    for server in ("embedded_server", "real_server")
]  # fmt: skip


@pytest.mark.parametrize(("flavour", "server"), FLAVOURED)
@pytest.mark.parametrize("clause", OURS)
def test_clause_with_every_flavour(
    clause: str, server: str, flavour: str, request: pytest.FixtureRequest
) -> None:
    address: Address = request.getfixturevalue(server)
    outcome = judge_clause(
        CLAUSES[clause], capabilities(address), lambda: Environment(address, FLAVOURS[flavour])
    )
    if outcome.reason.startswith("not asked where"):
        pytest.skip(outcome.reason)
    assert outcome.verdict == "passed", outcome.reason


#: Clauses in which each operation that may be a script takes part.
WITH_SCRIPTS = (
    "many item-before-close token-back-on-error reliable-done reliable-put-back create-atomic closed-first "
    "drains-to-bound role-back-on-error reliable-repaired close-twice bound-and-one mark-goes-back"
).split()


def test_queues_need_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of the README's commands installs none, and a server without lupa runs no scripts."""
    monkeypatch.setitem(sys.modules, "lupa", None)
    monkeypatch.delitem(sys.modules, "miniredis.scripting.interpreter", raising=False)
    with embedded() as address:
        with redis.Redis.from_url(address.url) as client, pytest.raises(redis.ResponseError, match="lupa"):
            client.eval("return 1", 0)
        outcomes = judge(address, [CLAUSES[f"decided.{name}"] for name in WITH_SCRIPTS])
    assert [outcome for outcome in outcomes if outcome.verdict != "passed"] == []


def test_miniredis_can_do_all_that_is_asked_of_redis_7_0(embedded_server: Address) -> None:
    assert capabilities(embedded_server) == set(LACKS)


def test_every_clause_has_a_check_and_every_check_a_clause() -> None:
    assert set(CHECKS) == set(CLAUSES)


def test_no_two_clauses_share_an_id() -> None:
    from conformance.clauses import ALL

    assert len(ALL) == len(CLAUSES)


def test_the_suites_are_the_documents_and_the_wire() -> None:
    assert SUITES == (
        "protocol-0.1",
        "protocol-0.15",
        "decisions",
        "list-notes",
        "distributed-queues",
        "redismq",
        "simulation",
        "histories",
        "wire",
    )
