"""The server is started again, or another one takes over: clients go on without a repair."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from conformance.clients.flavours import MAKERS
from pressure import OutcomeUnknownError, Queue, ServerReplyError
from tests.pressure.conftest import JOBS, StartTask, execute, invariant, until, waiting
from tests.pressure.sentinels_and_clusters import Watched, after_failover, watched
from tests.servers import RealServer, answers

from .conftest import SOON, set_looks


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Watched]:
    """A master, its replica, and sentinels."""
    with watched(tmp_path) as made:
        yield made


def queues(stack: contextlib.ExitStack, url: str) -> dict[str, Any]:
    """A queue in each flavour, each with a name of its own."""
    made = {name: make("Queue", name, url=url) for name, make in MAKERS.items()}
    for queue in made.values():
        stack.callback(queue.disconnect)
        queue.create(2)
    return made


def test_who_waited_while_the_server_was_started_again_goes_on(durable: RealServer, task: StartTask) -> None:
    with contextlib.ExitStack() as stack, redis.Redis(port=durable.port) as raw:
        made = queues(stack, durable.url)
        gets = [task(queue.get) for queue in made.values()]
        waiting(raw, len(gets))
        durable.stop()
        for get in gets:
            with pytest.raises(OutcomeUnknownError):
                get.result()
        durable.start()
        until(lambda: answers(durable.port), "did it start again")
        for name, queue in made.items():
            queue.put(b"v")
            assert queue.get_nowait() == b"v"
            invariant(raw, name)


def test_a_block_ends_well_though_the_server_was_started_again(durable: RealServer) -> None:
    with contextlib.ExitStack() as stack, redis.Redis(port=durable.port) as raw:
        made = queues(stack, durable.url)
        for queue in made.values():
            queue.put_many([b"1", b"2"])
        with contextlib.ExitStack() as blocks:
            for queue in made.values():
                blocks.enter_context(queue.receive())
            durable.stop()
            durable.start()
            until(lambda: answers(durable.port), "did it start again")
        for name, queue in made.items():
            assert queue.get_many(9) == [b"2"]
            invariant(raw, name)


def test_the_roles_of_those_who_died_before_a_restart_are_freed_after_it(durable: RealServer) -> None:
    with contextlib.ExitStack() as stack, redis.Redis(port=durable.port) as raw:
        made = queues(stack, durable.url)
        for name, queue in made.items():
            queue.put(b"v")
            leave_dead(raw, name)
        durable.stop()
        durable.start()
        until(lambda: answers(durable.port), "did it start again")
        for name, queue in made.items():
            assert queue.get(timeout=SOON) == b"v"
            invariant(raw, name)


def leave_dead(raw: redis.Redis, name: str) -> None:
    """A consumer of another host has received a message, and died."""
    root = JOBS.removesuffix("jobs") + name
    raw.rpop(f"{root}:consumer_free")
    raw.set(f"{root}:consumer", b"another-host:1:01234567/1/1")
    raw.lmove(root, f"{root}:unacked", "RIGHT", "LEFT")


def test_the_roles_of_the_dead_are_freed_on_a_promoted_replica(
    start_server: Callable[..., RealServer],
) -> None:
    master, replica = start_server(), start_server("--repl-diskless-sync-delay", "0")
    with (
        contextlib.ExitStack() as stack,
        redis.Redis(port=master.port) as first,
        redis.Redis(port=replica.port) as second,
    ):
        for name, queue in queues(stack, master.url).items():
            queue.put(b"v")
            leave_dead(first, name)
        execute(second, "REPLICAOF", "127.0.0.1", str(master.port))
        until(lambda: second.info("replication")["master_link_status"] == "up", "does it follow")
        execute(second, "REPLICAOF", "NO", "ONE")
        for name, make in MAKERS.items():
            queue = make("Queue", name, url=replica.url)
            stack.callback(queue.disconnect)
            assert queue.get(timeout=SOON) == b"v"
            invariant(second, name)
            leave_dead_again(second, name)
            assert "freed the consumer role" in str(queue.repair())
            invariant(second, name)


def leave_dead_again(raw: redis.Redis, name: str) -> None:
    """A consumer has died before it took anything."""
    root = JOBS.removesuffix("jobs") + name
    raw.rpop(f"{root}:consumer_free")
    raw.set(f"{root}:consumer", b"another-host:1:01234567/1/2")


def test_who_waited_or_worked_during_a_failover_goes_on(group: Watched, task: StartTask) -> None:
    old, new = group.servers
    with (
        contextlib.ExitStack() as stack,
        redis.Redis(port=old.port) as first,
        redis.Redis(port=new.port) as second,
    ):
        made = queues(stack, group.url)
        gets = [task(queue.get) for queue in made.values()]
        waiting(first, len(gets))
        first.wait(1, 10_000)
        group.fail_over()
        for get in gets:
            with pytest.raises((ConnectionError, OutcomeUnknownError, ServerReplyError)) as told:
                get.result()
            assert getattr(told.value, "code", "READONLY") == "READONLY"  # it was not waiting, but looking
        for name, queue in made.items():
            after_failover(lambda queue=queue: queue.put(b"v", timeout=SOON))  # type: ignore[misc]
            assert queue.get(timeout=SOON) == b"v"
            invariant(second, name)


@pytest.mark.usefixtures("with_maxmemory")
@pytest.mark.parametrize("act", ["get", "repair"])
@pytest.mark.parametrize("popped", [False, True], ids=["empty", "message and mark"])
def test_a_dead_consumer_is_replaced_on_a_server_whose_memory_is_full(
    redis_url: str, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch, act: str, popped: bool
) -> None:
    """Otherwise it would stay full, since nobody could take anything."""
    set_looks(monkeypatch, 0.05)
    with Queue("jobs", url=redis_url) as queue:
        queue.create(2 if act == "repair" else 3)
        queue.put_many([b"1", b"2"])
        if act == "get":  # room, and no token: the dead consumer owed it
            raw.delete(f"{JOBS}:not_full")
        raw.rpop(f"{JOBS}:consumer_free")
        raw.set(f"{JOBS}:consumer", "gone:1:deadbeef/1/1")
        if popped:
            queue.shutdown()
            raw.lmove(JOBS, f"{JOBS}:unacked", "RIGHT", "LEFT")
            raw.rpop(f"{JOBS}:closed")
        raw.config_set("maxmemory", 1)
        try:
            if act == "repair":
                assert "freed the consumer role" in str(queue.repair())
            assert queue.get(timeout=20) == b"1"
            assert queue.get(timeout=20) == b"2"
        finally:
            raw.config_set("maxmemory", 0)
        assert queue.closed() is popped
        invariant(raw)
