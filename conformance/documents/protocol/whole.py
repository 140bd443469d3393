"""The promises that the whole of a queue keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import pressure
from pressure import QueueClosedError

from ...clients.judged import Judged
from ...judging.environment import Environment, Running, expect, expect_error
from ..registry import check
from ..state import (
    consume,
    count,
    counters,
    expect_roles_free,
    get_some,
    length,
    number,
    produce,
    put_all,
    values,
)
from . import both, later

MESSAGES = 200


@both("queue.fifo", "The pressure Protocol")
def fifo(env: Environment) -> None:
    """Values come out in the order in which they went in, none missing, none twice."""
    env.created(10)
    sent = [b"%d" % number for number in range(MESSAGES)]
    got = env.start(lambda: consume(env, MESSAGES))
    produce(env, sent, close=True)
    expect(got.finish("a consumer of a bounded queue"), sent, "what is got")


@later("queue.paradigm", "Clients", level="may")
def paradigm(env: Environment) -> None:
    """The producer may create and close a queue, and the consumer delete it when all has been read."""
    producer, consumer = env.queue(), env.queue()
    producer.create(2)
    put = env.start(lambda: produce(env, [b"1", b"2", b"3"], close=True))
    expect([consumer.get() for _ in range(3)], [b"1", b"2", b"3"], "what is got")
    put.finish("a producer that closes")
    with expect_error(QueueClosedError, "get when all has been read"):
        consumer.get()
    consumer.delete()
    expect(count(env), 0, "keys that are left")


@both("queue.bounded", "The pressure Protocol")
def bounded(env: Environment) -> None:
    """However many producers there are, a bounded queue that nobody gets from holds its bound and no more."""
    queue = env.created(3)
    producing = [env.start(lambda: produce(env, [b"v"] * 4, close=False)) for _ in range(4)]
    env.until_blocked(4)  # none of them can have put all it has
    for _ in range(3):
        expect(queue.length(), 3, "length of a queue with a bound of 3 that four producers fill")
        queue.get()
        env.until(lambda: queue.length() == 3, "was the room of one Get filled again")
    for _ in range(13):
        queue.get()
    for each in producing:
        each.finish("a producer of a bounded queue")


@both("queue.synchronized", "The pressure Protocol")
def synchronized(env: Environment) -> None:
    """A producer that is faster than its consumer waits for it."""
    queue = env.created(2)
    producing = env.start_blocked(lambda: produce(env, [b"1", b"2", b"3"], close=False))
    expect((values(env), producing.done()), ([b"1", b"2"], False), "what a producer has done that must wait")
    queue.get()
    producing.finish("a producer that waited")


@both("queue.exclusive", "The pressure Protocol")
def exclusive(env: Environment) -> None:
    """However many clients put and get at once, nothing is lost, doubled or miscounted."""
    env.created(4)
    share = [[b"%d:%d" % (client, place) for place in range(25)] for client in range(4)]
    producers = [env.start(lambda mine=mine: produce(env, mine, close=False)) for mine in share]  # type: ignore[misc]
    consumers: list[Running[list[bytes]]] = [env.start(lambda: consume(env, 25)) for _ in range(4)]
    env.until_done([*producers, *consumers], lambda: counters(env))
    got = [value for each in consumers for value in each.finish("a consumer among several")]
    expect(sorted(got), sorted(sum(share, [])), "what all consumers got")  # noqa: RUF017
    expect((number(env, "produced_messages"), number(env, "consumed_messages")), (100, 100), "the counters")
    expect((length(env, ""), length(env, ":not_full")), (0, 1), "length and elements of not_full")
    expect_roles_free(env)


BOUNDS: Final = (1, 10)

SENT: Final = [b"%d" % place for place in range(20)]


@contextmanager
def ours(env: Environment) -> Iterator[Judged]:
    """Our client of the same queue."""
    queue = pressure.Queue("jobs", url=env.address.url, prefix=env.prefix)
    try:
        yield queue
    finally:
        queue.disconnect()


def get_all(queue: Judged) -> list[bytes]:
    """All that comes until the queue is closed and empty."""
    got: list[bytes] = []
    try:
        while True:
            got.append(queue.get())
    except QueueClosedError:
        return got


def goes_through(env: Environment, producer: Judged, consumer: Judged) -> None:
    """Fails unless all that one puts comes to the other in order, and the queue is in order then."""
    put = env.start(lambda: put_all(producer, SENT))
    expect(env.start(lambda: get_all(consumer)).finish("the consumer"), SENT, "what is got")
    put.finish("the producer")
    expect((number(env, "produced_messages"), number(env, "consumed_messages")), (20, 20), "messages counted")
    expect_roles_free(env)
    producer.delete()


@both("queue.beside-ours", "The pressure Protocol")
def puts_to_ours(env: Environment) -> None:
    """Clients that conform share a queue: beside ours, at either end or at both, nothing is lost, doubled
    or out of order."""
    with ours(env) as consumer:
        for bound in BOUNDS:
            goes_through(env, env.created(bound), consumer)


@check("queue.beside-ours")
def gets_from_ours(env: Environment) -> None:
    with ours(env) as producer:
        for bound in BOUNDS:
            producer.create(bound)
            goes_through(env, producer, env.queue())


@check("queue.beside-ours")
def both_at_both_ends(env: Environment) -> None:
    queue = env.created(2)
    with ours(env) as one, ours(env) as other:
        ends = ((queue, env.queue()), (one, other))
        sent = [[b"%d %d" % (place, at) for at in range(10)] for place in range(2)]
        putting = [
            env.start(partial(put_all, end, values, close=False))
            for (end, _), values in zip(ends, sent, strict=True)
        ]
        getting = [env.start(partial(get_some, end, 10)) for _, end in ends]
        got = [each.finish("a consumer") for each in getting]
        for each in putting:
            each.finish("a producer")
    expect(sorted(got[0] + got[1]), sorted(sent[0] + sent[1]), "what both got")
    for mine in got:
        for put in sent:
            expect([each for each in mine if each in put], [each for each in put if each in mine], "order")
    expect_roles_free(env)
