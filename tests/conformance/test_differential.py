"""The same random requests get the same replies from miniredis and a real Redis; and the comparison itself works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.differential.__main__ import main
from conformance.differential.coverage import Coverage, all_names, possible
from conformance.differential.faults import has_fault
from conformance.differential.grammar import LEFT_OUT, Form, read_forms
from conformance.differential.pair import Pair
from conformance.differential.pushes import in_front, in_some_order, without_redirection
from conformance.differential.replies import split, tree
from conformance.differential.report import transcript
from conformance.differential.rival import RIVALS, Rival
from conformance.differential.search import converse, of_seed
from conformance.differential.steps import Step
from conformance.differential.tolerated import TOLERATED, equal
from conformance.targets import Address, NotInstalledError, real_redis
from conformance.wire import Hangup, RawConnection
from miniredis.engine.versions.version import VERSIONS
from miniredis.testing.real_programs import find_valkey
from miniredis.testing.real_servers import version_of
from tests.cases import exhaustive, exhaustive_but, for_each

ROOT = Path(__file__).parents[2]
REQUESTS = 2_500
EXAMPLES = 10
LARGEST = 100_000


@pytest.fixture(scope="module")
def real(redis_7_0: Address) -> Iterator[Address]:
    with real_redis("--enable-debug-command", "yes") as address:
        yield address


@pytest.fixture(scope="module")
def forms(real: Address) -> list[Form]:
    with RawConnection(real.host, real.port) as server:
        return read_forms(server, [name for name in all_names() if name not in LEFT_OUT])


@pytest.fixture
def pair(real: Address) -> Iterator[Pair]:
    pair = Pair(Rival(real), Coverage(), Counter())
    yield pair
    pair.close()


@pytest.mark.parametrize("requests", [REQUESTS // 2, exhaustive(REQUESTS)])
def test_thousands_of_generated_requests_get_the_same_replies_from_both_servers(
    requests: int, pair: Pair, forms: list[Form]
) -> None:
    seed = 0
    while pair.coverage.total < requests:
        found = converse(pair, *of_seed(forms, seed), examples=EXAMPLES, largest=LARGEST)
        assert found is None, f"they differ:\n\n{transcript(found)}"
        seed += 1


def test_an_older_redis_is_refused_with_the_version_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], older_redis: Path
) -> None:
    monkeypatch.setenv("CONFORMANCE_REDIS_SERVER", str(older_redis))
    assert main(["--commands", "10"]) == 2
    assert "needs a Redis of 7.0 or later" in capsys.readouterr().err


@pytest.mark.slow
def test_every_command_is_answered_with_more_than_an_error(pair: Pair, forms: list[Form]) -> None:
    names = [form.name for form in forms]

    def never_ok() -> list[str]:
        return [name for name, outcome in pair.coverage.gaps(names) if outcome == "ok"]

    seed = 1000
    while never_ok() and pair.coverage.total < 80 * REQUESTS:
        found = converse(pair, *of_seed(forms, seed), examples=EXAMPLES, largest=LARGEST)
        assert found is None, f"they differ:\n\n{transcript(found)}"
        seed += 1
    assert not never_ok(), "never answered but with an error"


@pytest.mark.parametrize(
    "name", exhaustive_but(["streams"], [name for name in RIVALS if name != "redis-server"])
)
def test_every_event_loop_gives_the_same_replies(name: str, forms: list[Form]) -> None:
    with RIVALS[name]() as rival:
        pair = Pair(rival, Coverage(), Counter())
        for seed in range(1):
            found = converse(pair, *of_seed(forms, seed), examples=EXAMPLES, largest=LARGEST)
            assert found is None, f"they differ:\n\n{transcript(found)}"
        pair.close()
    assert pair.coverage.total > 300


def test_every_command_is_sent_or_left_out_for_a_reason(forms: list[Form]) -> None:
    sent = {form.name for form in forms}
    containers = {name for name in all_names() if not possible(name, "ok")}
    assert set(all_names()) - sent == set(LEFT_OUT)
    assert all(LEFT_OUT.values())
    assert sent >= {"blmpop", "lcs", "bitfield", "sort", "restore", "client|pause"}
    assert containers <= set(all_names())


def test_tolerated_differences_are_few_and_have_reasons() -> None:
    assert len(TOLERATED) <= 25
    assert len({row.name for row in TOLERATED}) == len(TOLERATED)
    assert all(row.reason for row in TOLERATED)
    commands = [command for row in TOLERATED for command in row.commands]
    assert len(set(commands)) == len(commands)
    assert set(commands) <= set(all_names())


@pytest.mark.parametrize(("version", "request_", "in_transaction", "is_one"), [
    ("6.0", "SORT a LIMIT 7 9223372036854775807", False, True),
    ("6.2", "SORT a LIMIT 7 9223372036854775807", False, False),
    ("6.0", "SORT a LIMIT 7 9", False, False),
    ("6.2", "CLIENT TRACKING ON BCAST PREFIX a PREFIX ab", False, True),
    ("6.2", "CLIENT TRACKING ON BCAST PREFIX a", False, False),
    ("8.0", "HELLO 3 AUTH a b", True, True),
    ("8.0", "HELLO 3 AUTH a b", False, False),
])  # fmt: skip
def test_what_shows_a_fault_of_a_real_server_is_known(
    version: str, request_: str, in_transaction: bool, is_one: bool
) -> None:
    assert has_fault(version, request_.split(), in_transaction=in_transaction) is is_one


def test_a_different_error_is_never_tolerated() -> None:
    used: Counter[str] = Counter()
    assert equal(b"$5\r\nhello\r\n", b"$3\r\nabc\r\n", ["info"], used)
    assert not equal(b"-ERR a\r\n", b"-ERR b\r\n", ["info"], used)
    assert not equal(b":1\r\n", b":2\r\n", ["llen"], used)
    assert not equal(b"$5\r\nhello\r\n", b"*0\r\n", ["info"], used)


@for_each(
    ("ours", "theirs", "command", "same"),
    [
        (4_000_000_000, 4_000_000_001, "expiretime", False),
        (1_795_317_178, 1_795_317_179, "expiretime", True),
        (4_000_000_000_500, 4_000_000_000_501, "pexpiretime", False),
        (1_795_317_178_593, 1_795_317_178_599, "pexpiretime", True),
        (2_204_779_123_456, 2_204_779_123_459, "pttl", True),
        (99_999, 100_000, "ttl", True),
        (99_998, 100_000, "ttl", False),
        (-1, -2, "ttl", False),
    ],
)
def test_times_from_the_clock_may_differ_and_given_times_may_not(
    ours: int, theirs: int, command: str, *, same: bool
) -> None:
    assert equal(b":%d\r\n" % ours, b":%d\r\n" % theirs, [command], Counter()) is same


def test_replies_inside_exec_are_compared_each_by_its_own_command() -> None:
    used: Counter[str] = Counter()
    ours, theirs = b"*2\r\n:1\r\n:7\r\n", b"*2\r\n:2\r\n:7\r\n"
    assert equal(ours, theirs, ["exec", "client|id", "llen"], used)
    assert not equal(ours, theirs, ["exec", "llen", "client|id"], used)


def test_a_stream_is_split_into_its_replies() -> None:
    data = b"+OK\r\n%1\r\n$1\r\na\r\n*-1\r\n"
    assert split(data) == [b"+OK\r\n", data[5:]]
    assert tree(data[5:]) == (b"%1\r\n", [b"$1\r\na\r\n", (b"*-1\r\n", [])])


PUSH = b">2\r\n$1\r\na\r\n$1\r\nb\r\n"


def test_a_push_inside_a_reply_is_moved_before_it() -> None:
    inside = b"*2\r\n:1\r\n" + PUSH + b":2\r\n"
    assert split(PUSH + inside + PUSH) == [PUSH, inside, PUSH]
    assert in_front(inside, of_exec=False) == [PUSH, b"*2\r\n:1\r\n:2\r\n"]
    assert in_front(inside, of_exec=True) == [inside]
    deeper = b"*2\r\n:1\r\n" + inside
    assert in_front(deeper, of_exec=True) == [b"*2\r\n:1\r\n" + PUSH + b"*2\r\n:1\r\n:2\r\n"]
    assert in_front(PUSH, of_exec=False) == [PUSH]


def test_pushes_inside_a_transaction_have_to_be_the_same() -> None:
    ours, theirs = b"*1\r\n" + PUSH + b":1\r\n", b"*1\r\n" + PUSH + b":2\r\n"
    assert equal(ours, theirs, ["exec", "client|id"], Counter())
    assert not equal(ours, theirs.replace(b"$1\r\nb", b"$1\r\nc"), ["exec", "client|id"], Counter())
    assert not equal(ours, b"*1\r\n:1\r\n" + PUSH, ["exec", "client|id"], Counter())


def test_a_message_to_several_patterns_may_come_in_any_order() -> None:
    first, second, other = (
        b"*4\r\n$8\r\npmessage\r\n$2\r\n%b\r\n$1\r\n%b\r\n$1\r\nx\r\n" % parts
        for parts in ((b"a*", b"a"), (b"*a", b"a"), (b"b*", b"b"))
    )
    assert in_some_order([first, second]) == in_some_order([second, first])
    assert in_some_order([first, other]) != in_some_order([other, first])


def test_ids_of_former_clients_may_differ() -> None:
    broken = b">2\r\n$21\r\ntracking-redir-broken\r\n"
    assert without_redirection(broken + b":7\r\n") == without_redirection(broken + b":8\r\n")
    assert without_redirection(PUSH) == PUSH


def test_a_difference_is_found_and_shown(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miniredis.engine.protocol.errors.SYNTAX", b"ERR sin tax")
    steps = [
        Step(0, ("SET", "k", "v"), "set"),
        Step(1, ("SET", "k", "v w", "NOW"), "set"),
        Step(2, ("PING",), "ping"),
    ]
    sent, difference = pair.play(steps)
    assert [step for _, step in sent] == steps[:2]
    assert difference is not None
    assert difference.theirs == b"-ERR syntax error\r\n"


def test_the_end_of_the_real_server_is_found_and_shown(forms: list[Form]) -> None:
    with real_redis("--enable-debug-command", "yes") as address:
        pair = Pair(Rival(address), Coverage(), Counter())
        pair.play([Step(0, ("PING",), "ping")])
        with pytest.raises((ConnectionError, Hangup)):
            pair.control.command("SHUTDOWN", "NOSAVE")
        found = converse(pair, *of_seed(forms, 0), examples=EXAMPLES)
        pair.close()
    assert found is not None
    assert "of redis-server heard the end of the server" in transcript(found)


def test_another_version_is_compared_with_a_real_server_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    only = "hset hget hexpire hpersist hgetex hsetex hgetdel hpexpiretime".split()
    version = "valkey-9.1"
    try:
        path = find_valkey()
    except NotInstalledError as error:
        pytest.skip(str(error))
    if version_of(path) != f"Valkey {VERSIONS[version].valkey}":
        pytest.skip("the valkey-server here is another version")
    arguments = ["--version", version, "--against", str(path), "--commands", "300", "--only", *only]
    assert main([*arguments, "--seed", "8"]) == 0
    assert "hsetex" in capsys.readouterr().out
