"""Every interleaving of a few clients of a queue, and of clients that die."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pressure import QueueClosedError, QueueDoesNotExistError, protocol
from pressure.protocol import Context, Deadline
from tests.cases import exhaustive, for_each
from tests.tools.simulation import Choose, Simulation, StuckError, every_run, held, operation, seeded

FOR_EVER = Deadline.of


def at_once(context: Context) -> Deadline:
    return Deadline.of(context, block=False)


def put(value: bytes, deadline: Any = FOR_EVER, **options: Any) -> Any:
    return operation(protocol.put, value, deadline, **options)


GET = operation(protocol.get, FOR_EVER)
CLOSE = operation(protocol.close, FOR_EVER)
DELETE = operation(protocol.delete, FOR_EVER)


def queue(choose: Choose, bound: int, *values: bytes) -> Simulation:
    simulation = Simulation(choose)
    simulation.do(operation(protocol.create, bound))
    for value in values:
        simulation.do(put(value))
    return simulation


def holds(simulation: Simulation) -> list[bytes]:
    """The values, oldest first, of a queue on which the weaker form of the invariant holds."""
    keys, ask = simulation.keys, simulation.ask
    bound, length = int(ask("GET", keys.bound)), ask("LLEN", keys.queue)
    assert [ask("LLEN", key) for key in (keys.producer_free, keys.consumer_free)] == [1, 1]
    assert ask("LLEN", keys.not_full) <= 1
    assert ask("LLEN", keys.not_full) or (bound and length >= bound), "a token is lost"
    assert ask("LLEN", keys.closed) in (0, 2)
    assert not bound or length <= bound + 1
    values: list[bytes] = ask("LRANGE", keys.queue, 0, -1)
    return values[::-1]


def test_a_put_and_a_get_succeed_in_every_interleaving() -> None:
    def run(choose: Choose) -> None:
        simulation = queue(choose, 1)
        producer, consumer = simulation.actor("p").will(put(b"v")), simulation.actor("c").will(GET)
        simulation.run()
        assert (producer.results, consumer.results) == ([None], [b"v"])
        assert holds(simulation) == []

    assert every_run(run) > 10


def test_two_producers_store_both_values_in_every_interleaving() -> None:
    def run(choose: Choose) -> None:
        simulation = queue(choose, 2)
        for value in (b"1", b"2"):
            simulation.actor("p" + value.decode()).will(put(value))
        simulation.run()
        assert sorted(holds(simulation)) == [b"1", b"2"]

    assert every_run(run) > 10


@pytest.mark.slow  # "one-each-full" is the same, state by state: the clause simulation.bound explores it
def test_a_put_that_waits_for_room_goes_on_after_a_get_in_every_interleaving() -> None:
    def run(choose: Choose) -> None:
        simulation = queue(choose, 1, b"1")
        simulation.actor("p").will(put(b"2"))
        consumer = simulation.actor("c").will(GET, GET)
        simulation.run()
        assert consumer.results == [b"1", b"2"]
        assert holds(simulation) == []

    assert every_run(run) > 10


def test_a_close_ends_a_waiting_get_in_every_interleaving() -> None:
    def run(choose: Choose) -> None:
        simulation = queue(choose, 0)
        simulation.actor("p").will(CLOSE)
        consumer = simulation.actor("c").will(GET)
        simulation.run()
        assert isinstance(consumer.results[0], QueueClosedError)
        assert holds(simulation) == []

    assert every_run(run) > 10


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(put(b"v"), id="put", marks=pytest.mark.slow),  # as in "delete-beside", state by state:
        pytest.param(GET, id="get", marks=pytest.mark.slow),  # the clause simulation.delete explores it
        exhaustive(CLOSE, id="close"),
    ],
)
@pytest.mark.parametrize(
    "values", [pytest.param([], id="empty"), pytest.param([b"a"], id="full", marks=pytest.mark.slow)]
)
def test_an_operation_beside_a_delete_succeeds_or_finds_no_queue_in_every_interleaving(
    what: Any, values: list[bytes]
) -> None:
    def run(choose: Choose) -> None:
        simulation = queue(choose, 1, *values)
        actor = simulation.actor("a").will(what)
        simulation.actor("d").will(DELETE)
        simulation.run()
        (result,) = actor.results
        assert result in (None, *values) or isinstance(result, QueueDoesNotExistError)
        assert simulation.ask("DBSIZE") == 0

    assert every_run(run) > 10


@pytest.mark.parametrize("seed", range(20))
def test_many_clients_lose_nothing_and_keep_the_order(seed: int) -> None:
    choose = seeded(seed)
    simulation = queue(choose, 1 + choose(4))
    producers, count = 1 + choose(3), 8
    for number in range(producers):
        actor = simulation.actor(f"p{number}")
        actor.will(*(put(b"%d-%d" % (number, place)) for place in range(count)))
    consumers = [simulation.actor(f"c{number}").will(*[GET] * count) for number in range(producers)]
    simulation.run()
    got = [value for consumer in consumers for value in consumer.results]
    assert sorted(got) == sorted(
        b"%d-%d" % (number, place) for number in range(producers) for place in range(count)
    )
    for consumer in consumers:
        for number in range(producers):
            mine = [value for value in consumer.results if value.startswith(b"%d-" % number)]
            assert mine == sorted(mine)
    assert holds(simulation) == []


RECEIVE = operation(protocol.receive, FOR_EVER)


def test_a_waiting_put_succeeds_beside_a_reliable_get_in_every_interleaving() -> None:
    def run(choose: Choose) -> None:
        simulation = queue(choose, 1, b"a")
        simulation.actor("p").will(put(b"b"))
        simulation.actor("c").will(
            RECEIVE, operation(protocol.settle, held, protocol.Settlement.ACKNOWLEDGED, 1)
        )
        simulation.run()
        assert holds(simulation) == [b"b"]

    assert every_run(run) > 10


@pytest.mark.parametrize("bound", [1, 2, 3, 4, 0])
@pytest.mark.parametrize("seed", range(10))
def test_batches_of_puts_and_gets_keep_the_order(bound: int, seed: int) -> None:
    values = [b"%d" % number for number in range(7)]
    simulation = queue(seeded(seed), bound)
    simulation.actor("p").will(operation(protocol.put_many, values, FOR_EVER))
    some = simulation.actor("c").will(*[operation(protocol.get_many, FOR_EVER, 3)] * 2)
    simulation.actor("d").will(operation(protocol.get_many, at_once, 1))
    simulation.actor("e").will(CLOSE)
    rest = simulation.actor("f").will(*[GET] * 8)
    simulation.run()
    runs = [result for actor in simulation.actors for result in actor.results if type(result) is list]
    got = [value for run in runs for value in run]
    got += [value for value in rest.results if type(value) is bytes]
    put = len(values) if simulation.actors[0].results == [None] else simulation.actors[0].results[0].done
    assert sorted(got + holds(simulation)) == values[:put]
    assert all(run == sorted(run) for run in runs)
    assert some.is_done


@for_each("bound", [0, 300, 1000])
@for_each("scripts", [False, True])
def test_a_long_batch_of_puts_gives_the_role_back(bound: int, scripts: bool) -> None:
    """Longer than there are numbers of which there is one object only."""
    simulation = Simulation(lambda _: 0, scripts=scripts)
    simulation.do(operation(protocol.create, bound))
    values = [b"%d" % number for number in range(300)]
    simulation.do(operation(protocol.put_many, values, at_once))
    assert holds(simulation) == values
    assert simulation.do(operation(protocol.get_many, at_once, 400)) == values
    assert holds(simulation) == []


@pytest.mark.parametrize(
    ("bound", "values", "what"),
    [(1, [b"a"], put(b"v")), (2, [], GET)],
    ids=["put that waits", "get that waits"],
)
def test_a_stopped_client_gives_its_roles_and_messages_back(
    bound: int, values: list[bytes], what: Any
) -> None:
    simulation = queue(lambda _: 0, bound, *values)
    actor = simulation.actor("victim").will(what)
    while actor.can_go_on:
        simulation.step()
    wish = RuntimeError("enough")
    actor.stop(wish)
    simulation.run()
    assert actor.results == [wish]
    assert holds(simulation) == values


def test_a_run_that_never_ends_is_reported() -> None:
    def nobody_pushes(_: Context) -> Any:
        yield protocol.Batch(((b"BRPOP", b"none", 0),))

    simulation = Simulation(lambda _: 0)
    simulation.actor("waiter").will(nobody_pushes)
    with pytest.raises(StuckError, match="all wait for ever: waiter"):
        simulation.run()


def test_the_same_choices_give_the_same_run() -> None:
    def play(seed: int) -> list[Any]:
        simulation = queue(seeded(seed), 1)
        for place in range(4):
            simulation.actor(f"p{place}").will(put(b"%d" % place))
        consumer = simulation.actor("c").will(*[GET] * 4)
        simulation.run()
        return consumer.results

    runs: list[Callable[[], list[Any]]] = [lambda seed=seed: play(seed) for seed in range(5)]  # type: ignore[misc]
    assert [run() for run in runs] == [run() for run in runs]
    assert len({str(run()) for run in runs}) > 1
