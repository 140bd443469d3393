"""Dead letters: why a message failed, and how it gets another chance; with every backend."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import redis

from ..conftest import Make
from .conftest import MishapError, counts, datas


def fail(message: Any) -> None:
    raise MishapError(f"no such customer: {message.data.decode()}")


def test_a_dead_letter_says_why_the_message_failed(
    make: Make, age: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    queue = make(max_deliveries=2)
    (pushed,) = queue.push(b"ann")
    with caplog.at_level(logging.CRITICAL, "pressure.worker"):
        queue.work(fail, backoff=lambda _: 60, until_empty=True)
        age(61)
        queue.work(fail, backoff=lambda _: 60, until_empty=True)
    (letter,) = queue.dead()
    assert (letter.origin, letter.value, letter.message.data) == (pushed, b"ann", b"ann")
    assert (letter.error, letter.text) == ("MishapError", "no such customer: ann")
    assert letter.deliveries == 2
    assert letter.first is not None
    assert letter.last is not None
    assert letter.last - letter.first == pytest.approx(61, abs=20) or letter.last >= letter.first
    assert counts(queue) == (0, 0, 0, 1)


def test_a_message_that_nobody_acknowledged_is_a_dead_letter_without_an_error(
    make: Make, age: Callable[[float], None]
) -> None:
    queue = make(max_deliveries=1)
    queue.push(b"1", b"2")
    queue.pop(2)
    age(100)
    assert queue.recover(60, 5) == []
    dead_letters = queue.dead()
    assert [(each.value, each.error, each.text, each.deliveries) for each in dead_letters] == [
        (b"1", "", "", 2), (b"2", "", "", 2),
    ]  # fmt: skip


def test_a_recovered_message_knows_its_first_delivery(
    make: Make, age: Callable[[float], None], setting: str
) -> None:
    queue = make()
    queue.push(b"v")
    (message,) = queue.pop()
    age(100)
    (again,) = queue.recover(60)
    age(100)
    (third,) = queue.recover(60)
    if "module" in setting:
        assert again.first is None
    else:
        assert again.first == third.first
        assert again.at > again.first
        assert third.at > third.first
    assert message.first == message.at
    assert queue.ack(third) == [message.id]


def test_a_message_with_heartbeats_knows_its_first_delivery(
    make: Make, age: Callable[[float], None], setting: str, raw: redis.Redis
) -> None:
    queue = make()
    queue.push(b"v", b"w")
    message, gone = queue.pop(2)
    assert queue.ack(gone) == [gone.id]
    for _ in range(2):
        age(100)
        assert message.id in queue.heartbeat(message, gone)
    age(100)
    (again,) = queue.recover(60)
    if "module" in setting:
        assert again.first is None
    else:
        assert again.first == pytest.approx(message.first, abs=0.001)
    assert queue.ack(again) == [message.id]
    assert raw.hlen("queue:jobs:notes") == 0


def test_letters_are_listed_without_being_taken(make: Make) -> None:
    queue = make(max_deliveries=1)
    queue.push(*(b"%d" % number for number in range(5)))
    for message in queue.pop(5):
        queue.retry(message, 0, ValueError("bad"))
    assert [each.value for each in queue.dead(max=3)] == [b"0", b"1", b"2"]
    assert counts(queue) == (0, 0, 0, 5)
    with pytest.raises(ValueError, match="max"):
        queue.dead(0)


def test_redriven_letters_are_delivered_again_as_new_messages(make: Make) -> None:
    queue = make(max_deliveries=1)
    assert queue.redrive(5) == 0
    queue.push(*(b"%d" % number for number in range(5)))
    for message in queue.pop(5):
        queue.retry(message, 0)
    assert queue.redrive(2) == 2
    assert counts(queue) == (2, 0, 0, 3)
    assert [(each.data, each.deliveries) for each in queue.pop(5)] == [(b"0", 1), (b"1", 1)]
    assert queue.redrive(9) == 3
    assert queue.dead() == []
    assert datas(queue.pop(5)) == [b"2", b"3", b"4"]


def test_a_letter_that_a_client_took_to_redrive_and_died_is_redriven_later(
    make: Make, age: Callable[[float], None]
) -> None:
    queue, dead = make(max_deliveries=1), make("jobs:dead")
    queue.push(b"v")
    queue.retry(queue.pop()[0], 0)
    dead.pop()
    assert queue.redrive(1) == 0
    age(61)
    assert queue.redrive(1) == 1
    assert datas(queue.pop(5)) == [b"v"]


def test_an_acknowledged_letter_leaves_nothing_behind(make: Make, raw: Any) -> None:
    queue, dead = make(max_deliveries=1), make("jobs:dead")
    queue.push(b"v")
    queue.retry(queue.pop()[0], 0, ValueError("bad"))
    dead.ack(*dead.pop())
    assert queue.dead() == []
    assert raw.keys("*:notes") == raw.keys("*:deliveries") == []
