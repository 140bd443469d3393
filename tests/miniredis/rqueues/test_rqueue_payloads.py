"""DUMP and RESTORE of reliable queues between miniredis servers; a real Redis refuses them."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.targets import Address
from conformance.wire import encode
from miniredis.engine.rdb.modules import module_id, text, unsigned
from miniredis.engine.rdb.payload import BadDataError, dump, restore
from miniredis.engine.rdb.reader import length
from miniredis.engine.rdb.rqueues import MODULE_ID
from miniredis.engine.values.rqueues import LARGEST, RQueue
from tests.cases import for_each

from ...sizes import some_size
from ..commands.test_dump import signed
from ..engine.test_engine import BEGINNING, World

NOW = BEGINNING.milliseconds
MAX = (1 << 63) - 1


def content(queue: RQueue) -> object:
    return queue.last, list(queue.undelivered), list(queue.delivered.items())


def some_queue(chance: random.Random, longest: int = 300) -> RQueue:
    queue = RQueue()
    now = NOW
    for _ in range(chance.randrange(30)):
        now += chance.randrange(3)
        kind = chance.randrange(4)
        if kind == 0:
            queue.push([chance.randbytes(some_size(chance, longest) - 1) for _ in range(4)], now)
        elif kind == 1:
            queue.pop(chance.randrange(1, 4), now)
        elif kind == 2:
            queue.recover(chance.randrange(1, 3), 0, now)
        elif queue.delivered:
            queue.acknowledge([chance.choice(list(queue.delivered))])
    return queue


@settings(max_examples=80, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_restored_queue_equals_the_dumped_one(chance: random.Random) -> None:
    queue = some_queue(chance, longest=2000)
    again = restore(dump(queue))
    assert isinstance(again, RQueue)
    assert content(again) == content(queue)
    assert dump(again) == dump(queue)


def test_dump_and_restore_commands_copy_a_queue_and_set_its_time_to_live() -> None:
    world = World()
    a = world.client()
    world.ask(a, "MQ.PUSH q x y", "MQ.POP 1 q")
    payload = world.ask(a, "DUMP q").partition(b"\r\n")[2][:-2]
    for words, reply in (
        (("RESTORE", "q", "0", payload), b"-BUSYKEY Target key name already exists.\r\n"),
        (("RESTORE", "r", "1000", payload), b"+OK\r\n"),
        (("PTTL", "r"), b":1000\r\n"),
        (("DUMP", "r"), b"$%d\r\n%b\r\n" % (len(payload), payload)),
        (("MQ.ACK", "r", f"{NOW}-1"), b"*1\r\n$15\r\n%d-1\r\n" % NOW),
        (("MQ.PUSH", "r", "z"), b"*1\r\n$15\r\n%d-3\r\n" % NOW),
    ):
        world.engine.receive(a, encode(*words), world.now)
        assert world.settle()[a.id] == reply, words


def test_a_real_redis_refuses_the_payload_of_a_queue(real_server: Address) -> None:
    queue = RQueue()
    queue.push([b"x", b"y"], NOW)
    queue.pop(1, NOW)
    with redis.Redis.from_url(real_server.url) as client:
        with pytest.raises(redis.ResponseError, match=r"Bad data format|DUMP payload version"):
            client.restore("q", 0, dump(queue))
        assert client.ping()
        assert not client.exists("q")


def test_module_id_encodes_a_type_name_and_a_version() -> None:
    """As the documentation of Redis's format has it: nine letters of six bits, and ten bits of a version."""
    assert module_id("AAAAAAAAA", 0) == 0
    assert module_id("AAAAAAAAB", 1) == 1 << 10 | 1
    assert module_id("---------", 1023) == sum(62 << 10 + 6 * place for place in range(9)) + 1023
    assert module_id("_________", 1023) == (1 << 64) - 1


# What comes from elsewhere

LAST = unsigned(9) + unsigned(9)
NONE = unsigned(0)
END = length(0)


def message(milliseconds: int, sequence: int) -> bytes:
    return unsigned(milliseconds) + unsigned(sequence) + text(b"x")


def delivery(milliseconds: int, sequence: int, time: int = 5, count: int = 1) -> bytes:
    return message(milliseconds, sequence) + unsigned(time) + unsigned(count)


def payload(*parts: bytes, number: int = MODULE_ID) -> bytes:
    return signed(b"\x07" + length(number) + b"".join(parts))


GOOD = {
    "empty": (LAST, NONE, NONE, END),
    "one of each": (LAST, unsigned(1), message(9, 9), unsigned(1), delivery(9, 8), END),
    "delivered in another order": (LAST, NONE, unsigned(2), delivery(5, 2), delivery(5, 1), END),
    "the largest numbers": (
        unsigned(LARGEST) * 2, unsigned(1), message(LARGEST, LARGEST),
        unsigned(1), delivery(0, 1, MAX, MAX >> 1), END,
    ),
}  # fmt: skip

BAD = {
    "nothing": (),
    "no end": (LAST, NONE, NONE),
    "something else at the end": (LAST, NONE, NONE, length(1)),
    "a string for a number": (text(b"9"), unsigned(9), NONE, NONE, END),
    "a number for a string": (LAST, unsigned(1), unsigned(1) * 3, NONE, END),
    "more messages announced than sent": (LAST, unsigned(LARGEST), message(1, 1), NONE, END),
    "ids that do not rise": (LAST, unsigned(2), message(5, 2), message(5, 1), NONE, END),
    "an id twice": (LAST, unsigned(2), message(5, 1), message(5, 1), NONE, END),
    "an id twice among the delivered": (LAST, NONE, unsigned(2), delivery(5, 1), delivery(5, 1), END),
    "an id both queued and delivered": (LAST, unsigned(1), message(5, 1), unsigned(1), delivery(5, 1), END),
    "delivered before what came earlier": (
        LAST,
        unsigned(1),
        message(5, 1),
        unsigned(1),
        delivery(5, 2),
        END,
    ),
    "an id above the last": (LAST, unsigned(1), message(9, 10), NONE, END),
    "a delivered id above the last": (LAST, NONE, unsigned(1), delivery(10, 1), END),
    "the id zero": (LAST, unsigned(1), message(0, 0), NONE, END),
    "the delivered id zero": (LAST, NONE, unsigned(1), delivery(0, 0), END),
    "delivered no times": (LAST, NONE, unsigned(1), delivery(5, 1, 5, 0), END),
    "delivered too often": (LAST, NONE, unsigned(1), delivery(5, 1, 5, (MAX >> 1) + 1), END),
    "a delivery time that is too large": (LAST, NONE, unsigned(1), delivery(5, 1, MAX + 1), END),
}


@pytest.mark.parametrize("parts", GOOD.values(), ids=GOOD.keys())
def test_a_valid_payload_is_restored(parts: tuple[bytes, ...]) -> None:
    assert isinstance(restore(payload(*parts)), RQueue)


@for_each("parts", BAD.values(), ids=BAD.keys())
def test_an_invalid_payload_is_refused(parts: tuple[bytes, ...]) -> None:
    with pytest.raises(BadDataError):
        restore(payload(*parts))


@pytest.mark.parametrize("number", [module_id("mr-RQUEUE", 2), module_id("Queue-EDU", 0), 0, LARGEST])
def test_a_payload_of_another_module_type_is_refused(number: int) -> None:
    with pytest.raises(BadDataError):
        restore(payload(*GOOD["one of each"], number=number))


def test_a_damaged_queue_payload_is_refused_or_restores_a_usable_queue() -> None:
    chance = random.Random(2)  # noqa: S311
    refused = 0
    for _ in range(800):
        body = bytearray(dump(some_queue(chance))[:-10])
        for _ in range(chance.randrange(1, 4)):
            body[chance.randrange(1, len(body))] = chance.randrange(256)
        try:
            queue = restore(signed(bytes(body)))
        except BadDataError:
            refused += 1
            continue
        assert isinstance(queue, RQueue)
        queue.push([b"x"], NOW)
        popped = queue.pop(1 << 40, NOW)
        assert {each for each, _ in popped} <= set(queue.acknowledge(list(queue.delivered)))
    assert refused > 200


# The last ids

EXHAUSTED = b"-ERR The queue has exhausted the last possible ID, unable to push more messages\r\n"


@pytest.fixture
def restored() -> Callable[[int, int], Callable[..., bytes]]:
    def at(milliseconds: int, sequence: int) -> Callable[..., bytes]:
        """A client of a server with a queue whose last id is this."""
        world = World()
        a = world.client()

        def ask(*words: str | bytes) -> bytes:
            world.engine.receive(a, encode(*words), world.now)
            return world.settle()[a.id]

        last = unsigned(milliseconds) + unsigned(sequence)
        assert ask("RESTORE", "q", "0", payload(last, NONE, NONE, END)) == b"+OK\r\n"
        return ask

    return at


def test_ids_continue_in_the_next_millisecond_when_one_is_exhausted(
    restored: Callable[[int, int], Callable[..., bytes]],
) -> None:
    ask = restored(LARGEST - 1, LARGEST - 1)
    assert ask("MQ.PUSH", "q", "x") == encode(f"{LARGEST - 1}-{LARGEST}")
    assert ask("MQ.PUSH", "q", "y", "z") == encode(f"{LARGEST}-1", f"{LARGEST}-2")


def test_mq_push_fails_and_changes_nothing_when_the_ids_are_exhausted(
    restored: Callable[[int, int], Callable[..., bytes]],
) -> None:
    ask = restored(LARGEST, LARGEST - 2)
    before = ask("DUMP", "q")
    assert ask("MQ.PUSH", "q", "x", "y", "z") == EXHAUSTED
    assert ask("DUMP", "q") == before
    assert ask("MQ.PUSH", "q", "x", "y") == encode(f"{LARGEST}-{LARGEST - 1}", f"{LARGEST}-{LARGEST}")
    assert ask("MQ.PUSH", "q", "z") == EXHAUSTED
    assert ask("MQ.POP", "1", "q") == b"*1\r\n" + encode(f"{LARGEST}-{LARGEST - 1}", "x")
    assert ask("MQ.ACK", "q", f"{LARGEST}-{LARGEST - 1}") == encode(f"{LARGEST}-{LARGEST - 1}")
