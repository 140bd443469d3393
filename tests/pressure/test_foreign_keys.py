"""A key of a queue that holds something else than a queue's is named, with what it holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from pressure import MalformedQueueError, Queue

CALLS: dict[str, Callable[[Queue], object]] = {
    "stats": Queue.stats,
    "doctor": Queue.doctor,
    "repair": Queue.repair,
}


@pytest.mark.parametrize("call", CALLS)
def test_a_main_key_of_another_type_is_named(queue: Queue, raw: redis.Redis, call: str) -> None:
    queue.create(3)
    main = queue.keys.queue
    raw.xadd(main, {"a": "b"})
    with pytest.raises(MalformedQueueError) as caught:
        CALLS[call](queue)
    assert f"its key {main.decode()} holds a stream, where a list belongs" in str(caught.value)
    assert "WRONGTYPE" not in str(caught.value)


def test_every_key_of_another_type_is_named(queue: Queue, raw: redis.Redis) -> None:
    queue.create(3)
    raw.set(queue.keys.unacked, "x")
    raw.delete(queue.keys.bound)
    raw.sadd(queue.keys.bound, "y")
    with pytest.raises(MalformedQueueError) as caught:
        queue.stats()
    for key, what in (
        (queue.keys.unacked, "a string, where a list"),
        (queue.keys.bound, "a set, where a string"),
    ):
        assert f"its key {key.decode()} holds {what} belongs" in str(caught.value)
