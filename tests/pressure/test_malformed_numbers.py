"""Keys that other programs filled with malformed numbers: every error names the queue and the key."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator

import pytest
import redis

from pressure import BackupQueue, MalformedQueueError, PressureWarning, Queue, QueueFullError, ReliableQueue
from pressure.protocol.numbers import number_in

from .conftest import JOBS, invariant

COUNTERS = [f"{who}_{what}" for who in ("produced", "consumed") for what in ("messages", "bytes")]
FORGED = (b"abc", b"9" * 5000, b"1_0", b" 7", b"\xff", b"", b"1e3", b"nan")


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """What is refused after an operation is warned of, which is not what is tested."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PressureWarning)
        yield


@pytest.mark.parametrize("counter", COUNTERS)
def test_a_counter_that_is_not_a_number_is_named_and_reset_by_repair(
    queue: Queue, raw: redis.Redis, counter: str
) -> None:
    queue.create(9)
    for number, forged in enumerate(FORGED):
        queue.put(b"value")
        queue.put(b"another")
        queue.get()
        raw.set(f"{JOBS}:stats:{counter}", forged)
        who, what = counter.split("_")
        with pytest.raises(MalformedQueueError, match=f"queue 'jobs': its counter of {who} {what}"):
            queue.stats()
        with unheard():
            queue.put(b"12")
            assert queue.get_many(2) == [b"another", b"12"]
            queue.put(b"left")
        (problem,) = queue.doctor().problems
        assert problem.startswith(f"its counter of {who} {what} is not a number of 0 or more: b")
        assert queue.repair().done == ("reset 1 counter that was not a number",)
        invariant(raw)
        stats = queue.stats()
        assert stats.produced_bytes - stats.consumed_bytes == len(b"left")
        assert queue.doctor().problems == ()
        assert queue.get() == b"left", number


def test_repair_resets_all_malformed_counters_at_once(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put_many([b"1", b"22"])
    for counter in COUNTERS:
        raw.set(f"{JOBS}:stats:{counter}", "abc")
    assert len(queue.doctor().problems) == 4
    assert queue.repair().done == ("reset 4 counters that were not numbers",)
    stats = queue.stats()
    assert (stats.produced_messages, stats.produced_bytes) == (2, 3)
    assert (stats.consumed_messages, stats.consumed_bytes) == (0, 0)
    invariant(raw)


@pytest.mark.parametrize("counter", COUNTERS)
def test_a_counter_at_its_maximum_does_not_stop_operations(
    queue: Queue, raw: redis.Redis, counter: str
) -> None:
    queue.create(9)
    raw.set(f"{JOBS}:stats:{counter}", 2**63 - 1)
    with unheard():
        queue.put(b"value")
        queue.put_many([b"2", b"3"])
        assert queue.get() == b"value"
        with queue.receive() as message:
            assert message.value == b"2"
    assert queue.length() == 1


@pytest.mark.parametrize("bound", [*FORGED, b"-1"])
def test_a_bound_that_is_not_a_number_is_named_in_the_error(
    queue: Queue, raw: redis.Redis, bound: bytes
) -> None:
    queue.create(3)
    queue.put(b"value")
    raw.set(f"{JOBS}:bound", bound)
    calls: tuple[Callable[[], object], ...] = (
        lambda: queue.put_nowait(b"v"), queue.full, queue.length, queue.stats
    )  # fmt: skip
    for call in calls:
        with pytest.raises(MalformedQueueError, match="queue 'jobs': its bound is not a number of 0 or more"):
            call()
    assert any("its bound is not a number" in each for each in queue.doctor().problems)
    with unheard():
        assert queue.get() == b"value"


NO_COUNTERS = (b"007", b"-0", b"+1", b"9" * 19, b"-1")


@pytest.mark.parametrize("forged", NO_COUNTERS)
def test_a_value_that_incrby_refuses_is_a_malformed_counter(
    queue: Queue, raw: redis.Redis, forged: bytes
) -> None:
    queue.create()
    raw.set(f"{JOBS}:stats:produced_messages", forged)
    if forged != b"-1":
        with pytest.raises(redis.ResponseError, match="not an integer or out of range"):
            raw.incrby(f"{JOBS}:stats:produced_messages", 0)
    with pytest.raises(MalformedQueueError, match="its counter of produced messages"):
        queue.stats()
    (problem,) = queue.doctor().problems
    assert problem.startswith("its counter of produced messages is not a number of 0 or more")


def test_numbers_that_incrby_accepts_are_read() -> None:
    for number in (0, 1, -1, 10, 2**63 - 1, -(2**63)):
        assert number_in(b"%d" % number) == number
    for number in (2**63, -(2**63) - 1):
        assert number_in(b"%d" % number) is None
    assert number_in(b"7\n") is None


def test_a_bound_can_have_leading_zeros(queue: Queue, raw: redis.Redis) -> None:
    queue.create(3)
    raw.set(f"{JOBS}:bound", b"002")
    queue.put_many([b"1", b"2"])
    with pytest.raises(QueueFullError):
        queue.put_nowait(b"3")
    assert queue.stats().bound == queue.doctor().bound == 2
    assert queue.get_many(9) == [b"1", b"2"]
    assert queue.doctor().problems == ()


def test_the_error_for_a_malformed_number_is_short(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    raw.set(f"{JOBS}:bound", b"x" * 1_000_000)
    with pytest.raises(MalformedQueueError) as caught:
        queue.length()
    assert len(str(caught.value)) < 200


def test_malformed_delivery_counts_and_times_do_not_stop_operations(
    redis_url: str, raw: redis.Redis, scripts: bool
) -> None:
    with ReliableQueue("mails", url=redis_url, scripts=scripts, backend="stream") as mails:
        raw.xadd("queue:mails", {"payload": b"first", "deliveries": b"9" * 5000})
        raw.zadd("queue:mails:delayed", {b"0" * 32 + b":" + b"9" * 5000 + b":later": 1})
        found = [mails.pop()[0].data, mails.pop()[0].data]  # what is due may come before the other
        assert b"first" in found
        assert [each for each in found if each.endswith(b"later")]
    with BackupQueue("letters", url=redis_url, scripts=scripts) as letters:
        letters.push(b"item", b"other")
        letters.claim()
        letters.claim()
        raw.zadd("queue:letters:claims", {b"item": "inf", b"other": "-inf"})
        assert {each.item.data for each in letters.in_progress()} == {b"item", b"other"}
        assert [each.data for each in letters.requeue_stale(60)] == [b"other"]
