"""repair() restores what a dead client left, and leaves live clients alone."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import pytest
import redis

from pressure import Queue, ServerReplyError
from pressure.connections.identity import process_in, unmarked
from pressure.connections.pool import HOLDS
from pressure.protocol.liveness import connected

from .conftest import JOBS, StartTask, invariant, roles_free, waiting


def test_a_healthy_queue_needs_no_repair(queue: Queue, raw: redis.Redis) -> None:
    queue.create(2)
    queue.put(b"v")
    before = contents(raw)
    assert str(queue.repair()) == str(queue.repair(force=True)) == "nothing to repair"
    assert before == contents(raw)


def contents(raw: Any) -> dict[bytes, Any]:
    """Every key and what it holds."""
    read = {b"string": raw.get, b"list": lambda key: raw.lrange(key, 0, -1)}
    keys = raw.keys()
    return {key: read[raw.type(key)](key) for key in keys}


def test_repair_leaves_the_role_of_a_live_holder_alone(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    queue.create(2)
    get = task(queue.get)
    waiting(raw)
    report = queue.repair()
    assert report.done == ()
    assert "did not free the consumer role" in report.left[0]
    queue.put(b"v")
    assert get.result() == b"v"
    invariant(raw)


def test_a_waiting_producer_gets_the_token_that_a_dead_consumer_kept(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    queue.create(1)
    queue.put(b"a")
    put = task(lambda: queue.put(b"b"))
    waiting(raw)
    jobs = "__pressure__:jobs"
    assert raw.rpop(f"{jobs}:consumer_free")
    raw.set(f"{jobs}:consumer", "somewhere:1:00000000/1/1")
    assert raw.rpop(jobs) == b"a"  # and there it died
    report = queue.repair(force=True, role="consumer")
    put.result()
    assert report.done == (
        "freed the consumer role, held by somewhere:1:00000000/1/1",
        "restored the token in :not_full, which says that there is room",
    )
    assert queue.get() == b"b"
    assert roles_free(raw)


def test_repair_reports_a_malformed_bound_and_leaves_no_key_watched(queue: Queue, raw: redis.Redis) -> None:
    queue.create(2)
    raw.set(f"{JOBS}:bound", "many")
    raw.set(f"{JOBS}:consumer", "somewhere:1:00000000/1/1")
    raw.delete(f"{JOBS}:consumer_free")
    report = queue.repair(force=True)
    assert report.done == ("freed the consumer role, held by somewhere:1:00000000/1/1",)
    assert report.left == (
        (
            "its bound is not a number of 0 or more: b'many'; set key __pressure__:jobs:bound to the right number "
            "by hand"
        ),
    )
    raw.set(f"{JOBS}:bound", "2")
    assert queue.stats().bound == 2  # by a transaction on the same connection, which a watched key would end


def test_one_role_can_be_freed_and_the_other_left(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    for role in ("producer", "consumer"):
        raw.rpop(f"__pressure__:jobs:{role}_free")
    assert queue.repair(force=True, role="consumer").left == ()
    assert [raw.llen(f"__pressure__:jobs:{role}_free") for role in ("producer", "consumer")] == [0, 1]
    with pytest.raises(ValueError, match="role must be"):
        queue.repair(role="reader")


def test_repair_finishes_an_interrupted_create(queue: Queue, raw: redis.Redis) -> None:
    raw.setnx(f"{JOBS}:bound", 2)
    queue.repair(force=True)
    invariant(raw)
    queue.put(b"v")


def test_a_live_holder_whose_role_was_freed_by_force_does_not_free_it_again(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    queue.create(1)
    queue.put(b"1")
    put = task(lambda: queue.put(b"2"))
    waiting(raw)
    queue.repair(force=True)
    assert queue.get() == b"1"
    with contextlib.suppress(Exception):
        put.result()
    assert raw.lrange(JOBS, 0, -1) == []
    assert roles_free(raw)


def test_a_forked_child_has_an_identity_and_a_connection_of_its_own(
    queue: Queue, raw: redis.Redis, redis_url: str
) -> None:
    queue.create()
    queue.put(b"v")
    holder = raw.get(f"{JOBS}:producer")
    assert isinstance(holder, bytes)
    assert process_in(unmarked(holder)) == HOLDS.process
    child = os.fork()
    if child == 0:
        named = False
        with contextlib.suppress(BaseException):
            queue.put(b"from the child")
            with redis.Redis.from_url(redis_url) as look:
                names = [client["name"] for client in look.client_list()]
                named = any(name.startswith(HOLDS.process.decode()) for name in names)
        os._exit(0 if named else 1)
    assert os.waitpid(child, 0)[1] == 0, "the child has no connection of its own"
    holder = raw.get(f"{JOBS}:producer")
    assert isinstance(holder, bytes)
    assert process_in(unmarked(holder)) != HOLDS.process
    assert f":{child}:".encode() in holder
    assert [queue.get(), queue.get()] == [b"v", b"from the child"]
    invariant(raw)


def test_connection_names_are_read_from_client_list() -> None:
    assert connected(b"id=1 name=a:1 db=0\nid=2 name= db=0\nid=3 name=b:2\n") == frozenset(
        {b"a:1", b"", b"b:2"}
    )
    assert connected(ServerReplyError("NOPERM no")) is None
