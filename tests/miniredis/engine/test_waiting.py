"""The registry of blocked clients: which keys are signalled, and how deadlines are kept."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

import pytest

from miniredis.engine.clients.waiting import Waiter, Waiting
from miniredis.engine.keyspace.changes import ALL_DATABASES, Change
from miniredis.engine.keyspace.keyspace import Keyspace
from miniredis.engine.statistics.statistics import Statistics
from miniredis.engine.values.streams import Stream

FAR = "1000"
"""The number of a database which is no small number, of which there would be one object only."""


def waiter(index: int | str, *keys: bytes, kind: type = Stream, deadline: int | None = None) -> Waiter:
    return Waiter(SimpleNamespace(), int(index), keys, kind, lambda *_: None, deadline)  # type: ignore[arg-type]


@pytest.fixture
def keyspace() -> Keyspace:
    return Keyspace(2001)


@pytest.fixture
def waiting(keyspace: Keyspace) -> Waiting:
    return Waiting(keyspace.databases, Statistics(lambda: 0.0), lambda *_: None, lambda *_: None)


def of_key(index: int, key: bytes, kind: type | None) -> Change:
    return Change(index, key, kind, "", is_ready=True)


def test_only_keys_with_waiters_are_signalled(waiting: Waiting) -> None:
    waiting.add(waiter(0, b"k", kind=deque))
    waiting.hear(of_key(0, b"k", bytes))
    waiting.hear(of_key(0, b"other", deque))
    waiting.hear(of_key(1, b"k", deque))
    waiting.hear(Change(0, b"k", deque, "lset"))
    assert list(waiting.ready) == []
    waiting.hear(of_key(0, b"k", deque))
    assert list(waiting.ready) == [(0, b"k")]


@pytest.mark.parametrize("kind", [None, bytes])
def test_a_stream_that_is_gone_is_signalled(waiting: Waiting, kind: type | None) -> None:
    waiting.add(waiter(0, b"k"))
    waiting.hear(of_key(0, b"k", kind))
    assert list(waiting.ready) == [(0, b"k")]


@pytest.mark.parametrize("index", [1, FAR])
def test_after_a_swap_the_keys_of_that_database_that_are_waited_for_are_signalled(
    waiting: Waiting, keyspace: Keyspace, index: int | str
) -> None:
    for each in (0, index, 2000):
        waiting.add(waiter(each, b"list", b"none", kind=deque))
        waiting.add(waiter(each, b"stream"))
    keyspace.databases[int(index)].create(b"list", deque([b"v"]), None)
    waiting.hear(Change(int(index), None, None, "swap"))
    assert set(waiting.ready) == {(int(index), b"list"), (int(index), b"stream")}


def test_after_a_flush_of_all_databases_every_stream_that_is_waited_for_is_signalled(
    waiting: Waiting,
) -> None:
    for each in (0, 1, FAR):
        waiting.add(waiter(each, b"list", kind=deque))
        waiting.add(waiter(each, b"stream"))
    waiting.hear(Change(ALL_DATABASES, None, None, "flush"))
    assert set(waiting.ready) == {(0, b"stream"), (1, b"stream"), (int(FAR), b"stream")}


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


def test_who_still_waits_when_outdated_deadlines_are_dropped_ends_in_order(waiting: Waiting) -> None:
    """Whatever the order of the deadlines that are left."""
    waiters = [waiter(0, b"k", deadline=number * 7919 % 3001) for number in range(3001)]
    for each in waiters:
        waiting.add(each)
    for each in waiters[::2]:
        waiting.remove(each)
    for each in waiters[1::4]:
        waiting.remove(each)
    assert len(waiting.deadlines) < 2000
    ended = [each.deadline for each in waiting.timed_out(3001)]
    assert ended == sorted(each.deadline or 0 for each in waiters[3::4])
