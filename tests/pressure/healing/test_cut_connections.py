"""A connection is cut while its process lives: the process knows its own dead holds, and goes on at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import redis

from pressure import OutcomeUnknownError, PressureError, QueueEmptyError, QueueInUseError
from pressure.execution.execution import Execution
from pressure.protocol import Wait
from tests.pressure.conftest import DEADLINE, JOBS, StartTask, execute, invariant, waiting

from .conftest import SOON, Make, cut


def cut_in(work: Callable[[], Any], raw: redis.Redis, task: StartTask, then: Callable[[], Any]) -> Any:
    """What a thread does next whose connection is cut while it is blocked."""

    def whole() -> Any:
        with pytest.raises(OutcomeUnknownError):
            work()
        return then()

    blocked = task(whole)
    waiting(raw)
    cut(raw, "b")
    return blocked.result()


@pytest.mark.usefixtures("no_looks")
def test_a_thread_whose_blocked_get_was_cut_gets_at_once(
    make: Make, raw: redis.Redis, task: StartTask
) -> None:
    queue = make()
    queue.create()

    def then() -> Any:
        queue.put_nowait(b"v")
        return queue.get_nowait()

    assert cut_in(queue.get, raw, task, then) == b"v"
    invariant(raw)


@pytest.mark.usefixtures("no_looks")
def test_a_thread_whose_blocked_receive_was_cut_receives_at_once(
    make: Make, raw: redis.Redis, task: StartTask
) -> None:
    queue = make()
    queue.create()

    def receive() -> Any:
        with queue.receive() as message:
            return message.data

    def then() -> Any:
        queue.put_nowait(b"v")
        return receive()

    assert cut_in(receive, raw, task, then) == b"v"
    invariant(raw)


@pytest.mark.usefixtures("no_looks")
def test_a_thread_whose_blocked_put_was_cut_puts_at_once(
    make: Make, raw: redis.Redis, task: StartTask
) -> None:
    queue = make()
    queue.create(1)
    queue.put(b"1")

    def then() -> Any:
        got = queue.get_nowait()
        queue.put_nowait(b"3")
        return got

    assert cut_in(lambda: queue.put(b"2"), raw, task, then) == b"1"
    assert queue.get_many(9) == [b"3"]
    invariant(raw)


@pytest.fixture
def between_waits(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Stops the first client whose wait has timed out before it waits again: that it has, and that it may."""
    timed_out, may_wait, advance = threading.Event(), threading.Event(), Execution.advance

    def stop(execution: Execution[Any], replies: list[Any]) -> None:
        waited = isinstance(execution.step, Wait)
        advance(execution, replies)
        if waited and isinstance(execution.step, Wait):
            timed_out.set()
            assert may_wait.wait(DEADLINE)

    monkeypatch.setattr(Execution, "advance", stop)
    return timed_out, may_wait


@pytest.mark.parametrize("work", ["get", "put"])
def test_a_client_that_was_cut_between_two_waits_goes_on_at_once(
    make: Make,
    raw: redis.Redis,
    task: StartTask,
    between_waits: tuple[threading.Event, threading.Event],
    work: str,
) -> None:
    timed_out, may_wait = between_waits
    queue = make()
    queue.create(1)
    if work == "put":
        queue.put(b"1")

    def whole() -> None:
        with pytest.raises(OutcomeUnknownError):
            queue.get() if work == "get" else queue.put(b"2")
        if work == "get":
            queue.put_nowait(b"1")
        queue.get_nowait()
        if work == "put":
            queue.put_nowait(b"2")

    waiter = task(whole)
    assert timed_out.wait(DEADLINE)
    cut(raw)
    may_wait.set()
    waiter.result()
    invariant(raw)


@pytest.mark.usefixtures("no_looks")
def test_another_thread_of_the_process_goes_on_at_once(make: Make, raw: redis.Redis, task: StartTask) -> None:
    queue, other = make(), make()
    queue.create()
    getting = task(queue.get)
    waiting(raw)
    cut(raw, "b")
    with pytest.raises(OutcomeUnknownError):
        getting.result()
    other.put_nowait(b"v")
    assert other.get_nowait() == b"v"
    invariant(raw)


def test_a_message_is_acknowledged_though_the_connection_was_cut_in_its_block(
    make: Make, raw: redis.Redis
) -> None:
    queue = make()
    queue.create()
    queue.put_many([b"1", b"2"])
    with queue.receive() as message:
        cut(raw)
        assert message.data == b"1"
    assert queue.get_many(9) == [b"2"]
    invariant(raw)


def test_who_was_cut_in_a_block_and_replaced_acknowledges_nothing(make: Make, raw: redis.Redis) -> None:
    queue, other = make(), make()
    queue.create()
    queue.put_many([b"1", b"2"])

    def work() -> None:
        with queue.receive():
            cut(raw)
            assert other.get(timeout=SOON) == b"1"

    with pytest.raises(QueueInUseError, match="has lost the consumer role"):
        work()
    assert raw.llen(f"{JOBS}:consumer_free") == 1
    assert queue.get_many(9) == [b"2"]
    invariant(raw)


@pytest.mark.usefixtures("no_looks")
def test_three_workers_of_whom_one_is_cut_take_all_values(
    make: Make, raw: redis.Redis, task: StartTask
) -> None:
    queue = make()
    queue.create()
    values = [b"%d" % number for number in range(5)]
    got: list[bytes] = []

    end = time.monotonic() + SOON

    def work() -> None:
        while len(got) < len(values) and time.monotonic() < end:
            with suppress(OutcomeUnknownError, QueueInUseError, QueueEmptyError):
                got.append(queue.get(timeout=0.2))

    def first() -> None:
        with suppress(OutcomeUnknownError):
            queue.get()
        work()

    workers = [task(first)]
    waiting(raw)
    (holder,) = (client for client in raw.client_list() if "b" in client["flags"])
    workers += [task(work), task(work)]
    execute(raw, "CLIENT", "KILL", "ID", holder["id"])
    queue.put_many(values)
    for each in workers:
        each.result()
    assert sorted(got) == values
    invariant(raw)


@pytest.fixture
def memory(raw: redis.Redis, with_maxmemory: None) -> Iterator[None]:
    """There is enough of it at the end."""
    yield
    raw.config_set("maxmemory", 0)


@pytest.mark.usefixtures("memory", "no_looks")
def test_a_role_that_could_not_be_given_back_is_taken_back_at_once(make: Make, raw: redis.Redis) -> None:
    queue = make()
    queue.create()
    queue.put_many([b"1", b"2"])

    def work() -> None:
        with queue.receive():
            raw.config_set("maxmemory", 1)

    with suppress(PressureError):
        work()
    raw.config_set("maxmemory", 0)
    assert queue.get_many(9) in ([b"1", b"2"], [b"2"])
    invariant(raw)
