"""Long values and many values: how many bytes one call asks for, and that no value is lost."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import redis

import pressure
import pressure.aio
import pressure.trio
from conformance.targets import Address
from conformance.wire.gate import Gate
from pressure import (
    BackupQueue,
    Delivered,
    OutcomeUnknownError,
    PressureWarning,
    Queue,
    ReliableQueue,
    RingQueue,
    UnsafeCodecWarning,
    ValueTooLongError,
)
from pressure.protocol.sizes import MOST_BYTES, Sizes
from tests.cases import for_each

from .conftest import JOBS, execute, invariant, server_fixture, waiting

MB = 1 << 20


server_address = server_fixture("miniredis", "redis-server", "redis-server, plain batches")


def value(number: int, size: int) -> bytes:
    return b"%d " % number + b"x" * size


def runs(queue: Queue, most: int) -> list[list[bytes]]:
    """What is in the queue, run by run."""
    found = []
    while queue.length():
        found.append(queue.get_many(most))
    return found


@pytest.mark.parametrize(
    "sizes",
    [[6 * MB] * 5, [10] * 30 + [9 * MB] * 3 + [10], [9 * MB, 10, 10, 9 * MB], [17 * MB, 1, 17 * MB, 1]],
    ids=["equal sizes", "long after short", "short between long", "longer than the limit"],
)
def test_get_many_returns_no_more_bytes_at_once_than_the_limit(
    queue: Queue, raw: redis.Redis, scripts: bool, sizes: list[int]
) -> None:
    queue.create()
    values = [value(number, size) for number, size in enumerate(sizes)]
    for each in values:
        raw.lpush(JOBS, each)  # by others, who count nothing
    raw.set(f"{JOBS}:stats:produced_messages", len(values))
    found = runs(queue, 100)
    assert [each for run in found for each in run] == values
    if scripts:
        assert all(len(run) == 1 or sum(map(len, run)) <= MOST_BYTES for run in found)
        assert all(sum(map(len, a)) + len(b[0]) > MOST_BYTES for a, b in pairwise(found))
    invariant(raw)


def test_without_scripts_the_last_reply_says_how_many_fit(redis_url: str, raw: redis.Redis) -> None:
    with Queue("jobs", url=redis_url, scripts=False) as plain:
        plain.create()
        for number in range(5):
            plain.put(value(number, 6 * MB))
        plain.get()
        assert [len(run) for run in runs(plain, 100)] == [2, 2]
        plain.put_many([b"%d" % number for number in range(3000)])
        plain.get()
        assert len(plain.get_many(3000)) == 2999
    invariant(raw)


def test_the_number_of_values_to_ask_for_follows_the_sizes_seen() -> None:
    sizes = Sizes()
    assert sizes.bounded(1000) == 16
    sizes.note([b"x" * 100, b"y"])
    assert sizes.bounded(1000) == 1000
    sizes.note([b"x" * 17 * MB])
    assert (sizes.bounded(9), sizes.bounded(9, 1), sizes.bounded(0)) == (1, 0, 0)
    sizes.note([b""])
    assert sizes.bounded(9, MOST_BYTES) == 0


def test_peek_many_and_rejected_return_no_more_bytes_than_the_limit(
    queue: Queue, raw: redis.Redis, make: Callable[..., Queue]
) -> None:
    queue.create()
    for number in range(3):
        raw.lpush(JOBS, value(number, 6 * MB))
        raw.lpush(f"{JOBS}:rejected", value(number, 6 * MB))
    for look in (queue.peek_many, queue.rejected):
        look(1)
        assert look(9) == [value(0, 6 * MB), value(1, 6 * MB)]
    raw.delete(JOBS, f"{JOBS}:rejected")
    short = [b"%d" % number for number in range(100)]
    for key in (JOBS, f"{JOBS}:rejected"):
        raw.lpush(key, *short)
    for look in (make().peek_many, make().rejected):
        assert [len(look(most)) for most in (1, 40, 1000)] == [1, 40, 100]
        assert look(1000) == short
    raw.delete(f"{JOBS}:rejected")


def test_values_longer_than_the_limit_can_be_put_received_and_put_back(
    queue: Queue, raw: redis.Redis
) -> None:
    queue.create(3)
    long, short = value(1, 17 * MB), b"short"
    queue.put(long)
    queue.put_many([short, long])
    assert raw.get(f"{JOBS}:stats:produced_bytes") == b"%d" % (2 * len(long) + len(short))
    with pytest.raises(ZeroDivisionError), queue.receive() as message:
        _ = message.data == long and 1 / 0
    with queue.receive() as message:
        assert message.data == long
    raw.rpop(f"{JOBS}:consumer_free")
    raw.lmove(JOBS, f"{JOBS}:unacked", "RIGHT", "LEFT")  # a consumer that died
    queue.repair(force=True)
    assert [each for run in runs(queue, 9) for each in run] == [short, long]
    stats = queue.stats()
    assert stats.produced_bytes == stats.consumed_bytes
    invariant(raw)


def test_a_repair_counts_long_values_without_reading_all_at_once(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    for number in range(3):
        raw.lpush(JOBS, value(number, 9 * MB))
    raw.config_resetstat()
    queue.repair()
    invariant(raw)
    assert queue.stats().produced_bytes == 3 * len(value(0, 9 * MB))


@pytest.mark.slow
def test_the_other_kinds_work_with_items_longer_than_the_limit(
    redis_url: str, raw: redis.Redis, scripts: bool
) -> None:
    items = [value(number, 9 * MB) for number in range(3)] + [b"short", value(4, 17 * MB)]
    with BackupQueue("letters", url=redis_url, scripts=scripts) as letters:
        letters.push(*items)
        claimed = [letters.claim(timeout=1) for _ in items]
        assert [each.data for each in claimed if each] == items
        raw.zadd("queue:letters:claims", {b"gone": 1})
        assert [each.data for each in letters.requeue_stale(0)] == items
        assert raw.zcard("queue:letters:claims") == 0
        last = [letters.claim(timeout=1) for _ in items][-1]
        assert last is not None
        assert last.data == items[-1]
        assert letters.requeue(last)
        letters.complete(claimed[0].data)  # type: ignore[union-attr]
        assert letters.length() == 1
    with RingQueue("ring", url=redis_url, scripts=scripts) as ring:
        ring.push(items[-1])
        item = ring.claim(60)
        assert item is not None
        ring.extend(item, 60)
        ring.complete(item)
        assert ring.length() == 0
    with ReliableQueue("mails", url=redis_url, scripts=scripts, backend="stream", max_deliveries=2) as mails:
        mails.push(*items, delay=0.001)
        found = [each for _ in items for each in mails.pop(1, timeout=5)]
        assert sorted(each.data for each in found) == sorted(items)
        assert all(mails.retry(each, 0) for each in found)
        again: list[Delivered] = []
        while len(again) < len(items):
            again += mails.pop(9, timeout=5)
        assert sorted(each.data for each in again) == sorted(items)
        assert all(mails.retry(each) for each in again)
        assert mails.info().dead == len(items)


def test_a_value_longer_than_servers_accept_is_not_sent(
    monkeypatch: pytest.MonkeyPatch, redis_url: str, run: Callable[..., Any]
) -> None:
    monkeypatch.setattr("pressure.codecs.LONGEST", 100)
    run(lambda queue: queue.create(), url=redis_url)
    with pytest.raises(ValueTooLongError, match="a value of 101 bytes is longer than 100 bytes"):
        run(lambda queue: queue.put(b"x" * 101), url=redis_url)
    with pytest.raises(ValueError, match="longer than"):
        run(lambda queue: queue.put_many([b"fits", b"x" * 101]), url=redis_url)
    assert run(lambda queue: queue.length(), url=redis_url) == 0
    run(lambda queue: queue.put(b"x" * 100), url=redis_url)
    with BackupQueue("letters", url=redis_url) as letters, pytest.raises(ValueTooLongError):
        letters.push(b"x" * 37)


def out_of_memory(*_: object) -> Any:
    raise MemoryError("no room for the reply")


def test_receive_loses_no_message_when_memory_runs_out_while_a_reply_is_read(
    monkeypatch: pytest.MonkeyPatch, make: Callable[..., Queue], raw: redis.Redis
) -> None:
    queue = make()
    queue.create()
    queue.put(b"value")
    with monkeypatch.context() as patched:
        patched.setattr("pressure.sync.connection.Connection._read", out_of_memory)
        with pytest.raises(OutcomeUnknownError, match="no room for the reply"), queue.receive():
            raise AssertionError("it was not received")
    raw.ping()
    queue.repair(force=True)
    assert queue.get() == b"value"
    invariant(raw)


@pytest.mark.parametrize(("most", "at", "taken"), [(1, 3, 1), (19, 3, 1), (19, 4, 19)])
def test_values_already_taken_when_the_connection_is_lost_are_in_the_error(
    empty_server: Address, most: int, at: int, taken: int
) -> None:
    with Gate(empty_server) as gate, Queue("jobs", url=gate.url, scripts=False) as queue:
        queue.create()
        Queue("jobs", url=empty_server.url).put_many([b"%d" % number for number in range(40)])
        gate.arm(at, "lose-message")
        with pytest.raises(OutcomeUnknownError) as caught:
            queue.get_many(most)
        gate.disarm()
        assert caught.value.taken == [b"%d" % number for number in range(taken)]


@pytest.mark.parametrize("waits", [False, True])
def test_a_warning_that_is_raised_as_an_error_has_the_values_taken(
    queue: Queue, raw: redis.Redis, task: Callable[..., Any], waits: bool
) -> None:
    queue.create()
    raw.set(f"{JOBS}:stats:consumed_messages", "no number")
    if waits:
        get = task(lambda: queue.get_many(2))
        waiting(raw)
    queue.put(b"value")
    with pytest.raises(PressureWarning, match="the value was taken") as caught:
        get.result() if waits else queue.get_many(2)
    assert caught.value.taken == [b"value"]


@pytest.mark.usefixtures("with_acl")
def test_values_beyond_the_limit_that_cannot_be_put_back_are_returned(
    queue: Queue, redis_url: str, raw: redis.Redis, scripts: bool
) -> None:
    if not scripts:
        pytest.skip("without scripts a value that is too long is never put back")
    queue.create()
    values = [b"1", b"2", value(3, 9 * MB), value(4, 9 * MB), b"5"]
    queue.put_many(values)
    execute(raw, "ACL", "SETUSER", "limited", "reset", "on", ">pw", "~*", "+@all", "-rpush")
    with Queue("jobs", url=redis_url.replace("//", "//limited:pw@")) as limited:
        found = limited.get_many(9)
    execute(raw, "ACL", "DELUSER", "limited")
    assert found + (queue.get_many(9) if queue.length() else []) == values
    invariant(raw)


@for_each("kind", ["Queue", "BackupQueue"])
@for_each("flavour", [pressure, pressure.aio, pressure.trio])
def test_choosing_pickle_warns_at_the_line_that_chooses_it(flavour: Any, kind: str) -> None:
    with pytest.warns(UnsafeCodecWarning, match="runs code that is in the values") as caught:
        getattr(flavour, kind)("jobs", codec="pickle", url="redis://127.0.0.1:1")
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnsafeCodecWarning)
        getattr(flavour, kind)("jobs", codec="pickle", url="redis://127.0.0.1:1")
