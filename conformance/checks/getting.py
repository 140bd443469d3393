"""Get, waiting and not."""

from __future__ import annotations

from pressure import QueueClosedError, QueueDoesNotExistError, QueueEmptyError, QueueInUseError

from ..judging.environment import Environment, Judged, expect, expect_error
from .putting import full
from .registry import check
from .state import CONSUMER, count, expect_roles_free, held, length, number, text, values


def filled(env: Environment, *contents: bytes) -> Judged:
    """A client of a queue with these values in it."""
    queue = env.created()
    for value in contents:
        queue.put(value)
    return queue


@check("get.needs-queue")
def needs_queue(env: Environment) -> None:
    with expect_error(QueueDoesNotExistError, "get from no queue"):
        env.start(env.queue().get).finish("get from no queue")
    expect(count(env), 0, "keys that this left")


@check("get.waits-for-role")
def waits_for_role(env: Environment) -> None:
    queue = filled(env, b"v")
    with held(env, CONSUMER):
        with expect_error(QueueInUseError, "get with a timeout while the role is held"):
            queue.get(timeout=0.05)
        got = env.start(queue.get)
        env.until_blocked(1)
        expect(values(env), [b"v"], "what is there while the role is held")
    expect(got.finish("get when the role is free again"), b"v", "what is got then")
    expect_roles_free(env)


@check("get.takes-role")
def takes_role(env: Environment) -> None:
    queue = env.created()
    got = env.start(queue.get)
    env.until_blocked(1)
    expect(length(env, CONSUMER), 0, "elements of consumer_free while a Get waits")
    env.redis.lpush(env.queue_key(), "v")
    expect(got.finish("get when there is a value"), b"v", "what is got")
    expect_roles_free(env)


@check("get.names-consumer")
def names_consumer(env: Environment) -> None:
    queue = filled(env, b"v")
    env.redis.set(env.queue_key(":consumer"), "somebody before")
    queue.get()
    expect(text(env, ":consumer") not in {None, b"somebody before"}, True, "the consumer is named")


@check("get.pops-right")
def pops_right(env: Environment) -> None:
    payload = bytes(range(256)) + b"\r\n*-1\r\n"
    queue = env.created()
    env.redis.lpush(env.queue_key(), payload, b"", b"younger")
    expect([queue.get(), queue.get()], [payload, b""], "what is got")
    expect(values(env), [b"younger"], "what is left")


@check("get.pops-right")
def pops_right_after_waiting(env: Environment) -> None:
    got = env.start(env.created().get)
    env.until_blocked(1)
    env.redis.lpush(env.queue_key(), "older", "younger")
    expect(got.finish("get when there are values"), b"older", "what is got")
    expect(values(env), [b"younger"], "what is left")


@check("get.waits-for-value")
def waits_for_value(env: Environment) -> None:
    queue = env.created()
    got = env.start(queue.get)
    env.until_blocked(1)
    env.start(lambda: env.queue().put(b"v")).finish("a put while a Get waits")
    expect(got.finish("get when there is a value"), b"v", "what is got")
    expect_roles_free(env)


@check("get.wakes-at-close")
def wakes_at_close(env: Environment) -> None:
    queue = env.created()
    got = env.start(queue.get)
    env.until_blocked(1)
    env.queue().shutdown()
    with expect_error(QueueClosedError, "a Get that waits when the queue is closed"):
        got.finish("a Get that waits when the queue is closed")
    expect_roles_free(env)


@check("get.gives-up")
def gives_up(env: Environment) -> None:
    queue = env.created()
    with expect_error(QueueEmptyError, "get with a timeout from an empty queue"):
        queue.get(timeout=0.05)
    expect_roles_free(env)


@check("get.refills")
def refills(env: Environment) -> None:
    queue = full(env)
    queue.get()
    expect(length(env, ":not_full"), 1, "elements of not_full after a Get made room")
    queue.get()
    expect(length(env, ":not_full"), 1, "elements of not_full after another")


@check("get.wakes-producer")
def wakes_producer(env: Environment) -> None:
    queue = full(env)
    put = env.start(lambda: env.queue().put(b"last"))
    env.until_blocked(1)
    expect(queue.get(), b"0", "what is got")
    put.finish("a Put that waited for room")
    expect(values(env), [b"1", b"last"], "what is there then")


@check("get.over-full")
def over_full(env: Environment) -> None:
    queue = full(env)
    for _ in range(2):
        queue.put(b"more", overfill=True)
    seen = []
    for _ in range(3):
        queue.get()
        seen.append((queue.length(), length(env, ":not_full")))
    expect(seen, [(3, 0), (2, 0), (1, 1)], "length and elements of not_full after each Get")


@check("get.counts-message")
def counts_message(env: Environment) -> None:
    queue = filled(env, b"a", b"b")
    for wanted in (1, 2):
        queue.get()
        expect(number(env, "consumed_messages"), wanted, "messages consumed")


@check("get.counts-bytes")
def counts_bytes(env: Environment) -> None:
    queue = filled(env, b"four", b"", b"\x00" * 1000)
    for _ in range(3):
        queue.get()
    expect(number(env, "consumed_bytes"), 1004, "bytes consumed")


@check("get.gives-role-back")
def gives_role_back(env: Environment) -> None:
    queue = filled(env, b"a", b"b")
    for _ in range(2):
        queue.get()
        expect_roles_free(env)


@check("get.drains-closed")
def drains_closed(env: Environment) -> None:
    queue = filled(env, b"a", b"b")
    queue.shutdown()
    expect([queue.get(), queue.get()], [b"a", b"b"], "what is got from a closed queue")
    with expect_error(QueueClosedError, "get from a closed and empty queue"):
        env.start(queue.get).finish("get from a closed and empty queue")
    expect_roles_free(env)


# Without waiting


@check("get-nowait.gets")
def nowait_gets(env: Environment) -> None:
    queue = filled(env, b"v")
    expect(queue.get_nowait(), b"v", "what is got")
    expect(number(env, "consumed_messages"), 1, "messages consumed")
    expect_roles_free(env)


@check("get-nowait.role-taken")
def nowait_role_taken(env: Environment) -> None:
    queue = filled(env, b"v")
    with held(env, CONSUMER), expect_error(QueueInUseError, "get_nowait while the role is held"):
        env.start(queue.get_nowait).finish("get_nowait while the role is held")
    expect(values(env), [b"v"], "what is there")
    expect_roles_free(env)


@check("get-nowait.empty")
def nowait_empty(env: Environment) -> None:
    queue = env.created()
    with expect_error(QueueEmptyError, "get_nowait from an empty queue"):
        env.start(queue.get_nowait).finish("get_nowait from an empty queue")
    expect_roles_free(env)


@check("get-nowait.closed")
def nowait_closed(env: Environment) -> None:
    queue = env.created()
    queue.shutdown()
    with expect_error(QueueClosedError, "get_nowait from a closed and empty queue"):
        env.start(queue.get_nowait).finish("get_nowait from a closed and empty queue")
    expect_roles_free(env)


@check("get-nowait.needs-queue")
def nowait_needs_queue(env: Environment) -> None:
    with expect_error(QueueDoesNotExistError, "get_nowait from no queue"):
        env.queue().get_nowait()
    expect(count(env), 0, "keys that this left")
