"""The clauses about histories: a failure comes with a picture, and a run that is stuck is reported."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis

from conformance.clients.flavours import FLAVOURS
from conformance.documents import CLAUSES
from conformance.documents.histories import expect_explained
from conformance.histories import Facts, Verdict, fifo
from conformance.histories.lines import waiting_line
from conformance.histories.runs import Plan, threads
from conformance.judging.environment import Broken, Environment, Failure
from conformance.judging.runner import Outcome, judge_clause
from conformance.targets import Address
from conformance.wire import RawConnection
from pressure import Queue, QueueClosedError, QueueInUseError

from .notation import history


def test_a_failed_check_has_a_picture_of_the_history() -> None:
    made = history("p put a 0 1\np put b 2 3\nc get = b 4 5\nc get = a 6 7")
    with pytest.raises(Failure, match=r"illegal \(order\): b'a' was put before b'b'") as caught:
        expect_explained(made, fifo.check(made))
    (shown,) = caught.value.evidence
    assert "┌!put a" in shown.text
    assert "<svg" in shown.markup


def test_an_unknown_verdict_does_not_pass() -> None:
    with pytest.raises(Broken, match="unknown: given up"):
        expect_explained(history(""), Verdict("unknown", reason="given up"))
    expect_explained(history(""), Verdict("ok"))


class Forgetful(Queue):
    """A client that loses every second value that it gets one by one."""

    def get(self, *args: Any, **options: Any) -> Any:
        super().get(*args, **options)
        return super().get(*args, **options)


class Late(Queue):
    """A client that puts into a closed queue."""

    def __init__(self, name: str, *, url: str, prefix: str) -> None:
        super().__init__(name, url=url, prefix=prefix)
        self._late = url, f"{prefix}:{name}"

    def put(self, value: Any, *args: Any, **options: Any) -> None:
        try:
            super().put(value, *args, **options)
        except QueueClosedError:
            url, key = self._late
            with redis.Redis.from_url(url) as server:
                server.lpush(key, value)


class Refusing(Queue):
    """A client that puts nothing and gets nothing."""

    def put(self, *_: Any, **__: Any) -> None:
        raise QueueInUseError("never")

    put_many = put


def outcome_of(clause: str, address: Address, client: Any) -> Outcome:
    def made(name: str, /, **where: Any) -> Any:
        return client(name, **where)

    return judge_clause(CLAUSES[clause], frozenset(CLAUSES[clause].needs), lambda: Environment(address, made))


def test_a_client_that_loses_values_fails_and_the_operation_is_shown(embedded_server: Address) -> None:
    outcome = outcome_of("history.no-loss", embedded_server, Forgetful)
    assert outcome.verdict == "violated"
    assert "was put, was not got, and is not in the queue" in outcome.reason
    assert "<svg" in outcome.evidence[0].markup


def test_a_client_that_puts_after_a_close_fails(embedded_server: Address) -> None:
    outcome = outcome_of("history.closed", embedded_server, Late)
    assert (outcome.verdict, "put after the queue was closed" in outcome.reason) == ("violated", True), (
        outcome
    )


def test_a_client_that_refuses_everything_fails(embedded_server: Address) -> None:
    outcome = outcome_of("history.fifo", embedded_server, Refusing)
    assert outcome.verdict == "violated"
    assert "the clients put less than half of what they were to: 0 operations did, " in outcome.reason
    assert "times QueueInUseError" in outcome.reason


def test_a_client_that_is_no_process_is_not_killed(embedded_server: Address) -> None:
    assert outcome_of("history.killed-clients", embedded_server, Refusing).verdict == "not asked"


@pytest.mark.exhaustive  # three processes put and get a hundred values
def test_a_run_in_which_no_process_could_be_killed_is_an_error(
    embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alone(**plan: Any) -> Plan:  # the last of each role is spared
        return Plan(**plan | {"producers": 1, "consumers": 1, "operations": 4})

    monkeypatch.setattr("conformance.documents.histories.Plan", alone)
    clause = CLAUSES["history.killed-clients"]
    judged = judge_clause(
        clause, frozenset(clause.needs), lambda: Environment(embedded_server, FLAVOURS["sync"])
    )
    assert (judged.verdict, judged.reason) == ("error", "no process could be killed")


class Simple(RawConnection):
    """A connection to a server that answers simple strings where bulk strings are due."""

    def command(self, *arguments: str | bytes) -> bytes:
        return re.sub(rb"\$\d+\r\n(v\d+)", rb"+\1", super().command(*arguments))


def test_a_reply_of_the_wrong_type_fails_as_such(embedded_server: Address) -> None:
    address = embedded_server
    with Environment(address, FLAVOURS["sync"]) as env, pytest.raises(Failure) as caught:
        waiting_line(
            lambda: env.using(Simple(address.host, address.port)), env.key("line"), env.until_blocked
        )
    assert "has an item that is not a string" in str(caught.value)


class Stuck:
    """A client whose puts do not come back before they are let go; nothing is ever there to be got."""

    let_go = threading.Event()

    def put(self, *_: Any) -> None:
        self.let_go.wait()

    put_many = put

    def get(self, *_: Any, **__: Any) -> bytes:
        raise QueueClosedError

    get_many = get

    @contextmanager
    def receive(self) -> Iterator[Any]:
        raise QueueClosedError
        yield


def test_a_run_that_is_stuck_is_reported() -> None:
    try:
        with pytest.raises(TimeoutError, match="stuck"):
            threads(Stuck, Plan(4, 1, 1), Facts, limit=0.05)
    finally:
        Stuck.let_go.set()


def test_the_environment_knows_the_flavour_of_the_client_under_test(embedded_server: Address) -> None:
    for name, made in FLAVOURS.items():
        with Environment(embedded_server, made) as env:
            assert env.flavour == name
    with Environment(embedded_server, lambda name, **options: Queue(name, **options)) as env:
        assert env.flavour == "sync"
