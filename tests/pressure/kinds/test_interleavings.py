"""Two clients at once, in every order of their messages: no item is lost or doubled.

Both send plain batches, between which the other client can change the queue.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

import pytest

from pressure.kinds import commands
from pressure.kinds.backup import BackupKeys
from pressure.kinds.backup import operations as backup
from pressure.kinds.kind import KindContext, KindKeys
from pressure.kinds.reliable import delaying, popping
from pressure.kinds.reliable import operations as reliable
from pressure.kinds.reliable.model import Delivered, ReliableKeys
from pressure.kinds.reliable.notes import parts_of
from pressure.kinds.reliable.operations import QueueState
from pressure.kinds.reliable.stream import Stream
from pressure.kinds.ring import operations as ring
from pressure.protocol.operation import Deadline, Operation, ServerFacts
from tests.cases import exhaustive, for_each
from tests.tools.simulation import Choose, Simulation, every_run

JOBS = b"queue:jobs"
LOCKS = JOBS + b":lock:"
BACKUP = BackupKeys(JOBS, JOBS + b":processing", JOBS + b":claims")
Act: TypeAlias = Callable[[KindContext], Operation[Any]]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is so without a pause, so that the same choices give the same run."""
    monkeypatch.setattr(commands, "LONGEST_PAUSE", 0.0)


def run_all(setup: Callable[[Simulation], Any], acts: tuple[Act, ...], check: Callable[[Simulation, list[Any]], None]) -> int:  # fmt: skip
    """Runs two clients in every order; tells in how many."""

    def run(choose: Choose) -> None:
        simulation = Simulation(choose)
        context = KindContext(KindKeys(b"jobs", (JOBS,)), ServerFacts(scripts=False), simulation.seconds)
        setup(simulation)
        actors = [simulation.actor(f"client{number}") for number, _ in enumerate(acts)]
        for actor, act in zip(actors, acts, strict=True):
            actor.will(partial(begun, act, context))
        simulation.run()
        check(simulation, [actor.results[0] for actor in actors])

    return every_run(run)


def begun(act: Act, context: KindContext, _: object) -> Operation[Any]:
    """An operation with our context instead of the simulation's."""
    return act(context)


def now(context: KindContext) -> Deadline:
    return Deadline.of(context, block=False)


BACKUP_ACTS: dict[str, Act] = {
    "claim": lambda c: backup.claim(c, BACKUP, now(c)),
    "complete": lambda c: backup.remove(c, BACKUP, b"1"),
    "requeue": lambda c: backup.requeue(c, BACKUP, b"1"),
    "reap": lambda c: backup.reap(c, BACKUP, 0),
}


@pytest.mark.parametrize("second", BACKUP_ACTS)
@pytest.mark.parametrize("first", ["reap", "requeue"])
def test_two_clients_neither_lose_nor_double_an_item_in_progress(first: str, second: str) -> None:
    def setup(simulation: Simulation) -> None:
        simulation.ask("LPUSH", BACKUP.processing, b"1")
        simulation.ask("ZADD", BACKUP.claims, 0, b"1")
        simulation.ask("LPUSH", JOBS, b"2")

    def check(simulation: Simulation, results: list[Any]) -> None:
        left = [*simulation.ask("LRANGE", JOBS, 0, -1), *simulation.ask("LRANGE", BACKUP.processing, 0, -1)]
        completed = second == "complete" and results[1]
        assert sorted(left) == ([b"2"] if completed else [b"1", b"2"]), results
        if completed:
            assert not results[0]

    assert run_all(setup, (BACKUP_ACTS[first], BACKUP_ACTS[second]), check) > 2


RING_ACTS: dict[str, Act] = {
    "claim": lambda c: ring.claim(c, LOCKS, b"mine", 1000, walk=False),
    "walk": lambda c: ring.claim(c, LOCKS, b"mine", 1000, walk=True),
    "late": lambda c: ring.complete(c, LOCKS, b"late", b"1"),
    "release": lambda c: ring.extend(c, LOCKS, b"theirs", b"1", 0),
}


@for_each("locked", [True, False])
@for_each("second", RING_ACTS)
def test_two_clients_of_a_ring_complete_an_item_only_with_its_lock(second: str, locked: bool) -> None:
    """Whoever has the lock completes the item, and another does something else."""

    def setup(simulation: Simulation) -> None:
        simulation.ask("LPUSH", JOBS, b"1")
        if locked:
            simulation.ask("SET", LOCKS + b"1", b"theirs")

    def check(simulation: Simulation, results: list[Any]) -> None:
        assert simulation.ask("LLEN", JOBS) == 0
        holder = simulation.ask("GET", LOCKS + b"1")
        if second in ("claim", "walk"):
            got = results[1] == b"1"  # it was locked before it was completed, or is not there any more
            assert (holder == b"mine") == got, results
            assert not (got and locked), results
        else:
            assert holder is None

    complete: Act = lambda c: ring.complete(c, LOCKS, b"theirs", b"1")  # noqa: E731
    assert run_all(setup, (complete, RING_ACTS[second]), check) > 2


ON = QueueState(ReliableKeys.of(JOBS, b"workers"), Stream(), 9)


def on() -> QueueState:
    """The queue as a new client sees it."""
    return QueueState(ON.keys, ON.backend, ON.most)


MESSAGE = Delivered(b"1-1", b"v")
RELIABLE_ACTS: dict[str, Act] = {
    "ack": lambda c: reliable.ack(c, ON, [b"1-1"]),
    "retry": lambda c: reliable.retry(c, ON, MESSAGE, 0),
    "recover": lambda c: reliable.recover(c, ON, 5, 0),
    "move": lambda c: delaying.move(c, on()),
    "pop": lambda c: popping.pop(c, on(), 5, now(c)),
    "pop one": lambda c: popping.pop(c, on(), 1, now(c)),
    "heartbeat": lambda c: reliable.heartbeat(c, ON, [b"1-1"]),
}


#: Two that pop and try again have thousands of orders; those that take one message each, or else move one, hundreds.
MANY_ORDERS = {("pop", "pop"), ("pop", "pop one"), ("pop one", "pop one"), ("move", "pop"), ("retry", "pop")}

PAIRS = [
    exhaustive(*pair, when=pair in MANY_ORDERS) for pair in combinations_with_replacement(RELIABLE_ACTS, 2)
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_clients_neither_lose_nor_double_a_pending_and_a_due_message(first: str, second: str) -> None:
    """Each pair once: every order of their messages is tried, whoever is the first of the two."""

    def setup(simulation: Simulation) -> None:
        simulation.ask("XADD", JOBS, "1-1", "payload", b"v")
        simulation.ask("XGROUP", "CREATE", JOBS, "workers", "0")
        simulation.ask("XREADGROUP", "GROUP", "workers", "pressure", "STREAMS", JOBS, ">")
        simulation.ask("ZADD", ON.keys.delayed, 0, b"0" * 32 + b":1:w")

    def check(simulation: Simulation, results: list[Any]) -> None:
        lanes = (ON.keys.queue, ON.keys.due.queue)
        entries = [entry for lane in lanes for entry in simulation.ask("XRANGE", lane, "-", "+")]
        members = simulation.ask("ZRANGE", ON.keys.delayed, 0, -1)
        left = sorted([fields[1] for _, fields in entries] + [parts_of(member)[0] for member in members])
        of = list(zip((first, second), results, strict=True))
        acked = [result for name, result in of if name == "ack"]
        assert left == ([b"w"] if any(acked) else [b"v", b"w"]), results
        assert sum(map(bool, acked)) <= 1
        popped = [message.data for name, result in of if "pop" in name for message in result]
        pops, retried = sum("pop" in name for name, _ in of), any(r for name, r in of if name == "retry")
        assert sorted(popped) in ([b"w"], [b"v", b"w"] if retried else [b"w"]) or not popped, results
        if pops and "move" not in (first, second):
            assert b"w" in popped, "what is due is delivered by the first pop"

    assert run_all(setup, (RELIABLE_ACTS[first], RELIABLE_ACTS[second]), check) >= 2


def test_two_groups_that_acknowledge_at_once_leave_no_message_behind() -> None:
    audit = QueueState(ReliableKeys.of(JOBS, b"audit"), Stream(), 9)

    def setup(simulation: Simulation) -> None:
        simulation.ask("XADD", JOBS, "1-1", "payload", b"v")
        for group in ("workers", "audit"):
            simulation.ask("XGROUP", "CREATE", JOBS, group, "0")
            simulation.ask("XREADGROUP", "GROUP", group, "pressure", "STREAMS", JOBS, ">")

    def check(simulation: Simulation, results: list[Any]) -> None:
        assert results == [[b"1-1"], [b"1-1"]]
        assert simulation.ask("XLEN", JOBS) == 0

    acts: tuple[Act, ...] = (
        lambda c: reliable.ack(c, ON, [b"1-1"]),
        lambda c: reliable.ack(c, audit, [b"1-1"]),
    )
    assert run_all(setup, acts, check) > 2
