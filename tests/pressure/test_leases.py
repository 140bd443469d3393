"""Leases, on a held clock: a live client keeps its role, a hung client loses it and gets an error."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

import miniredis
from conformance.flavours import FLAVOURS
from conformance.simulation import Actor, Choose, Simulation, every_run, operation
from conformance.simulation import held as received_by
from pressure import Queue, QueueFullError, QueueInUseError, protocol
from pressure.aio.lease import TaskRenewer
from pressure.lease import ThreadRenewer
from pressure.protocol import Context, Deadline

from .conftest import PREFIX, Task, until

LONG = 3000.0
"""Seconds of a lease that is not renewed during a test."""

SHORT = 0.3
"""Seconds of one that is renewed all the time."""


@pytest.fixture
def held() -> Iterator[miniredis.Server]:
    with miniredis.start(clock="held") as server:
        yield server


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
            assert "held by a client whose lease ran out; whoever waits for the role frees it" in " ".join(
                other.doctor().problems
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


def test_an_attempt_that_raises_whatever_does_not_end_renewing() -> None:
    """Such as a credential provider that cannot be asked for a while."""
    attempts = []

    def renew(_: object) -> None:
        attempts.append(1)
        raise RuntimeError("no credentials")

    renewer = ThreadRenewer(0.03, renew)
    renewer.begin(b"hold")
    until(lambda: len(attempts) > 2, "does it go on")
    renewer.end(b"hold")
    renewer.stop()


def test_an_attempt_that_raises_whatever_does_not_end_renewing_on_asyncio() -> None:
    async def main() -> None:
        attempts, many = [], asyncio.Event()

        async def renew(_: object) -> None:
            attempts.append(1)
            if len(attempts) > 2:
                many.set()
            raise RuntimeError("no credentials")

        renewer = TaskRenewer(0.03, renew)
        renewer.begin(b"hold")
        async with asyncio.timeout(20):
            await many.wait()
        renewer.end(b"hold")
        await renewer.stop()

    asyncio.run(main())


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


# Every moment, with scripts and without


def a_while(context: Context) -> Deadline:
    return Deadline.of(context, timeout=30)


class Renewer:
    """Somebody who renews the leases of another client."""

    def __init__(self, simulation: Simulation, of: Actor, times: int = 1) -> None:
        names = of.context.holds._live
        simulation.actor("renewer").will(*[operation(protocol.renew, names)] * times)


PUT = operation(protocol.put, b"v", a_while)
RECEIVE = operation(protocol.receive, a_while)


@pytest.mark.parametrize(
    ("bound", "work", "results"),
    [
        (0, (PUT,), [None]),
        (2, (PUT,), [None]),
        (3, (operation(protocol.put_many, [b"1", b"2"], a_while),), [None]),
        (2, (operation(protocol.get, a_while),), [b"a"]),
        (
            2,
            (RECEIVE, operation(protocol.settle, received_by, protocol.Settlement.ACKNOWLEDGED, 1)),
            [b"a", None],
        ),
        (
            2,
            (RECEIVE, operation(protocol.settle, received_by, protocol.Settlement.REQUEUED, 1)),
            [b"a", None],
        ),
        (2, (operation(protocol.close, a_while),), [None]),
    ],
    ids=["put", "put that fills the queue", "put_many", "get", "receive", "receive and put back", "close"],
)
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
def test_renewing_at_any_moment_does_not_disturb_an_operation(
    bound: int, work: tuple[Any, ...], results: list[Any], scripts: bool
) -> None:
    def run(choose: Choose) -> None:
        simulation = Simulation(choose, scripts=scripts, lease=60)
        simulation.do(operation(protocol.create, bound))
        simulation.do(operation(protocol.put, b"a", a_while))
        actor = simulation.actor("worker").will(*work)
        Renewer(simulation, actor, 1 if scripts else 2)
        simulation.run()
        assert actor.results == results
        keys = simulation.keys
        assert [simulation.ask("LLEN", key) for key in (keys.producer_free, keys.consumer_free)] == [1, 1]

    if scripts:
        pytest.importorskip("lupa", reason="scripts need the extra 'lua'")
    assert every_run(run) > 3


def test_renewing_at_any_moment_does_not_disturb_a_failing_operation() -> None:
    def run(choose: Choose) -> None:
        simulation = Simulation(choose, lease=60)
        simulation.do(operation(protocol.create, 1))
        simulation.do(operation(protocol.put, b"a", a_while))
        at_once = operation(protocol.put, b"v", lambda context: Deadline.of(context, block=False))
        actor = simulation.actor("worker").will(at_once)
        Renewer(simulation, actor, 2)
        simulation.run()
        assert isinstance(actor.results[0], QueueFullError)
        assert simulation.ask("LLEN", simulation.keys.producer_free) == 1

    assert every_run(run) > 3


def test_a_consumer_whose_lease_is_renewed_does_not_keep_a_delete_waiting() -> None:
    """It gives its role back on a queue that is going, too, when it finishes for the second time."""
    simulation = Simulation(lambda _: 0, lease=60)
    simulation.do(operation(protocol.create, 2))
    simulation.do(operation(protocol.put, b"a", a_while))
    getting = simulation.actor("getting").will(operation(protocol.get, a_while))
    while simulation.ask("LLEN", simulation.keys.queue):
        getting.go_on()
    simulation.do(operation(protocol.renew, getting.context.holds._live))
    deleting = simulation.actor("deleting").will(operation(protocol.delete, a_while))
    while simulation.ask("EXISTS", simulation.keys.bound):
        deleting.go_on()
    simulation.run()
    assert [getting.results, deleting.results] == [[b"a"], [None]]
    assert simulation.ask("KEYS", "*") == []


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
def test_an_expired_lease_does_not_lose_the_token(scripts: bool) -> None:
    if scripts:
        pytest.importorskip("lupa", reason="scripts need the extra 'lua'")
    simulation = Simulation(lambda _: 0, scripts=scripts, lease=10)
    simulation.do(operation(protocol.create, 1))
    simulation.do(operation(protocol.put, b"a", a_while))
    hung = simulation.actor("hung").will(operation(protocol.put, b"v", a_while))
    while hung.can_go_on:
        simulation.step()
    simulation.pass_time(11)
    simulation.do(operation(protocol.repair))
    assert simulation.do(operation(protocol.get, a_while)) == b"a"
    simulation.run()
    (error,) = hung.results
    assert isinstance(error, QueueInUseError)
    simulation.do(operation(protocol.put, b"w", a_while))
    assert simulation.ask("LRANGE", simulation.keys.queue, 0, -1) == [b"w"]
    assert simulation.ask("LLEN", simulation.keys.producer_free) == 1


def test_a_repair_without_a_lease_of_its_own_sees_another_lease_expire() -> None:
    simulation = Simulation(lambda _: 0, lease=0.03)  # less than between two looks
    simulation.do(operation(protocol.create, 1))
    hung = simulation.actor("hung").will(RECEIVE)
    simulation.do(operation(protocol.put, b"a", a_while))
    while not hung.is_done:
        simulation.step()
    simulation.lease = None
    report = simulation.do(operation(protocol.repair))
    assert report.done[-1] == "freed the consumer role, held by a client that has not written its id"
    assert simulation.do(operation(protocol.get, a_while)) == b"a"


def test_renewing_does_not_take_a_lost_role_back() -> None:
    simulation = Simulation(lambda _: 0, lease=10)
    simulation.do(operation(protocol.create, 1))
    simulation.do(operation(protocol.put, b"a", a_while))
    receiving = simulation.actor("receiving").will(RECEIVE)
    while not receiving.is_done:
        simulation.step()
    mine, consumer = receiving.context.holds._live, simulation.keys.consumer
    simulation.pass_time(4)
    simulation.do(operation(protocol.renew, (b"somebody else",)))
    assert simulation.ask("PTTL", consumer) == 6000
    simulation.do(operation(protocol.renew, mine))
    assert simulation.ask("PTTL", consumer) == 10_000
    simulation.pass_time(11)
    simulation.do(operation(protocol.renew, mine))
    assert simulation.ask("EXISTS", consumer) == 0
