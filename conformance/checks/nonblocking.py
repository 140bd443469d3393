"""Put and Get without waiting do all that those do that wait, and Put and Get that wait try until they may."""

from __future__ import annotations

from ..judging.environment import Environment, expect
from .getting import filled
from .registry import check
from .state import CONSUMER, PRODUCER, expect_roles_free, held, length, number, text, values


@check("put-nowait.names-producer")
def put_names_producer(env: Environment) -> None:
    queue = env.created()
    env.redis.set(env.queue_key(":producer"), "somebody before")
    queue.put_nowait(b"v")
    expect(text(env, ":producer") not in {None, b"somebody before"}, True, "the producer is named")


@check("put-nowait.counts-bytes")
def put_counts_bytes(env: Environment) -> None:
    queue = env.created()
    for value in (b"four", b"\x00" * 10):
        queue.put_nowait(value)
    expect(number(env, "produced_bytes"), 14, "bytes produced")


@check("put-nowait.refills")
def put_refills(env: Environment) -> None:
    for bound in (0, 3):
        queue = env.created(bound)
        env.redis.lpush(env.queue_key(":not_full"), "more", "and more")
        for _ in range(2):
            queue.put_nowait(b"v")
            expect(length(env, ":not_full"), 1, f"elements of not_full with room below a bound of {bound}")
        queue.delete()


@check("get-nowait.names-consumer")
def get_names_consumer(env: Environment) -> None:
    queue = filled(env, b"v")
    env.redis.set(env.queue_key(":consumer"), "somebody before")
    queue.get_nowait()
    expect(text(env, ":consumer") not in {None, b"somebody before"}, True, "the consumer is named")


@check("get-nowait.counts-bytes")
def get_counts_bytes(env: Environment) -> None:
    queue = filled(env, b"four", b"\x00" * 10)
    for _ in range(2):
        queue.get_nowait()
    expect(number(env, "consumed_bytes"), 14, "bytes consumed")


@check("get-nowait.refills")
def get_refills(env: Environment) -> None:
    queue = env.created(2)
    for value in (b"1", b"2"):
        queue.put(value)
    queue.put(b"3", overfill=True)
    for tokens in (0, 1, 1):
        queue.get_nowait()
        expect((length(env, ":not_full"), len(values(env)) <= 2), (tokens, True), "elements of not_full")


@check("put.keeps-trying")
def put_keeps_trying(env: Environment) -> None:
    queue = env.created()
    with held(env, PRODUCER):
        put = env.start(lambda: queue.put(b"v", timeout=20))
        env.until_blocked(1)
    put.finish("a Put with a timeout when the role is free again")
    expect(values(env), [b"v"], "what is stored then")
    expect_roles_free(env)


@check("get.keeps-trying")
def get_keeps_trying(env: Environment) -> None:
    queue = filled(env, b"v")
    with held(env, CONSUMER):
        got = env.start(lambda: queue.get(timeout=20))
        env.until_blocked(1)
    expect(got.finish("a Get with a timeout when the role is free again"), b"v", "what is got then")
    expect_roles_free(env)
