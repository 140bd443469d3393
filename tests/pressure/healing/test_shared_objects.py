"""One queue object in several threads, and one thread with several holds: no holder is taken for another."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from pressure import QueueInUseError
from tests.pressure.conftest import DEADLINE, JOBS, execute, invariant, until

from .conftest import A_WHILE, Make, Start, said


def test_a_repair_by_force_in_a_block_never_lets_two_consumers_act(make: Make, raw: redis.Redis) -> None:
    queue = make()
    queue.create()
    queue.put_many([b"1", b"2"])

    def work() -> None:
        with queue.receive() as message:
            assert message.data == b"1"
            assert queue.repair(force=True).done
            assert queue.get_nowait() == b"1"
            assert raw.llen(f"{JOBS}:consumer_free") == 1

    with pytest.raises(QueueInUseError, match="has lost the consumer role"):
        work()
    assert raw.llen(f"{JOBS}:consumer_free") == 1
    assert queue.get_many(9) == [b"2"]
    invariant(raw)


def test_who_lost_the_role_by_force_does_not_settle_the_message_of_the_next(
    make: Make, raw: redis.Redis
) -> None:
    """The same thread holds the role again, as another hold."""
    queue = make()
    queue.create()
    queue.put_many([b"1", b"2"])
    first = queue.receive()
    assert first.__enter__().data == b"1"
    assert queue.repair(force=True).done
    second = queue.receive()
    assert second.__enter__().data == b"1"
    with pytest.raises(QueueInUseError, match="has lost the consumer role"):
        first.__exit__(None, None, None)
    assert raw.lrange(f"{JOBS}:unacked", 0, -1) == [b"1"]
    assert raw.llen(f"{JOBS}:consumer_free") == 0
    second.__exit__(None, None, None)
    assert queue.get_many(9) == [b"2"]
    invariant(raw)


def test_a_disconnect_by_another_thread_does_not_make_a_holder_look_dead(
    make: Make, raw: redis.Redis, start: Start
) -> None:
    queue = make()
    queue.create()
    queue.put_many([b"1", b"2"])
    worker = start("receive, and disconnect")
    assert said(worker) == "done"
    with pytest.raises(QueueInUseError):
        queue.get(timeout=A_WHILE)
    assert queue.repair().done == ()
    out, _ = worker.communicate(timeout=DEADLINE)
    assert out == "left\n"
    assert queue.get_many(9) == [b"2"]
    invariant(raw)


def test_every_hold_has_an_id_whose_connection_carries_its_name(make: Make, raw: redis.Redis) -> None:
    queue = make()
    queue.create()
    queue.put_many([b"1", b"2"])
    ids = set()
    for _ in range(2):
        with queue.receive():
            held: Any = raw.get(f"{JOBS}:consumer")
            ids.add(held)
            names = [client["name"] for client in raw.client_list()]
            assert names.count(held.decode().rpartition("/")[0]) == 1
    assert len(ids) == 2


def test_doctor_and_repair_say_the_same_of_a_client_that_has_lost_its_connection(
    make: Make, raw: redis.Redis
) -> None:
    """Both see a problem, where the process of the holder lives."""
    queue, other = make(), make(heal=False)
    queue.create()
    queue.put(b"v")
    block = queue.receive()
    block.__enter__()
    assert other.doctor().problems == ()
    assert other.repair().done == ()
    for client in raw.client_list():
        if client["id"] != str(raw.client_id()):
            execute(raw, "CLIENT", "KILL", "ID", client["id"])
    until(lambda: len(raw.client_list()) == 1, "are they gone")
    assert "consumer" in " ".join(other.doctor().problems)
    assert "freed the consumer role" in str(other.repair())
    with pytest.raises(QueueInUseError):
        block.__exit__(None, None, None)
    assert queue.get_nowait() == b"v"
    invariant(raw)
