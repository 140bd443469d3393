"""A process dies while it holds a role: a client that waits for the role frees it, and no other role."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Any

import pytest
import redis

from pressure import QueueEmptyError, QueueFullError, QueueInUseError
from tests.pressure.conftest import JOBS, StartTask, invariant, take, until, waiting

from .conftest import A_WHILE, SOON, Make, Start, cut, end, said, set_looks, taken

ANOTHER_HOST = b"another-host:1:01234567/1/1"
NOT_OURS = b"worker 7"
ROLES = ("producer", "consumer")


def kill_in(work: str, start: Start, raw: redis.Redis, role: str, pid: str = "") -> None:
    """A process is killed while it has a role."""
    worker = start(work, pid)
    taken(raw, role)
    if work == "receive":
        assert said(worker) == "done"
    else:
        waiting(raw)
    end(worker)
    until(lambda: not raw.info("clients")["blocked_clients"])  # else the server serves the dead one


def test_who_waits_for_a_message_gets_the_one_of_a_dead_receiver(
    make: Make, raw: redis.Redis, start: Start
) -> None:
    queue = make()
    queue.create()
    queue.put_many([b"1", b"2"])
    kill_in("receive", start, raw, "consumer")
    assert queue.get(timeout=SOON) == b"1"
    assert queue.get_nowait() == b"2"
    invariant(raw)


def test_who_waits_for_a_message_replaces_a_dead_waiter(make: Make, raw: redis.Redis, start: Start) -> None:
    queue = make()
    queue.create()
    kill_in("get", start, raw, "consumer")
    queue.put(b"v")
    assert queue.get(timeout=SOON) == b"v"
    invariant(raw)


def test_who_waits_for_room_replaces_a_dead_producer(make: Make, raw: redis.Redis, start: Start) -> None:
    queue = make()
    queue.create(1)
    queue.put(b"1")
    kill_in("put", start, raw, "producer")
    assert queue.get() == b"1"
    queue.put(b"2", timeout=SOON)
    assert queue.get_many(9) == [b"2"]
    invariant(raw)


def test_all_who_wait_go_on_after_a_death(
    make: Make, raw: redis.Redis, start: Start, task: StartTask
) -> None:
    queue = make()
    queue.create()
    kill_in("get", start, raw, "consumer")
    gets = [task(lambda: queue.get(timeout=SOON)) for _ in range(3)]
    queue.put_many([b"1", b"2", b"3"])
    assert sorted(get.result() for get in gets) == [b"1", b"2", b"3"]
    invariant(raw)


@pytest.mark.parametrize("role", ROLES)
def test_who_only_asks_now_and_then_heals_too(make: Make, raw: redis.Redis, role: str) -> None:
    queue = make()
    queue.create()
    queue.put(b"v")
    take(raw, role, ANOTHER_HOST)

    def done() -> bool:
        with suppress(QueueInUseError):
            queue.put_nowait(b"w") if role == "producer" else queue.get_nowait()
            return True
        return False

    assert not done()
    until(done, "did it come free", SOON)
    invariant(raw)


def try_once(make: Make, role: str, **wait: Any) -> bool:
    """A program that starts, puts or gets one value, and ends; whether the role was free."""
    queue = make()
    with suppress(QueueInUseError):
        queue.put(b"w", **wait) if role == "producer" else queue.get(**wait)
        return True
    return False


@pytest.mark.parametrize("wait", [{"block": False}, {"timeout": 0.02}], ids=["no wait", "short wait"])
@pytest.mark.parametrize("holder", [None, ANOTHER_HOST], ids=["lease ran out", "dead"])
@pytest.mark.parametrize("role", ROLES)
def test_programs_that_each_wait_too_short_free_the_role_together(
    make: Make,
    raw: redis.Redis,
    role: str,
    holder: bytes | None,
    wait: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue = make()
    queue.create()
    queue.put(b"v")
    take(raw, role, holder or b"")
    if holder is None:
        raw.delete(f"{JOBS}:{role}")
    set_looks(monkeypatch, 1000.0)  # so that no first program is there for the second look
    assert not try_once(make, role, **wait)
    assert raw.get(f"{JOBS}:{role}:suspect") == (holder or b"")
    set_looks(monkeypatch, 0.2)
    until(lambda: try_once(make, role, **wait), "did it come free", SOON)
    invariant(raw)
    queue.delete()
    assert raw.keys(JOBS + "*") == []


def grow_old(raw: redis.Redis, role: str, seconds: int) -> None:
    """The holder was found dead earlier than it was."""
    key = f"{JOBS}:{role}:suspect"
    assert raw.pexpire(key, raw.pttl(key) - seconds * 1000)


@pytest.mark.parametrize("role", ROLES)
def test_programs_that_each_wait_too_short_free_nothing_before_their_probes_are_far_enough_apart(
    make: Make, raw: redis.Redis, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_looks(monkeypatch, 1000.0)
    queue = make()
    queue.create()
    queue.put(b"v")
    take(raw, role, ANOTHER_HOST)
    for _ in range(3):
        assert not try_once(make, role, block=False)
    grow_old(raw, role, 900)
    assert not try_once(make, role, block=False)
    grow_old(raw, role, 100)
    assert try_once(make, role, block=False)


@pytest.mark.parametrize("role", ROLES)
def test_that_a_holder_was_found_dead_says_nothing_about_the_next_holder(
    make: Make, raw: redis.Redis, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_looks(monkeypatch, 1000.0)
    make().create()
    take(raw, role, ANOTHER_HOST)
    assert not try_once(make, role, block=False)
    grow_old(raw, role, 1000)
    raw.set(f"{JOBS}:{role}", ANOTHER_HOST + b"2")
    assert not try_once(make, role, block=False)
    assert raw.get(f"{JOBS}:{role}:suspect") == ANOTHER_HOST + b"2"


def test_producers_that_each_wait_too_short_restore_a_lost_token_together(
    make: Make, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_looks(monkeypatch, 1000.0)
    make().create(1)
    raw.delete(f"{JOBS}:not_full")

    def put() -> bool:
        with suppress(QueueFullError):
            make().put(b"v", timeout=0.02)
            return True
        return False

    assert not put()
    set_looks(monkeypatch, 0.2)
    until(put, "is there room", SOON)
    assert raw.lrange(JOBS, 0, -1) == [b"v"]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("last", [None, ANOTHER_HOST + b"/released"], ids=["nobody before", "after another"])
def test_a_client_that_died_before_it_said_that_the_role_is_its_own_is_dead(
    make: Make, raw: redis.Redis, role: str, last: bytes | None
) -> None:
    queue = make()
    queue.create()
    queue.put(b"v")
    raw.rpop(f"{JOBS}:{role}_free")
    raw.delete(f"{JOBS}:{role}")
    if last is not None:
        raw.set(f"{JOBS}:{role}", last)
    if role == "producer":
        queue.put(b"w", timeout=SOON)
    else:
        assert queue.get(timeout=SOON) == b"v"
    invariant(raw)


def test_a_producer_that_waits_for_room_replaces_a_dead_consumer_that_took_the_message(
    make: Make, raw: redis.Redis
) -> None:
    queue = make()
    queue.create(1)
    queue.put(b"1")
    take(raw, "consumer", ANOTHER_HOST)
    raw.rpop(JOBS)
    queue.put(b"2", timeout=SOON)
    assert queue.get_many(9) == [b"2"]
    assert raw.llen(f"{JOBS}:consumer_free") == raw.llen(f"{JOBS}:not_full") == 1


def test_a_producer_that_waits_for_room_has_the_message_of_a_dead_receiver_put_back(
    make: Make, raw: redis.Redis, start: Start, task: StartTask
) -> None:
    queue = make()
    queue.create(1)
    queue.put(b"1")
    kill_in("receive", start, raw, "consumer")
    putting = task(lambda: queue.put(b"2", timeout=SOON))
    until(lambda: raw.llen(f"{JOBS}:consumer_free"), "was the consumer's role freed", SOON)
    assert raw.lrange(JOBS, 0, -1) == [b"1"]
    assert queue.get() == b"1"
    putting.result()
    assert queue.get() == b"2"
    invariant(raw)


@pytest.mark.parametrize("role", ROLES)
def test_a_holder_of_another_form_keeps_its_role_but_from_a_repair_by_force(
    make: Make, raw: redis.Redis, role: str
) -> None:
    queue = make()
    queue.create()
    queue.put(b"v")
    take(raw, role, NOT_OURS)
    with pytest.raises(QueueInUseError, match="worker 7"):
        queue.put(b"w", timeout=A_WHILE) if role == "producer" else queue.get(timeout=A_WHILE)
    assert queue.repair().done == ()
    assert queue.repair(force=True).done
    assert queue.get(timeout=SOON) == b"v"


def test_who_is_told_not_to_heal_does_not_and_a_repair_does(
    make: Make, raw: redis.Redis, start: Start
) -> None:
    queue = make(heal=False)
    queue.create()
    queue.put(b"v")
    kill_in("receive", start, raw, "consumer")
    with pytest.raises(QueueInUseError):
        queue.get(timeout=A_WHILE)
    assert "put 1 unacknowledged message back into the queue" in queue.repair().done
    assert queue.get_nowait() == b"v"
    invariant(raw)


def test_who_is_told_not_to_heal_takes_its_own_dead_holds_back(
    make: Make, raw: redis.Redis, task: StartTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pressure.queue.SLICE", 1000.0)  # it is blocked until it is cut
    queue = make(heal=False)
    queue.create()
    getting = task(queue.get)
    waiting(raw)
    cut(raw, "b")
    with pytest.raises(ConnectionError):
        getting.result()
    queue.put_nowait(b"v")
    assert queue.get_nowait() == b"v"


def test_a_consumer_that_works_for_long_keeps_its_role(make: Make, raw: redis.Redis) -> None:
    queue, other = make(), make()
    queue.create(1)
    queue.put(b"1")
    with queue.receive() as message:
        with pytest.raises(QueueInUseError):
            other.get(timeout=A_WHILE)
        with pytest.raises(QueueFullError):
            other.put(b"2", timeout=A_WHILE)
        assert other.repair().done == ()
        assert message.data == b"1"
    assert other.stats().consumed_messages == 1
    with pytest.raises(QueueEmptyError):
        other.get_nowait()
    invariant(raw)


def test_a_producer_that_waits_for_long_keeps_its_role(make: Make, raw: redis.Redis, task: StartTask) -> None:
    queue, other = make(), make()
    queue.create(1)
    queue.put(b"1")
    putting = task(lambda: queue.put(b"2"))
    waiting(raw)
    with pytest.raises(QueueInUseError):
        other.put(b"3", timeout=A_WHILE)
    assert other.repair().done == ()
    assert other.get() == b"1"
    putting.result()
    assert other.get_many(9) == [b"2"]
    invariant(raw)


def test_a_frozen_holder_keeps_its_role_while_it_is_connected(
    make: Make, raw: redis.Redis, start: Start
) -> None:
    queue = make()
    queue.create()
    queue.put(b"v")
    worker = start("receive")
    assert said(worker) == "done"
    os.kill(worker.pid, signal.SIGSTOP)
    try:
        with pytest.raises(QueueInUseError):
            queue.get(timeout=A_WHILE)
    finally:
        os.kill(worker.pid, signal.SIGCONT)
    end(worker)
    assert queue.get(timeout=SOON) == b"v"
    invariant(raw)


def test_a_container_that_is_started_again_does_not_vouch_for_its_predecessor(
    make: Make, raw: redis.Redis, start: Start
) -> None:
    """The name of the host and the number of the process are the same."""
    queue = make(heal=False)
    queue.create()
    queue.put(b"v")
    kill_in("receive", start, raw, "consumer", pid="1")
    again = start("get, patiently", pid="1")
    assert [said(again), said(again)] == ["v", "done"]
    invariant(raw)


def test_a_repair_sees_through_a_container_that_was_started_again(
    make: Make, raw: redis.Redis, start: Start
) -> None:
    queue = make(heal=False)
    queue.create(1)
    queue.put(b"v")
    kill_in("receive", start, raw, "consumer", pid="1")
    with suppress(QueueFullError):
        queue.put_nowait(b"2")
    start("put", pid="1")
    waiting(raw)
    assert "freed the consumer role" in str(queue.repair())
    assert queue.get_nowait() == b"v"


@pytest.mark.usefixtures("flavour")
def test_two_looks_are_some_seconds_apart(make: Make, raw: redis.Redis, monkeypatch: Any) -> None:
    """As long as the first look was not followed by a second one nobody is dead."""
    set_looks(monkeypatch, 1e6)
    queue = make()
    queue.create()
    queue.put(b"v")
    take(raw, "consumer", ANOTHER_HOST)
    with pytest.raises(QueueInUseError):
        queue.get(timeout=A_WHILE)
    assert raw.get(f"{JOBS}:consumer") == ANOTHER_HOST
