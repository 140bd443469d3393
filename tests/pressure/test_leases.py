"""Leases, on a held clock: a live client keeps its role, a hung client loses it and gets an error."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest
import redis
import trio

import miniredis
from conformance.clients.flavours import FLAVOURS
from pressure import Queue, QueueInUseError
from pressure.aio.lease import TaskRenewer
from pressure.execution.lease import ThreadRenewer
from pressure.trio.lease import SystemTaskRenewer

from .conftest import PREFIX, Task, until

LONG = 3000.0
"""Seconds of a lease that is not renewed during a test."""

SHORT = 0.3
"""Seconds of one that is renewed all the time."""


@pytest.fixture
def raw(held: miniredis.Server) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(held.url) as client:
        yield client


@pytest.fixture(params=FLAVOURS)
def make(request: pytest.FixtureRequest, held: miniredis.Server) -> Iterator[Callable[[float], Any]]:
    """Makes queue objects of every flavour, which are disconnected at the end."""
    made = []
    flavour: Any = FLAVOURS[request.param]

    def queue(lease: float) -> Any:
        made.append(flavour("jobs", url=held.url, lease=lease))
        return made[-1]

    yield queue
    for each in made:
        each.disconnect()


def left(raw: redis.Redis, role: str) -> int:
    """The milliseconds that are left of a role's lease; negative if there is none."""
    return int(raw.pttl(f"{PREFIX}jobs:{role}"))


def test_a_role_is_held_for_the_time_of_the_lease(make: Callable[[float], Any], raw: redis.Redis) -> None:
    queue = make(LONG)
    queue.create(2)
    queue.put_many([b"1", b"2"])
    assert left(raw, "producer") == -1, "what says that the role was given back is kept"
    with queue.receive() as message:
        assert message.data == b"1"
        assert left(raw, "consumer") == LONG * 1000
        assert queue.doctor().consumer.lease == LONG
    assert left(raw, "consumer") == -1
    assert queue.get_many(2) == [b"2"]
    queue.shutdown()


def test_a_working_client_keeps_its_role(
    make: Callable[[float], Any], held: miniredis.Server, raw: redis.Redis
) -> None:
    queue = make(SHORT)
    queue.create()
    queue.put(b"v")
    with queue.receive():
        for _ in range(4):
            held.fast_forward(SHORT * 0.9)
            until(lambda: left(raw, "consumer") > SHORT * 500, "was the lease renewed")
        assert queue.doctor().problems == ()
    assert queue.stats().consumed_messages == 1


def test_a_waiting_client_keeps_its_role(
    make: Callable[[float], Any], held: miniredis.Server, raw: redis.Redis, task: Callable[..., Task]
) -> None:
    queue = make(SHORT)
    queue.create(1)
    queue.put(b"1")
    putting = task(lambda: queue.put(b"2"))
    until(lambda: left(raw, "producer") > 0 and not raw.llen(f"{PREFIX}jobs:producer_free"), "does it wait")
    for _ in range(4):
        held.fast_forward(SHORT * 0.9)
        until(lambda: left(raw, "producer") > SHORT * 500, "was the lease renewed")
    assert make(SHORT).get() == b"1"
    putting.result()
    assert queue.get() == b"2"


def test_a_hung_client_loses_its_role_and_gets_an_error(
    make: Callable[[float], Any], held: miniredis.Server, raw: redis.Redis
) -> None:
    queue, other = make(LONG), make(LONG)
    queue.create(2)
    queue.put(b"v")

    def hang() -> None:
        with queue.receive():
            held.fast_forward(LONG + 1)
            assert left(raw, "consumer") == -2
            assert (
                "held by a client whose lease ran out; a client that waits for the role frees it"
                in " ".join(other.doctor().problems)
            )
            report = other.repair()
            assert report.done == (
                "put 1 unacknowledged message back into the queue",
                "freed the consumer role, held by a client that has not written its id",
            )

    with pytest.raises(QueueInUseError, match="its lease of 3000 s ran out"):
        hang()
    assert other.get() == b"v"
    assert raw.llen(f"{PREFIX}jobs:consumer_free") == 1


def test_a_holder_without_a_lease_is_not_expired(held: miniredis.Server, raw: redis.Redis) -> None:
    with Queue("jobs", url=held.url) as plain, Queue("jobs", url=held.url, lease=LONG) as queue:
        plain.create()
        plain.put(b"v")
        with plain.receive():
            held.fast_forward(2 * LONG)
            assert left(raw, "consumer") == -1
            assert "its connection is open" in " ".join(queue.repair().left)
        assert plain.doctor().consumer.lease is None


def renewers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "pressure-lease"]


def test_an_attempt_that_raises_whatever_does_not_end_renewing_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Such as a credential provider that cannot be asked for a while."""
    attempts = []

    def renew(_: object) -> None:
        attempts.append(1)
        raise RuntimeError("no credentials")

    renewer = ThreadRenewer(0.03, renew, "queue jobs")
    renewer.begin(b"hold")
    until(lambda: len(attempts) > 2, "does it go on")
    renewer.end(b"hold")
    renewer.stop()
    failed = "queue jobs: renewing its lease failed, and is tried again: RuntimeError: no credentials"
    assert caplog.record_tuples == [("pressure.execution.lease", logging.WARNING, failed)]


def test_an_attempt_that_raises_whatever_does_not_end_renewing_on_asyncio() -> None:
    async def main() -> None:
        attempts, many = [], asyncio.Event()

        async def renew(_: object) -> None:
            attempts.append(1)
            if len(attempts) > 2:
                many.set()
            raise RuntimeError("no credentials")

        renewer = TaskRenewer(0.03, renew, "queue jobs")
        renewer.begin(b"hold")
        async with asyncio.timeout(20):
            await many.wait()
        renewer.end(b"hold")
        await renewer.stop()

    asyncio.run(main())


def test_a_lease_is_renewed_if_it_begins_while_renewing_is_stopped_on_asyncio() -> None:
    async def main() -> None:
        renewed: asyncio.Queue[Collection[bytes]] = asyncio.Queue()
        renewer = TaskRenewer(0.03, renewed.put, "queue jobs")
        renewer.begin(b"first")
        renewer.end(b"first")
        stopping = asyncio.create_task(renewer.stop())
        await asyncio.sleep(0)
        renewer.begin(b"second")
        async with asyncio.timeout(20):
            await stopping
            assert await renewed.get() == {b"second"}
        renewer.end(b"second")
        await renewer.stop()

    asyncio.run(main())


def test_a_lease_is_renewed_if_it_begins_while_renewing_is_stopped_on_trio() -> None:
    async def main() -> None:
        renewed, seen = trio.open_memory_channel[Collection[bytes]](1)

        async def begin() -> None:
            renewer.begin(b"second")

        renewer = SystemTaskRenewer(0.03, renewed.send, "queue jobs")
        renewer.begin(b"first")
        renewer.end(b"first")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(begin)
            await renewer.stop()
        with trio.fail_after(20):
            assert await seen.receive() == {b"second"}
        renewer.end(b"second")
        await renewer.stop()

    trio.run(main)


def test_renewing_ends_with_the_block_of_the_queue(held: miniredis.Server) -> None:
    with Queue("jobs", url=held.url, lease=LONG) as queue:
        queue.create()
        queue.put(b"v")
        assert len(renewers()) == 1
    assert renewers() == []
    queue.put(b"w")
    with queue.receive():
        queue.disconnect()
        assert len(renewers()) == 1, "somebody is at work"
    until(lambda: renewers() == [], "did it end when nobody was at work any more")


def test_renewing_ends_when_no_operation_runs(held: miniredis.Server) -> None:
    queue = Queue("jobs", url=held.url, lease=0.03)
    queue.create()
    queue.put(b"v")
    until(lambda: renewers() == [], "did it end")
    assert queue.get() == b"v"
    queue.disconnect()


@pytest.mark.parametrize("flavour", ["aio", "trio"])
def test_renewing_ends_with_the_block_of_other_flavours(held: miniredis.Server, flavour: str) -> None:
    ends = {"aio": _ends_on_asyncio, "trio": _ends_on_trio}
    ends[flavour](held.url)


def _ends_on_asyncio(url: str) -> None:
    import asyncio

    import pressure.aio

    async def main() -> None:
        async with pressure.aio.Queue("jobs", url=url, lease=LONG) as queue:
            await queue.create()
            await queue.put(b"v")
            assert "pressure-lease" in {task.get_name() for task in asyncio.all_tasks()}
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def _ends_on_trio(url: str) -> None:
    import trio

    import pressure.trio

    def tasks() -> set[str]:
        root = trio.lowlevel.current_root_task()
        assert root is not None
        return {task.name for nursery in root.child_nurseries for task in nursery.child_tasks}

    async def main() -> None:
        async with pressure.trio.Queue("jobs", url=url, lease=LONG) as queue:
            await queue.create()
            await queue.put(b"v")
            assert "pressure-lease" in tasks()
        assert "pressure-lease" not in tasks()

    trio.run(main)


def test_a_forked_child_renews_only_its_own_leases(held: miniredis.Server) -> None:
    with Queue("jobs", url=held.url, lease=LONG) as queue:
        queue.create()
        queue.put(b"v")
        with queue.receive():
            child = os.fork()
            if child == 0:
                fine = queue._renewer is not None and queue._renewer._thread is None
                queue.put(b"w")
                fine = fine and len(renewers()) == 1
                os._exit(0 if fine else 1)
            assert os.waitpid(child, 0)[1] == 0
            assert len(renewers()) == 1
        assert queue.get() == b"w"


@pytest.mark.parametrize("lease", [0, -1, float("inf"), float("nan")])
def test_a_lease_is_a_positive_number_of_seconds(lease: float) -> None:
    with pytest.raises(ValueError, match="lease must be"):
        Queue("jobs", lease=lease)
