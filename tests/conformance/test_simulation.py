"""Every way in which clients of a queue can come between each other, and die."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.simulation import Actor, Choose, Simulation, StuckError, every_run, operation, seeded
from pressure import QueueClosedError, QueueDoesNotExistError, QueueEmptyError, protocol
from pressure.protocol import Context, Patience

FOR_EVER = Patience.of


def at_once(context: Context) -> Patience:
    return Patience.of(context, block=False)


def put(value: bytes, patience: Any = FOR_EVER, **options: Any) -> Any:
    return operation(protocol.put, value, patience, **options)


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


def test_every_interleaving_of_a_put_and_a_get() -> None:
    def run(choose: Choose) -> None:
        simulation = queue(choose, 1)
        producer, consumer = simulation.actor("p").will(put(b"v")), simulation.actor("c").will(GET)
        simulation.run()
        assert (producer.results, consumer.results) == ([None], [b"v"])
        assert holds(simulation) == []

    assert every_run(run) > 10


def test_every_interleaving_of_two_producers() -> None:
    def run(choose: Choose) -> None:
        simulation = queue(choose, 2)
        for value in (b"1", b"2"):
            simulation.actor("p" + value.decode()).will(put(value))
        simulation.run()
        assert sorted(holds(simulation)) == [b"1", b"2"]

    assert every_run(run) > 10


def test_every_interleaving_of_a_put_that_waits_for_room_and_a_get() -> None:
    def run(choose: Choose) -> None:
        simulation = queue(choose, 1, b"1")
        simulation.actor("p").will(put(b"2"))
        consumer = simulation.actor("c").will(GET, GET)
        simulation.run()
        assert consumer.results == [b"1", b"2"]
        assert holds(simulation) == []

    assert every_run(run) > 10


def test_every_interleaving_of_a_close_and_a_get_that_waits() -> None:
    def run(choose: Choose) -> None:
        simulation = queue(choose, 0)
        simulation.actor("p").will(CLOSE)
        consumer = simulation.actor("c").will(GET)
        simulation.run()
        assert isinstance(consumer.results[0], QueueClosedError)
        assert holds(simulation) == []

    assert every_run(run) > 10


@pytest.mark.parametrize("what", [put(b"v"), GET, CLOSE], ids=["put", "get", "close"])
@pytest.mark.parametrize("values", [[], [b"a"]], ids=["empty", "full"])
def test_every_interleaving_with_a_delete(what: Any, values: list[bytes]) -> None:
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
def test_crowds_lose_nothing_and_keep_the_order(seed: int) -> None:
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


# Death


VICTIMS: dict[str, tuple[int, list[bytes], Any]] = {
    "put": (2, [b"a"], put(b"v")),
    "put onto the last place": (2, [b"a"], put(b"v")),
    "put without a bound": (0, [b"a"], put(b"v")),
    "put that waits": (1, [b"a"], put(b"v")),
    "over-filling put": (1, [b"a"], put(b"v", overfill=True)),
    "get": (2, [b"a", b"b"], GET),
    "get that waits": (2, [], GET),
    "get without waiting": (2, [], operation(protocol.get, at_once)),
    "close": (2, [b"a"], CLOSE),
    "get of many": (2, [b"a", b"b"], operation(protocol.get_many, FOR_EVER, 2)),
}


def deaths(victim: str) -> Iterator[tuple[Simulation, Actor]]:
    """A client that died after each of its steps, the last of them included."""
    bound, values, what = VICTIMS[victim]
    steps = 1
    while True:
        simulation = queue(lambda _: 0, bound, *values)
        actor = simulation.actor("victim").will(what)
        while not actor.is_done and actor.can_go_on and actor.steps < steps:
            simulation.step()
        over = actor.is_done or actor.steps < steps
        actor.kill()
        yield simulation, actor
        if over:
            return
        steps += 1


@pytest.mark.parametrize("victim", VICTIMS)
def test_after_a_death_at_any_moment_a_repair_without_force_restores_the_queue(victim: str) -> None:
    _, values, _ = VICTIMS[victim]
    count = 0
    for simulation, _ in deaths(victim):
        count += 1
        simulation.pass_time(100)
        simulation.do(operation(protocol.repair))
        left = holds(simulation)
        whole = [*values, *([b"v"] if "put" in victim else [])]
        assert left in ([*values], whole) or (
            "get" in victim and left == values[2 if "many" in victim else 1 :]
        )
        consumer = simulation.actor("next").will(*[operation(protocol.get, at_once)] * (len(left) + 1))
        simulation.run()
        assert consumer.results[:-1] == left
        assert isinstance(consumer.results[-1], QueueEmptyError | QueueClosedError)
    assert count > 1


RECEIVE = operation(protocol.receive, FOR_EVER)


@pytest.mark.parametrize("done", [True, False])
def test_after_a_death_at_any_moment_of_a_reliable_get_no_message_is_gone(done: bool) -> None:
    steps, over = 1, False
    while not over:
        simulation = queue(lambda _: 0, 2, b"a", b"b")
        actor = simulation.actor("victim").will(RECEIVE, operation(protocol.settle, done))
        while not actor.is_done and actor.can_go_on and actor.steps < steps:
            simulation.step()
        over = actor.is_done
        actor.kill()
        simulation.pass_time(100)
        simulation.do(operation(protocol.repair))
        acknowledged = simulation.ask("GET", simulation.keys.consumed_messages) == b"1"
        assert acknowledged or not (over and done)
        assert holds(simulation) == ([b"b"] if acknowledged else [b"a", b"b"])
        assert simulation.ask("LLEN", simulation.keys.unacked) == 0
        steps += 1
    assert steps > 4


def test_every_interleaving_of_a_reliable_get_and_a_put_that_waits() -> None:
    def run(choose: Choose) -> None:
        simulation = queue(choose, 1, b"a")
        simulation.actor("p").will(put(b"b"))
        simulation.actor("c").will(RECEIVE, operation(protocol.settle, True))
        simulation.run()
        assert holds(simulation) == [b"b"]

    assert every_run(run) > 10


@pytest.mark.parametrize("bound", [1, 2, 3, 4, 0])
@pytest.mark.parametrize("seed", range(10))
def test_runs_of_puts_and_gets_keep_the_order(bound: int, seed: int) -> None:
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


@pytest.mark.parametrize("victim", ["put that waits", "get that waits"])
def test_who_is_stopped_gives_everything_back(victim: str) -> None:
    bound, values, what = VICTIMS[victim]
    simulation = queue(lambda _: 0, bound, *values)
    actor = simulation.actor("victim").will(what)
    while actor.can_go_on:
        simulation.step()
    wish = RuntimeError("enough")
    actor.stop(wish)
    simulation.run()
    assert actor.results == [wish]
    assert holds(simulation) == values


def test_a_run_that_never_ends_is_told() -> None:
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
