"""Ctrl-C ends a wait, and loses no value."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest
import redis

from pressure import (
    Queue,
)
from pressure.sync.driver import Driver

from .conftest import (
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
