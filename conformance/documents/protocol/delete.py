"""Delete."""

from __future__ import annotations

from pressure import QueueDoesNotExistError

from ...clients.judged import Judged
from ...judging.environment import Environment, expect
from ..state import (
    CONSUMER,
    PRODUCER,
    count,
    expect_no_queue,
    expect_roles_free,
    filled,
    full,
    held,
    length,
    number,
    values,
)
from . import both


@both("delete.needs-queue", "Delete")
def needs_queue(env: Environment) -> None:
    """To delete a queue that does not exist is an error."""
    expect_no_queue(env, lambda queue: queue.delete(), "delete of")


@both("delete.leaves-nothing", "Delete")
def leaves_nothing(env: Environment) -> None:
    """After a Delete none of the twelve keys is left."""
    queue = filled(env, b"a", b"b")
    queue.get()
    queue.shutdown()
    queue.delete()
    expect(count(env), 0, "keys that are left")


@both("delete.hides-first", "Delete")
def hides_first(env: Environment) -> None:
    """The bound goes first: from then on the queue does not exist."""
    queue = filled(env, b"v")
    with held(env, CONSUMER):
        delete = env.start(queue.delete)
        env.until(lambda: not env.redis.exists(env.queue_key(":bound")), "was the bound deleted")
        env.until_blocked(1)
        expect(env.queue().exists(), False, "the queue while it is being deleted")
    delete.finish("delete when the role is free again")


@both("delete.fills-not-full", "Delete")
def fills_not_full(env: Environment) -> None:
    """A Delete puts an element into not_full, so that whoever waits for room is woken."""
    expect_heard(env, full(env, 1), ":not_full")


@both("delete.marks-twice", "Delete")
def marks_twice(env: Environment) -> None:
    """A Delete puts two elements into the closed list, so that a Get and whoever else waits for a close are
    woken."""
    expect_heard(env, env.created(), ":closed", ":closed")


def expect_heard(env: Environment, queue: Judged, *suffixes: str) -> None:
    """Fails unless a Delete gives an element to each client that waits for one of these lists."""
    waiting = [env.connect() for _ in suffixes]
    for connection, suffix in zip(waiting, suffixes, strict=True):
        connection.send("BRPOP", env.queue_key(suffix), "0")
    env.until_blocked(len(waiting))
    with held(env, PRODUCER):
        delete = env.start(queue.delete)
        for connection, suffix in zip(waiting, suffixes, strict=True):
            heard = connection.reply()[:4]
            expect(heard, b"*2\r\n", f"what a client that waits for {suffix} hears of a Delete")
    delete.finish("delete when the role is free again")
    expect(count(env), 0, "keys that are left")


@both("delete.wakes-producer", "Delete")
def wakes_producer(env: Environment) -> None:
    """A Put that waits for room ends with an error."""
    queue = full(env)
    put = env.start_blocked(lambda: env.queue().put(b"v"))
    env.start(queue.delete).finish("delete while a Put waits for room")
    put.expect_error(QueueDoesNotExistError, "a Put that waited for room")
    expect(count(env), 0, "keys that are left")


@both("delete.wakes-consumer", "Delete")
def wakes_consumer(env: Environment) -> None:
    """A Get that waits for a value ends with an error."""
    queue = env.created()
    got = env.start_blocked(env.queue().get)
    env.start(queue.delete).finish("delete while a Get waits for a value")
    got.expect_error(QueueDoesNotExistError, "a Get that waited for a value")
    expect(count(env), 0, "keys that are left")


@both("delete.waits-for-roles", "Delete")
def waits_for_roles(env: Environment) -> None:
    """A Delete waits until both roles are free."""
    for role in (PRODUCER, CONSUMER):
        queue = filled(env, b"v")
        with held(env, role):
            delete = env.start_blocked(queue.delete)
            expect(delete.done(), False, f"delete while {role} is held is done")
        delete.finish(f"delete when {role} is free again")
        expect(count(env), 0, "keys that are left")


@both("delete.in-order", "Delete")
def in_order(env: Environment) -> None:
    """The bound goes, then the waiting are woken, then the producer's keys go when that role is free,
    then the consumer's, and the rest last."""
    queue = filled(env, b"v")
    producer = [env.queue_key(":producer"), env.queue_key(PRODUCER)]
    with held(env, PRODUCER):
        delete = env.start(queue.delete)
        env.until(lambda: length(env, ":closed") > 0, "was the queue marked as closed")
        expect(env.redis.exists(env.queue_key(":bound")), 0, "the bound, which goes before that")
        env.redis.rpop(env.queue_key(CONSUMER))
    env.until(
        lambda: not env.redis.exists(*producer), "did the producer's keys go while a consumer is at work"
    )
    left = (values(env), length(env, ":closed") > 0, number(env, "produced_messages"))
    expect(left, ([b"v"], True, 1), "values, marks and counters until the consumer is done")
    env.redis.lpush(env.queue_key(CONSUMER), "back")
    delete.finish("delete when both roles are free")
    expect(count(env), 0, "keys that are left")


@both("delete.then-create", "Delete")
def then_create(env: Environment) -> None:
    """A deleted queue can be created anew, open and empty."""
    queue = filled(env, b"v")
    queue.shutdown()
    queue.delete()
    queue.create(2)
    expect((queue.length(), queue.closed(), number(env, "produced_messages")), (0, False, 0), "the new queue")
    queue.put(b"new")
    expect(queue.get(), b"new", "what is got from it")
    expect_roles_free(env)
