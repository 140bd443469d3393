"""The cost of commands of reliable queues, in bytecode instructions, comparisons and bytes."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import encode
from miniredis.engine.commands.rqueues.rqueues import window
from miniredis.engine.values.rqueues import RQueue
from tests.tools.instructions.counting import Counter

from ..engine.test_engine import World

NOW = 1_700_000_000_000


class Place:
    """A client of an engine, and what its requests cost."""

    def __init__(self, undelivered: int, delivered: int = 0) -> None:
        self.world = World()
        self.client = self.world.client()
        self.ask("MQ.PUSH", "q", *["x"] * (delivered + undelivered or 1))
        if delivered:
            self.ask("MQ.POP", delivered, "q")

    def ask(self, *words: Any) -> bytes:
        self.world.engine.receive(self.client, encode(*map(str, words)), self.world.now)
        return self.world.settle()[self.client.id]

    def cost(self, *words: Any) -> int:
        """Of the command alone: to read a long request costs what it costs for any."""
        args = [str(word).encode() for word in words]
        command = self.world.engine.commands.look_up(args)
        assert command is not None
        assert command.handler is not None
        counter = Counter()
        with counter.at_work():
            assert command.handler(self.client, args) is not None
        return counter.count

    @property
    def queue(self) -> RQueue:
        queue = self.world.engine.keyspace.databases[0].values[b"q"]
        assert isinstance(queue, RQueue)
        return queue


def ids(queue: RQueue) -> list[str]:
    return [each.decode() for each in queue.delivered]


def of_push(place: Place, count: int) -> int:
    return place.cost("MQ.PUSH", "q", *["x"] * count)


def of_pop(place: Place, count: int) -> int:
    return place.cost("MQ.POP", count, "q")


def of_ack(place: Place, count: int) -> int:
    return place.cost("MQ.ACK", "q", *ids(place.queue)[-count:])


def of_recover(place: Place, count: int) -> int:
    return place.cost("MQ.RECOVER", "q", count, 0)


COSTS = [of_push, of_pop, of_ack, of_recover]


@pytest.mark.parametrize("cost", COSTS)
def test_the_cost_of_a_command_is_at_most_linear_in_its_elements(cost: Callable[[Place, int], int]) -> None:
    ten = cost(Place(20, 20), 10)
    assert cost(Place(20, 20), 10) == ten
    thousand = cost(Place(2000, 2000), 1000)
    assert thousand <= 100 * ten


@pytest.mark.parametrize("cost", COSTS)
def test_the_cost_of_a_command_does_not_depend_on_the_queue_length(cost: Callable[[Place, int], int]) -> None:
    assert cost(Place(20_000, 20_000), 3) == cost(Place(20, 20), 3)


def test_a_hundred_thousand_messages_can_be_pushed_popped_and_recovered_at_once() -> None:
    """A step that walked through the queue for each element would not come to an end."""
    queue = RQueue()
    queue.push([b"x"] * 100_000, NOW)
    assert len(queue.pop(1 << 62, NOW)) == 100_000
    assert len(queue.recover(1 << 62, 0, NOW)) == 100_000
    assert len(queue.acknowledge(list(queue.delivered))) == 100_000


class Compared(bytes):
    """An id that counts how often it is compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Compared.compared += 1
        return bytes(self) == other

    __hash__ = bytes.__hash__


@pytest.mark.parametrize("place", [0, 10_000, 19_999])
def test_acknowledging_compares_ids_a_constant_number_of_times(place: int) -> None:
    queue = RQueue()
    queue.push([b"x"] * 20_000, NOW)
    queue.pop(20_000, NOW)
    Compared.compared = 0
    assert len(queue.acknowledge([Compared(b"%d-%d" % (NOW, place + 1))])) == 1
    assert Compared.compared < 5


class Walked(list[int]):
    """A line that counts the items that are passed."""

    passed = 0

    def __iter__(self) -> Any:
        return map(self.count_one, list.__iter__(self))

    def __reversed__(self) -> Any:
        return map(self.count_one, list.__reversed__(self))

    def count_one(self, item: int) -> int:
        self.passed += 1
        return item


@pytest.mark.parametrize(
    ("start", "count", "most"), [(0, 3, 3), (50, 3, 53), (-3, 9, 3), (960, 9, 40), (999, 1 << 62, 1)]
)
def test_inspect_walks_to_its_window_from_the_nearer_end(start: int, count: int, most: int) -> None:
    line = Walked(range(1000))
    begin = start % 1000
    assert window(line, start, count) == list(range(begin, min(begin + count, 1000)))
    assert line.passed <= most


def test_the_cost_of_a_push_does_not_depend_on_the_number_of_waiters() -> None:
    def handing_over(waiters: int) -> int:
        place = Place(0)
        place.ask("MQ.POP", 1, "q")
        for _ in range(waiters):
            place.world.ask(place.world.client(), "MQ.POP 1 q BLOCK 0")
        return place.cost("MQ.PUSH", "q", "x")

    assert handing_over(10) == handing_over(1000)


# Memory


def test_a_large_count_takes_no_memory() -> None:
    place = Place(3, 3)
    tracemalloc.start()
    for words in (
        ("MQ.INSPECT", "q", 0, (1 << 63) - 1),
        ("MQ.INSPECT", "q", "PENDING", -1, (1 << 63) - 1),
        ("MQ.RECOVER", "q", (1 << 63) - 1, 0),
        ("MQ.POP", (1 << 63) - 1, "q", "KEYS", (1 << 63) - 1, "r"),
        ("MQ.POP", (1 << 63) - 1, "q", "BLOCK", (1 << 63) - 1),
    ):
        place.ask(*words)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_acknowledging_frees_memory() -> None:
    world = World()
    a = world.client()
    world.ask(a, "MQ.PUSH q x", "MQ.POP 1 q")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(20):
        world.engine.receive(
            a, encode("MQ.PUSH", "q", *[str(number) * 300 for number in range(500)]), world.now
        )
        assert world.settle()
    held = tracemalloc.get_traced_memory()[0] - before
    assert held > 10_000 * 600
    popped = world.ask(a, "MQ.POP 10000 q")
    acknowledged = [line for line in popped.split(b"\r\n") if line.startswith(b"%d-" % NOW)]
    del popped
    held_delivered = tracemalloc.get_traced_memory()[0] - before
    assert held_delivered > 10_000 * 600
    for at in range(0, 10_000, 1000):
        world.ask(a, "MQ.ACK q " + " ".join(each.decode() for each in acknowledged[at : at + 1000]))
    del acknowledged
    left = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert left < held / 20


def test_the_table_of_delivered_messages_shrinks_while_some_are_unacknowledged() -> None:
    queue = RQueue()
    queue.push([b"x"] * 50_000, NOW)
    queue.pop(50_000, NOW)
    full = sys.getsizeof(queue.delivered)
    for each in list(queue.delivered)[:-100]:
        queue.acknowledge([each])
    assert sys.getsizeof(queue.delivered) < full / 20
    assert [each for each, _ in queue.recover(200, 0, NOW)] == [
        b"%d-%d" % (NOW, number) for number in range(49_901, 50_001)
    ]


def usage(world: World, key: str) -> int:
    return int(world.ask(world.client(), f"MEMORY USAGE {key} SAMPLES 0")[1:])


def test_memory_usage_counts_payloads_until_they_are_acknowledged() -> None:
    world = World()
    a = world.client()
    world.ask(a, "MQ.PUSH q x")
    one = usage(world, "q")
    world.ask(a, "MQ.PUSH q " + "x" * 1000)
    two = usage(world, "q")
    assert one + 1000 < two < one + 1200
    world.ask(a, "MQ.POP 2 q")
    assert usage(world, "q") == two
    world.ask(a, f"MQ.ACK q {NOW}-1 {NOW}-2")
    assert 0 < usage(world, "q") < one
