"""RingQueue: items stay until they are completed, and only its owner releases a lock."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import redis

import miniredis
from conformance.targets import Address
from conformance.wire.gate import Gate
from pressure import ItemLostError, QueueEmptyError, RingQueue
from pressure.kinds.kind import Item

from ..conftest import StartTask
from .conftest import Make, datas

JOBS = "queue:jobs"


class MishapError(Exception):
    """What goes wrong in a block."""


@pytest.fixture
def queue(make: Make) -> Any:
    return make("RingQueue")


def ring(raw: redis.Redis) -> list[bytes]:
    """The items, the one at the front first."""
    found: Any = raw.lrange(JOBS, 0, -1)
    return list(found[::-1])


def locks(raw: redis.Redis) -> list[bytes]:
    keys: Any = raw.keys(f"{JOBS}:lock:*")
    return sorted(key.removeprefix(f"{JOBS}:lock:".encode()) for key in keys)


def test_a_claim_moves_an_item_to_the_back_and_locks_it(queue: Any, raw: redis.Redis) -> None:
    assert queue.push(b"1", "2", b"3") == 3
    item = queue.claim(60)
    assert (item.data, item.value) == (b"1", b"1")
    assert (ring(raw), locks(raw)) == ([b"2", b"3", b"1"], [b"1"])
    assert raw.get(f"{JOBS}:lock:1") == item.token
    assert 0 < raw.pttl(f"{JOBS}:lock:1") <= 60_000
    queue.complete(item)
    assert (ring(raw), locks(raw)) == ([b"2", b"3"], [])
    assert queue.length() == 2


def test_a_locked_item_is_not_claimed(queue: Any, raw: redis.Redis) -> None:
    assert queue.claim(60) is None
    queue.push(b"1", b"2")
    assert queue.claim(60).data == b"1"
    raw.rpush(JOBS, raw.lpop(JOBS))  # type: ignore[arg-type]
    assert queue.claim(60) is None
    assert ring(raw) == [b"2", b"1"], "it was moved all the same"
    assert queue.claim(60).data == b"2"


def test_claim_next_tries_each_item_once(queue: Any, raw: redis.Redis) -> None:
    assert queue.claim_next(60) is None
    queue.push(b"1", b"2", b"3")
    raw.set(f"{JOBS}:lock:1", "theirs")
    assert queue.claim_next(60).data == b"2"
    assert queue.claim_next(60).data == b"3"
    before = ring(raw)
    assert queue.claim_next(60) is None
    assert ring(raw) == before
    assert queue.items() == [(Item(data), True) for data in before]


def test_completing_after_the_lock_expired_is_an_error(queue: Any, raw: redis.Redis) -> None:
    queue.push(b"v", b"w")
    with pytest.raises(ItemLostError, match="may be done twice") as told, queue.take(60) as item:
        raw.delete(f"{JOBS}:lock:v")
    assert told.value.removed
    assert ring(raw) == [b"w"]
    with pytest.raises(ItemLostError, match="another client has completed") as told:
        queue.complete(item)
    assert not told.value.removed


def test_the_lock_of_another_client_is_not_released(queue: Any, raw: redis.Redis) -> None:
    queue.push(b"v")
    late = queue.claim(60)
    raw.delete(f"{JOBS}:lock:v")
    other = queue.claim(60)
    with pytest.raises(ItemLostError):
        queue.extend(late, 60)
    assert not queue.release(late)
    assert raw.get(f"{JOBS}:lock:v") == other.token
    with pytest.raises(ItemLostError):
        queue.complete(late)
    assert raw.get(f"{JOBS}:lock:v") == other.token
    queue.complete(other)  # the item is gone by now, and the lock is still its own
    assert locks(raw) == []
    with pytest.raises(ItemLostError) as told:
        queue.complete(late)
    assert not told.value.removed


def test_a_lock_can_be_extended_and_released(queue: Any, raw: redis.Redis) -> None:
    queue.push(b"v")
    item = queue.claim(5)
    queue.extend(item, 1000)
    assert 900_000 < raw.pttl(f"{JOBS}:lock:v") <= 1_000_000
    assert queue.release(item)
    assert queue.claim(5).data == b"v"


def test_a_block_completes_its_item_or_lets_the_lock_expire(queue: Any, raw: redis.Redis) -> None:
    queue.push(b"1", b"2")
    with queue.take(60) as item:
        assert item.value == b"1"
    with pytest.raises(MishapError), queue.take(60):
        raise MishapError
    assert (ring(raw), locks(raw)) == ([b"2"], [b"2"])
    with pytest.raises(QueueEmptyError), queue.take(60):
        pass


def test_equal_items_have_one_lock_unless_they_have_envelopes(make: Make) -> None:
    plain, wrapped = make("RingQueue"), make("RingQueue", "wrapped", envelope=True, codec="json")
    plain.push(b"v", b"v")
    item = plain.claim_next(60)
    assert plain.claim_next(60) is None
    plain.complete(item)
    assert plain.claim_next(60).data == b"v"
    wrapped.push({"n": 1}, {"n": 1})
    items = [wrapped.claim_next(60) for _ in range(2)]
    assert [each.value for each in items] == [{"n": 1}] * 2
    assert len(set(datas(items))) == 2


def test_no_two_clients_hold_an_item_at_the_same_time(make: Make, task: StartTask) -> None:
    make("RingQueue").push(*(b"%d" % number for number in range(40)))
    done: list[bytes] = []
    begin = threading.Barrier(4)

    def work(queue: Any) -> None:
        begin.wait()
        while (item := queue.claim_next(60)) is not None:
            done.append(item.data)
            queue.complete(item)

    queues = [make("RingQueue") for _ in range(4)]
    for worker in [task(lambda queue=queue: work(queue)) for queue in queues]:  # type: ignore[misc]
        worker.result()
    assert sorted(done) == sorted(b"%d" % number for number in range(40))


def test_an_item_completed_meanwhile_is_not_claimed(server_address: Address, raw: redis.Redis) -> None:
    """Moved here, completed and unlocked by its owner, and only then locked here."""
    raw.flushall()
    raw.lpush(JOBS, "v")
    raw.set(f"{JOBS}:kind", "ring")
    with Gate(server_address) as gate, RingQueue("jobs", url=gate.url, scripts=False) as queue:
        queue.length()
        gate.arm(3, lambda: raw.lrem(JOBS, 1, "v"))  # type: ignore[arg-type]
        assert queue.claim(60) is None
    assert raw.keys() == [b"queue:jobs:kind"]


def test_keys_can_be_chosen(make: Make, raw: redis.Redis) -> None:
    queue = make("RingQueue", key="a", locks="l/")
    queue.push(b"v")
    queue.claim(60)
    assert sorted(raw.keys()) == [b"a", b"a:kind", b"l/v"]


@pytest.mark.parametrize("ttl", [0, -1, float("inf"), float("nan")])
def test_a_wrong_lock_ttl_is_a_value_error(queue: Any, ttl: float) -> None:
    for call in (queue.claim, queue.claim_next):
        with pytest.raises(ValueError, match="lock_ttl"):
            call(ttl)
    with pytest.raises(ValueError, match="lock_ttl"), queue.take(ttl):
        pass


def test_an_expired_lock_makes_its_item_available(held: miniredis.Server) -> None:
    with RingQueue("jobs", url=held.url) as queue:
        queue.push(b"v")
        item = queue.claim(60)
        assert item is not None
        held.fast_forward(50)
        queue.extend(item, 60)
        held.fast_forward(59)
        assert queue.claim(60) is None
        held.fast_forward(2)
        again = queue.claim(60)
        assert again is not None
        assert again.data == b"v"
        with pytest.raises(ItemLostError, match="may be done twice"):
            queue.complete(item)
