"""The server is started again, or another one takes over: clients go on without a repair."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from conformance.flavours import MAKERS
from conformance.targets import NoRealRedisError
from pressure import OutcomeUnknownError
from tests.pressure.conftest import Server, Task, execute, invariant, until, waiting
from tests.pressure.sentinels_and_clusters import Watched, after_failover, answers, watched
from tests.pressure.test_restarts import Durable

from .conftest import JOBS, SOON

Run = Callable[[Callable[[], Any]], Task]


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[Durable]:
    """A server that keeps its data when it is started again."""
    try:
        server = Durable(tmp_path)
    except NoRealRedisError as error:
        pytest.skip(str(error))
    try:
        until(lambda: answers(server.port), "did it start")
        yield server
    finally:
        server.stop()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Watched]:
    """A master, its replica, and sentinels."""
    try:
        with watched(tmp_path) as made:
            yield made
    except NoRealRedisError as error:
        pytest.skip(str(error))


def queues(stack: contextlib.ExitStack, url: str) -> dict[str, Any]:
    """A queue in each flavour, each with a name of its own."""
    made = {name: make("Queue", name, url=url) for name, make in MAKERS.items()}
    for queue in made.values():
        stack.callback(queue.disconnect)
        queue.create(2)
    return made


def test_who_waited_while_the_server_was_started_again_goes_on(durable: Durable, task: Run) -> None:
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


def test_a_block_ends_well_though_the_server_was_started_again(durable: Durable) -> None:
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


def test_the_roles_of_those_who_died_before_a_restart_are_freed_after_it(durable: Durable) -> None:
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


def test_the_roles_of_the_dead_are_freed_on_a_promoted_replica(start_server: Callable[..., Server]) -> None:
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


def test_who_waited_or_worked_during_a_failover_goes_on(group: Watched, task: Run) -> None:
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
            with pytest.raises((ConnectionError, OutcomeUnknownError)):
                get.result()
        for name, queue in made.items():
            after_failover(lambda queue=queue: queue.put(b"v", timeout=SOON))  # type: ignore[misc]
            assert queue.get(timeout=SOON) == b"v"
            invariant(second, name)
