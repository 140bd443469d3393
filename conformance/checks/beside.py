"""The client under test beside ours, at either end of a queue or at both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import pressure
from pressure import QueueClosedError

from ..judging.environment import Environment, Judged, expect
from .registry import check
from .state import expect_roles_free, number

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


def put_all(queue: Judged, messages: Iterable[bytes], *, close: bool = True) -> None:
    for message in messages:
        queue.put(message)
    if close:
        queue.shutdown()


def get_some(queue: Judged, count: int) -> list[bytes]:
    return [queue.get() for _ in range(count)]


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


@check("queue.beside-ours")
def puts_to_ours(env: Environment) -> None:
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
        for values in sent:
            expect(
                [each for each in mine if each in values], [each for each in values if each in mine], "order"
            )
    expect_roles_free(env)
