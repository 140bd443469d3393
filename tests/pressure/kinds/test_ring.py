"""RingQueue, beyond what the clauses of ``conformance`` say: items stay until they are completed."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import redis

from ..conftest import StartTask
from .conftest import Make, datas

JOBS = "queue:jobs"


@pytest.fixture
def queue(make: Make) -> Any:
    return make("RingQueue")


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


def test_keys_can_be_chosen(make: Make, raw: redis.Redis) -> None:
    queue = make("RingQueue", key="a", locks="l/")
    queue.push(b"v")
    queue.claim(60)
    assert sorted(raw.keys()) == [b"a", b"a:kind", b"l/v"]


@pytest.mark.parametrize("ttl", [0, float("inf"), float("nan")])
def test_a_wrong_lock_ttl_is_a_value_error(queue: Any, ttl: float) -> None:
    for call in (queue.claim, queue.claim_next):
        with pytest.raises(ValueError, match="lock_ttl"):
            call(ttl)
    with pytest.raises(ValueError, match="lock_ttl"), queue.take(ttl):
        pass
