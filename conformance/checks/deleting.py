"""Delete, and the promises that the whole of a queue keeps."""

from __future__ import annotations

from concurrent.futures import wait

from pressure import QueueClosedError, QueueDoesNotExistError

from ..judging.environment import Environment, Running, expect, expect_error
from .getting import filled
from .putting import full
from .registry import check
from .state import CONSUMER, PRODUCER, count, expect_roles_free, held, length, number, values


@check("delete.needs-queue")
def needs_queue(env: Environment) -> None:
    with expect_error(QueueDoesNotExistError, "delete of no queue"):
        env.start(env.queue().delete).finish("delete of no queue")
    expect(count(env), 0, "keys that this left")


@check("delete.leaves-nothing")
def leaves_nothing(env: Environment) -> None:
    queue = filled(env, b"a", b"b")
    queue.get()
    queue.shutdown()
    queue.delete()
    expect(count(env), 0, "keys that are left")


@check("delete.hides-first")
def hides_first(env: Environment) -> None:
    queue = filled(env, b"v")
    with held(env, CONSUMER):
        delete = env.start(queue.delete)
        env.until(lambda: not env.redis.exists(env.queue_key(":bound")), "was the bound deleted")
        env.until_blocked(1)
        expect(env.queue().exists(), False, "the queue while it is being deleted")
    delete.finish("delete when the role is free again")


@check("delete.fills-not-full", "delete.marks-twice")
def wakes_everybody(env: Environment) -> None:
    queue = full(env, 1)
    lists = (":not_full", ":closed", ":closed")
    waiting = [env.connect() for _ in lists]
    for connection, suffix in zip(waiting, lists, strict=True):
        connection.send("BRPOP", env.queue_key(suffix), "0")
    env.until_blocked(3)
    with held(env, PRODUCER):
        delete = env.start(queue.delete)
        for connection, suffix in zip(waiting, lists, strict=True):
            expect(
                connection.reply()[:4], b"*2\r\n", f"what a client that waits for {suffix} hears of a Delete"
            )
    delete.finish("delete when the role is free again")
    expect(count(env), 0, "keys that are left")


@check("delete.wakes-producer")
def wakes_producer(env: Environment) -> None:
    queue = full(env)
    put = env.start(lambda: env.queue().put(b"v"))
    env.until_blocked(1)
    env.start(queue.delete).finish("delete while a Put waits for room")
    with expect_error(QueueDoesNotExistError, "a Put that waited for room"):
        put.finish("a Put that waited for room")
    expect(count(env), 0, "keys that are left")


@check("delete.wakes-consumer")
def wakes_consumer(env: Environment) -> None:
    queue = env.created()
    got = env.start(env.queue().get)
    env.until_blocked(1)
    env.start(queue.delete).finish("delete while a Get waits for a value")
    with expect_error(QueueDoesNotExistError, "a Get that waited for a value"):
        got.finish("a Get that waited for a value")
    expect(count(env), 0, "keys that are left")


@check("delete.waits-for-roles")
def waits_for_roles(env: Environment) -> None:
    for role in (PRODUCER, CONSUMER):
        queue = filled(env, b"v")
        with held(env, role):
            delete = env.start(queue.delete)
            env.until_blocked(1)
            expect(delete.done(), False, f"delete while {role} is held is done")
        delete.finish(f"delete when {role} is free again")
        expect(count(env), 0, "keys that are left")


@check("delete.in-order")
def in_order(env: Environment) -> None:
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


@check("delete.then-create")
def then_create(env: Environment) -> None:
    queue = filled(env, b"v")
    queue.shutdown()
    queue.delete()
    queue.create(2)
    expect((queue.length(), queue.closed(), number(env, "produced_messages")), (0, False, 0), "the new queue")
    queue.put(b"new")
    expect(queue.get(), b"new", "what is got from it")
    expect_roles_free(env)


# The whole


MESSAGES = 200


def produce(env: Environment, messages: list[bytes], *, close: bool) -> None:
    queue = env.queue()
    for message in messages:
        queue.put(message)
    if close:
        queue.shutdown()


def consume(env: Environment, count: int) -> list[bytes]:
    queue = env.queue()
    return [queue.get() for _ in range(count)]


@check("queue.fifo")
def fifo(env: Environment) -> None:
    env.created(10)
    sent = [b"%d" % number for number in range(MESSAGES)]
    got = env.start(lambda: consume(env, MESSAGES))
    produce(env, sent, close=True)
    expect(got.finish("a consumer of a bounded queue"), sent, "what is got")


@check("queue.paradigm")
def paradigm(env: Environment) -> None:
    producer, consumer = env.queue(), env.queue()
    producer.create(2)
    put = env.start(lambda: produce(env, [b"1", b"2", b"3"], close=True))
    expect([consumer.get() for _ in range(3)], [b"1", b"2", b"3"], "what is got")
    put.finish("a producer that closes")
    with expect_error(QueueClosedError, "get when all has been read"):
        consumer.get()
    consumer.delete()
    expect(count(env), 0, "keys that are left")


@check("queue.bounded")
def bounded(env: Environment) -> None:
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


@check("queue.synchronized")
def synchronized(env: Environment) -> None:
    queue = env.created(2)
    producing = env.start(lambda: produce(env, [b"1", b"2", b"3"], close=False))
    env.until_blocked(1)
    expect((values(env), producing.done()), ([b"1", b"2"], False), "what a producer has done that must wait")
    queue.get()
    producing.finish("a producer that waited")


@check("queue.exclusive")
def exclusive(env: Environment) -> None:
    env.created(4)
    share = [[b"%d:%d" % (client, place) for place in range(25)] for client in range(4)]
    producers = [env.start(lambda mine=mine: produce(env, mine, close=False)) for mine in share]  # type: ignore[misc]
    consumers: list[Running[list[bytes]]] = [env.start(lambda: consume(env, 25)) for _ in range(4)]
    wait(producers, timeout=20)
    got = [value for each in consumers for value in each.finish("a consumer among several")]
    expect(sorted(got), sorted(sum(share, [])), "what all consumers got")  # noqa: RUF017
    expect((number(env, "produced_messages"), number(env, "consumed_messages")), (100, 100), "the counters")
    expect((length(env, ""), length(env, ":not_full")), (0, 1), "length and elements of not_full")
    expect_roles_free(env)
