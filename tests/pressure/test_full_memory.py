"""A server whose memory is full (``maxmemory`` with ``noeviction``): what takes and completes messages goes on.

Otherwise a full server would stay full: only consumers free its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

import pressure
from pressure import BackupQueue, Queue, QueueEmptyError, ReliableQueue, RingQueue, ServerReplyError

from .conftest import Task, invariant, until


@pytest.fixture
def fill(raw: redis.Redis, with_maxmemory: None) -> Iterator[Callable[[], object]]:
    """Lets the server's memory be full; at the end there is enough of it."""
    yield lambda: raw.config_set("maxmemory", 1)
    raw.config_set("maxmemory", 0)


@pytest.fixture
def jobs(redis_url: str) -> Iterator[Queue[bytes]]:
    with Queue("jobs", url=redis_url) as queue:
        queue.create(bound=5)
        queue.put_many([b"1", b"2", b"3", b"4"])
        yield queue


def test_messages_are_taken_and_put_back(
    jobs: Queue[bytes], fill: Callable[[], object], raw: redis.Redis
) -> None:
    fill()
    assert jobs.get() == b"1"
    with pytest.raises(ZeroDivisionError) as caught, jobs.receive():
        raise ZeroDivisionError
    assert not hasattr(caught.value, "__notes__")
    with jobs.receive() as message:
        assert message.value == b"2"
    with jobs.receive() as message:
        message.reject()
    invariant(raw)
    with pytest.raises(ServerReplyError, match="OOM"):
        jobs.put(b"5")
    assert jobs.get_many(9) == [b"4"]


def test_a_get_that_waited_in_vain_gives_its_role_back(
    jobs: Queue[bytes], fill: Callable[[], object], raw: redis.Redis
) -> None:
    jobs.get_many(9)
    fill()
    with pytest.raises(QueueEmptyError) as caught:
        jobs.get(timeout=0.02)
    assert not hasattr(caught.value, "__notes__")
    invariant(raw)


def test_a_put_that_waited_for_room_gives_role_and_token_back(
    jobs: Queue[bytes],
    fill: Callable[[], object],
    raw: redis.Redis,
    redis_url: str,
    task: Callable[..., Task],
) -> None:
    jobs.put(b"5")
    with Queue("jobs", url=redis_url) as other:
        put = task(lambda: other.put(b"6"))
        until(lambda: raw.info("clients")["blocked_clients"])
        fill()
        assert jobs.get() == b"1"
        with pytest.raises(ServerReplyError, match="OOM") as caught:
            put.result()
    assert not hasattr(caught.value, "__notes__")
    invariant(raw)


def test_a_put_of_a_value_too_long_for_a_script_gives_role_and_token_back(
    fill: Callable[[], object],
    raw: redis.Redis,
    redis_url: str,
    task: Callable[..., Task],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pressure.protocol.scripts.MOST_BYTES", 200)
    with Queue("jobs", url=redis_url, heal=False) as queue, Queue("jobs", url=redis_url) as other:
        queue.create(bound=1)
        queue.put(b"1")
        put = task(lambda: queue.put(bytes(300)))
        until(lambda: raw.info("clients")["blocked_clients"])
        fill()
        assert other.get() == b"1"
        with pytest.raises(ServerReplyError, match="OOM") as caught:
            put.result()
        assert not hasattr(caught.value, "__notes__")
        invariant(raw)


def test_a_queue_can_be_looked_at_closed_and_deleted(
    jobs: Queue[bytes], fill: Callable[[], object], raw: redis.Redis
) -> None:
    fill()
    assert jobs.stats().length == 4
    assert jobs.holder("consumer") is None
    assert jobs.doctor().problems == ()
    jobs.shutdown()
    assert jobs.closed()
    jobs.delete()
    assert not raw.exists("__pressure__:jobs", "__pressure__:jobs:bound", "__pressure__:jobs:closed")


def test_backup_queues(redis_url: str, fill: Callable[[], object]) -> None:
    with BackupQueue("jobs", url=redis_url) as queue:
        queue.push("1", "2", "3")
        fill()
        first = queue.claim()
        assert first is not None
        assert len(queue.in_progress()) == 1
        queue.complete(first)
        with queue.take() as item:
            assert item.value == b"2"
        queue.claim()
        assert [item.value for item in queue.requeue_stale(0)] == [b"3"]
        last = queue.claim()
        assert last is not None
        assert queue.requeue(last)


def test_ring_queues(redis_url: str, fill: Callable[[], object]) -> None:
    with RingQueue("jobs", url=redis_url) as queue:
        queue.push("1", "2")
        fill()
        first = queue.claim(60)
        assert first is not None
        queue.complete(first)
        with queue.take(60) as item:
            assert item.value == b"2"


def test_reliable_queues(redis_url: str, fill: Callable[[], object]) -> None:
    handled = []

    def handle(message: Any) -> None:
        handled.append(message.value)
        if message.deliveries == 1:
            raise ZeroDivisionError

    with ReliableQueue("jobs", url=redis_url) as queue:
        queue.push("dead worker's")
        queue.pop()
        queue.push("1", "2")
        queue.push("due", delay=0.001)
        fill()
        assert [message.value for message in queue.recover(min_idle=0)] == [b"dead worker's"]
        while queue.info().delayed or queue.info().undelivered:
            queue.work(handle, backoff=lambda _: 0, until_empty=True)
        assert sorted(set(handled)) == [b"1", b"2", b"due"]


def test_the_doctor_of_all_queues(jobs: Queue[bytes], redis_url: str, fill: Callable[[], object]) -> None:
    fill()
    (found,) = pressure.doctor(url=redis_url)
    assert (found.state, found.problems) == ("open", ())
