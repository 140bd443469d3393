"""Workers and heartbeats, with every backend."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from pressure import Delivered
from pressure.kinds.reliable import operations

from ...conftest import until
from ..conftest import Make
from .conftest import MishapError, counts, datas


def test_a_heartbeat_keeps_a_message_from_being_recovered(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(b"1", b"2", b"3")
    first, second, _ = queue.pop(3)
    age(50)
    assert queue.heartbeat(first, second.id) == [first.id, second.id]
    age(20)
    assert datas(queue.recover(60, 1)) == [b"3"]
    assert queue.recover(60, 5) == []
    assert {each.message.data: each.message.deliveries for each in queue.pending()} == {
        b"1": 1, b"2": 1, b"3": 2,
    }  # fmt: skip
    age(61)
    assert sorted((each.data, each.deliveries) for each in queue.recover(60, 5)) == [
        (b"1", 2), (b"2", 2), (b"3", 3),
    ]  # fmt: skip


def test_a_worker_acknowledges_only_messages_handled_without_an_error(
    queue: Any, age: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    queue.push(b"left")
    queue.pop()
    age(100)
    queue.push(b"bad", b"good")
    seen: list[tuple[bytes, int]] = []

    def handle(message: Delivered) -> None:
        seen.append((message.data, message.deliveries))
        if message.data == b"bad":
            raise MishapError("bad")

    with caplog.at_level(logging.ERROR, "pressure.worker"):
        assert queue.work(handle, until_empty=True) == 2
    assert seen == [(b"left", 2), (b"bad", 1), (b"good", 1)]
    assert counts(queue) == (0, 1, 0, 0)
    assert "MishapError: bad" in caplog.text


def test_a_worker_retries_a_failing_message_until_it_is_dead(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    queue, tries = make(max_deliveries=3), list[int]()

    def handle(message: Delivered) -> None:
        tries.append(message.deliveries)
        raise MishapError

    queue.push(b"bad")
    with caplog.at_level(logging.CRITICAL, "pressure.worker"):
        assert queue.work(handle, backoff=lambda _: 0, until_empty=True) == 0
    assert tries == [1, 2, 3]
    assert counts(queue) == (0, 0, 0, 1)


def test_a_workers_heartbeat_goes_on_while_it_works(queue: Any) -> None:
    queue.push(b"v")
    beats: list[float] = []

    def handle(_: Delivered) -> None:
        first = queue.pending()[0].since
        beats.append(until(lambda: queue.pending()[0].since > first + 0.05, "was a heartbeat heard"))

    assert queue.work(handle, min_idle=60, heartbeat=0.01, max_messages=1) == 1
    assert beats


def test_heartbeats_that_fail_are_logged_once_and_are_not_the_last(
    queue: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeat = operations.heartbeat
    heard: list[object] = []

    def failing_at_first(*args: Any) -> Any:
        if len(heard) < 2:
            heard.append("an error")
            raise RuntimeError("no token from the credential provider")
        ids = yield from heartbeat(*args)
        heard.append(ids)
        return ids

    monkeypatch.setattr(operations, "heartbeat", failing_at_first)
    queue.push(b"v")
    caplog.set_level(logging.INFO, "pressure.heartbeat")
    handled = queue.work(
        lambda _: until(lambda: heard[3:], "was a second heartbeat heard"),
        min_idle=60, heartbeat=0.01, max_messages=1,
    )  # fmt: skip
    assert (handled, heard[:2]) == (1, ["an error"] * 2)
    failed = "a heartbeat failed, and is tried again: RuntimeError: no token from the credential provider"
    assert [(level, text.partition(": ")[2]) for _, level, text in caplog.record_tuples] == [
        (logging.WARNING, failed),
        (logging.INFO, "a heartbeat succeeds again"),
    ]


def test_a_worker_ends_after_the_given_number_of_messages(queue: Any) -> None:
    queue.push(b"1", b"2", b"3")
    assert queue.work(lambda _: None, max_messages=2) == 2
    assert counts(queue) == (1, 0, 0, 0)


@pytest.mark.parametrize("setting", ["miniredis, stream"])
def test_an_interrupt_ends_a_worker_between_two_messages(queue: Any) -> None:
    queue.push(b"1", b"2")
    handled: list[Delivered] = []
    queue.interrupt = lambda: MishapError() if handled else None
    with pytest.raises(MishapError):
        queue.work(handled.append)
    assert (datas(handled), counts(queue)) == ([b"1"], (1, 0, 0, 0))


def test_a_late_acknowledgement_is_logged(queue: Any, caplog: pytest.LogCaptureFixture) -> None:
    queue.push(b"v")
    assert queue.work(lambda message: queue.ack(message), max_messages=1) == 0
    assert "another client has acknowledged the message" in caplog.text
