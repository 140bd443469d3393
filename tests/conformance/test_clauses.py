"""Every clause, on miniredis and on a real Redis, with our client."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import redis
from _pytest.mark.structures import ParameterSet

import pressure
from conformance.clients.flavours import FLAVOURS, MAKERS
from conformance.clients.judged import Client
from conformance.documents import CHECKS, CLAUSES, SUITES, Clause
from conformance.documents.registry import declare
from conformance.judging.capabilities import LACKS, capabilities_of
from conformance.judging.environment import Environment
from conformance.judging.runner import judge, judge_clause
from conformance.targets import Address, embedded
from tests.cases import check_each, exhaustive

CAPABILITIES: dict[str, frozenset[str]] = {}


def capabilities(address: Address) -> frozenset[str]:
    if address.url not in CAPABILITIES:
        CAPABILITIES[address.url] = capabilities_of(lambda: Environment(address, pressure.Queue))
    return CAPABILITIES[address.url]


#: What takes more than a moment takes part with the usual client only.
LONG = {("histories",)}

#: Families of their own: some messages each way between our client and those of others, with every bound; operations in
#: any order; a refusal or a death at any moment; and waits for what a dead client holds.
APART = {
    "textbook": {"decided.textbook", "decided.textbook-first", "decided.textbook-moves"},
    "many": {"reliable.in-any-order", "reliable.never-lost", "decided.heals", "decided.repair-corrects"},
    "refused": {"decided.refused"},
}

#: What is asked of a server alone, however its bytes are carried.
ANSWERS = {"list-notes", "redismq", "recorded"}

#: Families that take seconds: the first command of the README, which CI begins with, plays them on both servers.
SLOW = {"history", *APART}

#: Likewise, but only with the client that it judges.
SECONDS = {"reliable", "decided, list-move, our-client"}


def marked(group: str, *others: str, usual: bool) -> ParameterSet:
    """A case that is in the default run if it is usual; CI runs the others, but for those that take long."""
    if is_long(group, *others[:1]):
        return pytest.param(group, *others, marks=pytest.mark.slow)
    return exhaustive(group, *others, when=not usual)


def is_long(group: str, client: str = "") -> bool:
    """Whether it is left to the README's first command, which does not try how plain commands are refused."""
    name = group.partition(",")[0]
    return name in SLOW and (name, client) != ("refused", "plain")


def groups() -> dict[str, list[Clause]]:
    """The clauses by their family and by what they need of a server.

    Those that one check covers, with the same needs, are asked together: as the first of them. test_wire.py plays
    what is about the wire alone.
    """
    found: dict[str, dict[object, Clause]] = {}
    for each in CLAUSES.values():
        if each.suites != ("wire",):
            name = ", ".join((family(each), *each.needs))
            found.setdefault(name, {}).setdefault((*CHECKS[each.id], is_ours(each)), each)
    return {name: [*clauses.values()] for name, clauses in found.items()}


def family(clause: Clause) -> str:
    """The first word of its id; clauses that take long are a family of their own."""
    apart = [name for name, ids in APART.items() if clause.id in ids]
    return apart[0] if apart else clause.id.partition(".")[0]


def is_ours(clause: Clause) -> bool:
    """Whether a client of ours takes part in it; the others are replies to plain commands."""
    about_servers = clause.suites in {("list-notes",), ("recorded",)} or "reliable-queues" in clause.needs
    return clause.suites not in LONG and not about_servers


GROUPS = groups()


def servers(clauses: list[Clause]) -> list[str]:
    """On which servers a group is played."""
    suites = {suite for each in clauses for suite in each.suites}
    return [
        "embedded_server",
        "real_server",
        *(["streams_server", "local_server"] if suites <= ANSWERS else []),
    ]


@pytest.mark.parametrize(
    ("group", "server"),
    [
        pytest.param(name, server, marks=pytest.mark.slow)
        if server == "real_server" or name in SECONDS  # where that command plays the others, too
        else marked(name, server, usual=server == "embedded_server")
        for name, group in GROUPS.items()
        for server in servers(group)
    ],
)
def test_every_clause_passes(group: str, server: str, request: pytest.FixtureRequest) -> None:
    expect_passed(GROUPS[group], request.getfixturevalue(server), FLAVOURS["sync"])


def expect_passed(clauses: list[Clause], address: Address, client: Client) -> None:
    skipped: list[str] = []

    def check(clause: Clause) -> None:
        outcome = judge_clause(clause, capabilities(address), lambda: Environment(address, client))
        if outcome.verdict == "not asked":
            skipped.append(outcome.reason)
        else:
            assert outcome.verdict == "passed", outcome.reason

    check_each({each.id: each for each in clauses}, check)
    if skipped:
        pytest.skip(
            f"clauses that were not asked: {len(skipped)} of {len(clauses)}; {'; '.join(sorted(set(skipped)))}"
        )


USUAL = {"plain": "embedded_server", "aio": "real_server"}
"""In the default run the others with coroutines are left out: they send what these send, to either server."""

AT_TIMES = {**USUAL, "trio": "real_server"}
"""The exhaustive run has each flavour on one server."""

ONCE = {
    **dict.fromkeys(["queue", "backup", "ring"], "aio"),
    "get": "plain",
    **dict.fromkeys(["decided", *SECONDS], "sync"),
    "refused, list-move, our-client": "sync",
}
"""The groups that take longest are in the default run with one of the flavours."""

FLAVOURED = [
    pytest.param(group, flavour, server, marks=pytest.mark.slow)
    if AT_TIMES[flavour] != server
    else marked(group, flavour, server, usual=flavour in USUAL and ONCE.get(group, flavour) == flavour)
    for group, clauses in GROUPS.items() if any(map(is_ours, clauses))
    for flavour in FLAVOURS if flavour != "sync"
    for server in ("embedded_server", "real_server")
]  # fmt: skip


@pytest.mark.parametrize(("group", "flavour", "server"), FLAVOURED)
def test_every_clause_of_our_client_passes_with_every_flavour(
    group: str, server: str, flavour: str, request: pytest.FixtureRequest
) -> None:
    clauses = [each for each in GROUPS[group] if is_ours(each)]
    expect_passed(clauses, request.getfixturevalue(server), FLAVOURS[flavour])


#: Clauses in which each operation that may be a script takes part.
WITH_SCRIPTS = (
    "item-before-close token-back-on-error reliable-done reliable-put-back create-atomic closed-first "
    "drains-to-bound role-back-on-error close-twice bound-and-one mark-goes-back"
)


@pytest.mark.parametrize("names", [WITH_SCRIPTS, exhaustive("many reliable-repaired")])
def test_our_client_passes_on_a_server_that_cannot_run_scripts(
    names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the extra ``lua`` is not installed, the server in this process runs none."""
    monkeypatch.setitem(sys.modules, "lupa", None)
    monkeypatch.delitem(sys.modules, "miniredis.scripting.interpreter", raising=False)
    with embedded() as address:
        with redis.Redis.from_url(address.url) as client, pytest.raises(redis.ResponseError, match="lupa"):
            client.eval("return 1", 0)
        outcomes = judge(address, [CLAUSES[f"decided.{name}"] for name in names.split()])
    assert [outcome for outcome in outcomes if outcome.verdict != "passed"] == []


DELIVERS = {
    "ReliableQueue": ("pop", "recover", "pending", "inspect"),
    "BackupQueue": ("claim", "requeue_stale"),
    "RingQueue": ("claim", "claim_next"),
}
"""What gives messages or items, of each kind of queue."""


@pytest.mark.parametrize(
    ("kind", "method"),
    [exhaustive(kind, each, when=kind != "RingQueue") for kind in DELIVERS for each in DELIVERS[kind]],
)
def test_a_queue_that_delivers_nothing_violates_clauses_and_breaks_none(
    kind: str, method: str, embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: Any, **__: Any) -> Any:
        return None if method.startswith("claim") else []

    def made(asked: str, *arguments: Any, **options: Any) -> Any:
        queue = getattr(pressure, asked)(*arguments, **options)
        if asked == kind:
            monkeypatch.setattr(queue, method, nothing)
        return queue

    monkeypatch.setitem(MAKERS, "sync", made)
    start = {"ReliableQueue": "reliable.", "BackupQueue": "backup.", "RingQueue": "ring."}[kind]
    asked = [clause for id_, clause in CLAUSES.items() if id_.startswith(start)]
    judged = judge(embedded_server, asked, FLAVOURS["sync"])
    assert "violated" in {each.verdict for each in judged}
    assert [(each.clause.id, each.reason) for each in judged if each.verdict == "error"] == []


def test_miniredis_has_every_capability_of_redis_7_0(embedded_server: Address) -> None:
    assert capabilities(embedded_server) >= set(LACKS) - {"reference"}


@pytest.mark.usefixtures("redis_7_0")
def test_miniredis_is_compared_byte_for_byte_with_an_installed_redis_7_0(embedded_server: Address) -> None:
    assert "reference" in capabilities(embedded_server)


def test_every_clause_has_a_check_and_every_check_a_clause() -> None:
    assert set(CHECKS) == set(CLAUSES)


def test_no_two_clauses_share_an_id() -> None:
    with pytest.raises(ValueError, match=r"two clauses have the id list\.llen"):
        declare(CLAUSES["list.llen"])


def test_the_suites_are_the_documents_what_was_recorded_and_the_wire() -> None:
    assert SUITES == (
        "protocol-0.1",
        "protocol-0.15",
        "decisions",
        "list-notes",
        "distributed-queues",
        "redismq",
        "recorded",
        "histories",
        "wire",
    )
