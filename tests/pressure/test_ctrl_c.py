"""Ctrl-C ends a wait, and loses no value."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import redis

from pressure import (
    Queue,
)
from pressure.sync.driver import Checkout, Driver

from .conftest import (
    JOBS,
    StartTask,
    invariant,
    wait_long,
    waiting,
)


def test_ctrl_c_during_a_wait_loses_nothing(queue: Queue, raw: redis.Redis, task: StartTask) -> None:
    queue.create()

    def interrupt() -> None:
        waiting(raw)
        os.kill(os.getpid(), signal.SIGINT)

    stopper = task(interrupt)
    with pytest.raises(KeyboardInterrupt):
        queue.get()
    stopper.result()
    invariant(raw)


def test_an_interrupt_between_two_waits_ends_neither(
    queue: Queue, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pressure.sync.connection.TICK", 5.0)  # it is not asked during a wait
    queue.create()
    queue._context = replace(queue._context, slice=0.02)
    ended: list[object] = []
    monkeypatch.setattr(Driver, "unblock", lambda *_: ended.append(True))
    wishes = iter([None])  # but before each
    queue.interrupt = lambda: next(wishes, SystemExit())
    with pytest.raises(SystemExit):
        queue.get()
    assert ended == []
    invariant(raw)


def test_a_child_that_another_thread_forks_heeds_ctrl_c(
    queue: Queue, make: Callable[..., Queue], raw: redis.Redis, task: StartTask
) -> None:
    queue.create()

    def fork() -> int:
        waiting(raw)
        pid = os.fork()
        if not pid:
            os._exit(signal.getsignal(signal.SIGINT) is not signal.default_int_handler)
        _, status = os.waitpid(pid, 0)
        make().put(b"v")
        return status

    child = task(fork)
    assert (queue.get(), child.result()) == (b"v", 0)


def test_ctrl_c_just_before_a_value_arrives_returns_the_value_first(
    queue: Queue,
    raw: redis.Redis,
    task: StartTask,
    make: Callable[..., Queue],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue.create()
    come = threading.Event()

    def put_instead(*_: object) -> bool:
        make().put(b"v")
        return True

    monkeypatch.setattr(Driver, "unblock", put_instead)

    def interrupt() -> None:
        waiting(raw)
        os.kill(os.getpid(), signal.SIGINT)

    stopper = task(interrupt)
    value = None
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012, the interrupt comes some time after the value
        value = queue.get()
        come.wait(10)
    assert value == b"v"
    stopper.result()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    invariant(raw)


def test_ctrl_c_ends_a_long_wait_at_once(queue: Queue, raw: redis.Redis, task: StartTask) -> None:
    wait_long(queue)
    queue.create()

    def interrupt() -> None:
        waiting(raw)
        os.kill(os.getpid(), signal.SIGINT)

    stopper = task(interrupt)
    with pytest.raises(KeyboardInterrupt):
        queue.get()
    stopper.result()
    invariant(raw)


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], pytest.MonkeyPatch]:
    """Has a Ctrl-C come in each operation, as long as the patch that it returns is there."""

    def patch() -> pytest.MonkeyPatch:
        run = Checkout._run

        def interrupted(checkout: Checkout, *arguments: Any) -> Any:
            signal.raise_signal(signal.SIGINT)
            return run(checkout, *arguments)

        monkeypatch.setattr("pressure.sync.driver.GRACE", 1000.0)
        during = pytest.MonkeyPatch()
        during.setattr(Checkout, "_run", interrupted)
        return during

    return patch


def test_the_next_operation_raises_the_ctrl_c_that_came_during_the_last(
    queue: Queue, raw: redis.Redis, interrupted: Callable[[], pytest.MonkeyPatch]
) -> None:
    """Or else a loop of quick operations would go on for seconds."""
    queue.create()
    patch = interrupted()
    queue.put(b"v")
    patch.undo()
    with pytest.raises(KeyboardInterrupt):
        queue.put(b"w")
    queue.put(b"x")
    assert raw.lrange(JOBS, 0, -1) == [b"x", b"v"]


def test_a_ctrl_c_that_came_while_a_message_was_received_leaves_the_end_of_its_block_alone(
    queue: Queue, raw: redis.Redis, interrupted: Callable[[], pytest.MonkeyPatch]
) -> None:
    queue.create()
    queue.put(b"v")
    patch = interrupted()
    with queue.receive() as message:
        patch.undo()
        assert message.value == b"v"
    assert raw.llen(JOBS) == 0
    with pytest.raises(KeyboardInterrupt):
        queue.qsize()
    invariant(raw)
