"""A lease is renewed, or runs out, at every moment of an operation; the test sets the clock."""

from __future__ import annotations

from itertools import combinations, count
from typing import Any

import pytest

from pressure import QueueFullError, QueueInUseError, protocol
from pressure.protocol import Context, Deadline
from pressure.protocol.repair import repair
from tests.tools.simulation import Actor, Choose, Simulation, every_run, operation
from tests.tools.simulation import held as received_by


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


DONE, BACK = protocol.Settlement.ACKNOWLEDGED, protocol.Settlement.REQUEUED

#: The bound of a queue, what is done on it, and what comes of that.
DISTURBED: dict[str, tuple[int, tuple[Any, ...], list[Any]]] = {
    "put": (0, (PUT,), [None]),
    "put that fills the queue": (2, (PUT,), [None]),
    "put_many": (3, (operation(protocol.put_many, [b"1", b"2"], a_while),), [None]),
    "get": (2, (operation(protocol.get, a_while),), [b"a"]),
    "receive": (2, (RECEIVE, operation(protocol.settle, received_by, DONE, 1)), [b"a", None]),
    "receive and put back": (2, (RECEIVE, operation(protocol.settle, received_by, BACK, 1)), [b"a", None]),
    "close": (2, (operation(protocol.close, a_while),), [None]),
}

#: What is in hundreds of orders: the exhaustive run has it.
HUNDREDS = {("get", False, 2), ("receive", True, 1)}


def marks(name: str, scripts: bool, times: int) -> list[pytest.MarkDecorator]:
    if (name, scripts, times) in HUNDREDS:
        return [pytest.mark.exhaustive]
    return [pytest.mark.slow] if times == 2 else []


#: How a client sends an operation, and how often its lease is renewed meanwhile. Twice is in thousands of orders, but
#: for the operation that has the fewest messages.
WAYS = [
    pytest.param(
        name, scripts, times,
        marks=marks(name, scripts, times),
        id=f"{name}-{'scripts' if scripts else 'plain'}-{times}",
    )
    for name in DISTURBED for scripts, times in ((True, 1), (False, 1), (False, 2))
]  # fmt: skip


@pytest.mark.parametrize(("name", "scripts", "times"), WAYS)
def test_renewing_at_any_moment_does_not_disturb_an_operation(name: str, scripts: bool, times: int) -> None:
    bound, work, results = DISTURBED[name]

    def run(choose: Choose) -> None:
        simulation = Simulation(choose, scripts=scripts, lease=60)
        simulation.do(operation(protocol.create, bound))
        simulation.do(operation(protocol.put, b"a", a_while))
        actor = simulation.actor("worker").will(*work)
        Renewer(simulation, actor, times)
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
        Renewer(simulation, actor)
        simulation.run()
        assert isinstance(actor.results[0], QueueFullError)
        assert simulation.ask("LLEN", simulation.keys.producer_free) == 1

    assert every_run(run) > 3


#: What a client does as a holder in several transactions, and how many values there are before it.
LONG_WORK: dict[str, tuple[int, Any]] = {
    "a put that fills the queue": (1, PUT),
    "put_many beyond what fits": (0, operation(protocol.put_many, [b"1", b"2", b"3"], a_while)),
    "get_many of more than one reply brings": (40, operation(protocol.get_many, a_while, 40)),
}


@pytest.mark.parametrize("name", LONG_WORK)
def test_a_client_whose_role_is_freed_after_its_lease_was_renewed_writes_nothing_more(name: str) -> None:
    """A transaction that is tried again ends the watch of the holder key, which then has to be watched anew."""
    there, work = LONG_WORK[name]
    freed = [freed_after_renewal(there, work, *moments) for moments in combinations(range(1, 12), 2)]
    assert freed.count(True) > 3


def freed_after_renewal(there: int, work: Any, renewed: int, freed: int) -> bool:
    """Renews a lease before one step of a client and frees its role before another; whether it had the role."""
    simulation = Simulation(lambda _: 0, lease=60)
    keys, before = simulation.keys, None
    simulation.do(operation(protocol.create, max(there + 1, 2)))
    simulation.do(operation(protocol.put_many, [b"a"] * there, a_while))
    worker = simulation.actor("worker").will(work)
    for step in count(1):
        if step == renewed:
            simulation.do(operation(protocol.renew, worker.context.holds._live))
        if step == freed:
            holders = {simulation.ask("GET", key) for key in (keys.producer, keys.consumer)}
            simulation.do(operation(repair, force=True))
            before = written(simulation) if holders & worker.context.holds._live else None
        if not worker.can_go_on:
            break
        worker.go_on()
    assert before in (None, written(simulation))
    return before is not None


def written(simulation: Simulation) -> list[Any]:
    """What only the holders of the roles write."""
    keys = simulation.keys
    lists = [keys.queue, keys.producer_free, keys.consumer_free]
    return [
        *(simulation.ask("LRANGE", key, 0, -1) for key in lists),
        *(simulation.ask("GET", key) for key in (keys.producer, keys.consumer)),
    ]


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
    simulation.do(operation(repair))
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
    report = simulation.do(operation(repair))
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
