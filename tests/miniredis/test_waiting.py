"""The registry of blocked clients: which keys are signalled, and how deadlines are kept."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from miniredis.engine.observing import Statistics
from miniredis.engine.streams import Stream
from miniredis.engine.waiting import Waiter, Waiting

FAR = "1000"
"""The number of a database which is no small number, of which there would be one object only."""


def database(index: int | str, **values: Any) -> Any:
    by_key = {name.encode(): value for name, value in values.items()}
    return SimpleNamespace(index=int(index), values=by_key, find=by_key.get)


def waiter(index: int | str, *keys: bytes, kind: type = Stream, deadline: int | None = None) -> Waiter:
    return Waiter(SimpleNamespace(), int(index), keys, kind, lambda *_: None, deadline)  # type: ignore[arg-type]


@pytest.fixture
def waiting() -> Waiting:
    return Waiting([], Statistics(lambda: 0.0), lambda *_: None, lambda *_: None)


def test_only_keys_with_waiters_are_signalled(waiting: Waiting) -> None:
    waiting.add(waiter(0, b"k"))
    waiting.signal(0, b"k", deque)
    waiting.signal(0, b"other", Stream)
    waiting.signal(1, b"k", Stream)
    assert list(waiting.ready) == []
    waiting.signal(0, b"k", Stream)
    assert list(waiting.ready) == [(0, b"k")]


@pytest.mark.parametrize("index", [1, FAR])
def test_signal_all_signals_keys_with_waiters_in_one_database_only(
    waiting: Waiting, index: int | str
) -> None:
    for each in (0, index, 2000):
        waiting.add(waiter(each, b"k", b"none"))
    waiting.signal_all(database(index, k=Stream(), unasked=Stream()))
    assert list(waiting.ready) == [(int(index), b"k")]


@pytest.mark.parametrize("index", [1, FAR])
def test_of_deleted_keys_only_streams_are_signalled(waiting: Waiting, index: int | str) -> None:
    for each in (0, index, 2000):
        waiting.add(waiter(each, b"k", b"list", b"stays", b"none", b"comes"))
    before = database(index, k=Stream(), list=deque([b"v"]), stays=Stream())
    waiting.signal_gone(before, database(0, stays=Stream(), list=Stream(), comes=Stream()))
    assert list(waiting.ready) == [(int(index), b"k")]


def test_waiters_with_a_deadline_are_counted(waiting: Waiting) -> None:
    for deadline in (None, 5, None, 7, None):
        waiting.add(waiter(0, b"k", deadline=deadline))
    assert (len(waiting), waiting.with_deadline) == (5, 2)


def test_the_next_deadline_is_the_earliest(waiting: Waiting) -> None:
    waiters = [waiter(0, b"k", deadline=deadline) for deadline in (3, 1, 2)]
    for each in waiters:
        waiting.add(each)
    assert waiting.next_deadline() == 1
    waiting.remove(waiters[1])
    assert waiting.next_deadline() == 2
    assert list(waiting.timed_out(2)) == [waiters[2]]


@pytest.mark.parametrize("count", [1500, 1501])
def test_outdated_deadlines_are_dropped_when_they_are_too_many(waiting: Waiting, count: int) -> None:
    """A thousand beside twice as many as there are waiters; fewer are kept, since dropping takes a while."""
    waiters = [waiter(0, b"k", deadline=number) for number in range(count)]
    for each in waiters:
        waiting.add(each)
    kept = len(waiters)
    for left in reversed(range(1, len(waiters))):
        waiting.remove(waiters[left])  # the last to give up, so that the heap's top is one who still waits
        kept = left if kept > 2 * left + 1000 else kept
        assert len(waiting.deadlines) == kept
        assert waiting.next_deadline() == 0
    assert kept < 1000
