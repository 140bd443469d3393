"""The clauses about histories: a failure comes with a picture, and a run that is stuck is reported."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from conformance.clients.flavours import FLAVOURS
from conformance.documents import CLAUSES
from conformance.documents.histories import expect_explained
from conformance.histories import Facts, Verdict, fifo
from conformance.histories.runs import Plan, threads
from conformance.judging.environment import Environment, Failure
from conformance.judging.runner import judge_clause
from conformance.targets import Address
from pressure import Queue, QueueClosedError

from .notation import history


def test_a_failed_check_has_a_picture_of_the_history() -> None:
    made = history("p put a 0 1\np put b 2 3\nc get = b 4 5\nc get = a 6 7")
    with pytest.raises(Failure, match=r"illegal \(order\): b'a' was put before b'b'") as caught:
        expect_explained(made, fifo.check(made))
    (shown,) = caught.value.evidence
    assert "┌!put a" in shown.text
    assert "<svg" in shown.markup


def test_an_unknown_verdict_does_not_pass() -> None:
    with pytest.raises(Failure, match="unknown: given up"):
        expect_explained(history(""), Verdict("unknown", reason="given up"))
    expect_explained(history(""), Verdict("ok"))


class Forgetful(Queue):
    """A client that loses every tenth value that it gets."""

    def get(self, *args: Any, **options: Any) -> Any:
        value = super().get(*args, **options)
        return super().get(*args, **options) if value.endswith(b"9") else value


def test_a_client_that_loses_values_fails_and_the_operation_is_shown(embedded_server: Address) -> None:
    def made(name: str, /, *, url: str, prefix: str) -> Any:
        return Forgetful(name, url=url, prefix=prefix)

    outcome = judge_clause(
        CLAUSES["history.no-loss"],
        frozenset(CLAUSES["history.no-loss"].needs),
        lambda: Environment(embedded_server, made),
    )
    assert outcome.verdict == "violated"
    assert "was put, was not got, and is not in the queue" in outcome.reason
    assert "<svg" in outcome.evidence[0].markup


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
