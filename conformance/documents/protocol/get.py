"""Get, waiting and not."""

from __future__ import annotations

from pressure import QueueClosedError, QueueEmptyError, QueueInUseError

from ...judging.environment import Environment, expect, expect_error
from ..large import LARGE, gist
from ..registry import check
from ..state import (
    CONSUMER,
    expect_named,
    expect_no_queue,
    expect_roles_free,
    filled,
    full,
    held,
    length,
    number,
    values,
)
from . import both, later


@both("get.needs-queue", "Get")
def needs_queue(env: Environment) -> None:
    """To get from a queue that does not exist is an error, and leaves no key."""
    expect_no_queue(env, lambda queue: queue.get(), "get from")


@both("get.waits-for-role", "Get")
def waits_for_role(env: Environment) -> None:
    """While another client is the consumer a Get waits or, its time over, is an error; it takes nothing."""
    queue = filled(env, b"v")
    with held(env, CONSUMER):
        with expect_error(QueueInUseError, "get with a timeout while the role is held"):
            queue.get(timeout=0.05)
        got = env.start_blocked(queue.get)
        expect(values(env), [b"v"], "what is there while the role is held")
    expect(got.finish("get when the role is free again"), b"v", "what is got then")
    expect_roles_free(env)


@both("get.takes-role", "Get")
def takes_role(env: Environment) -> None:
    """A Get takes the element of consumer_free while it works."""
    queue = env.created()
    got = env.start_blocked(queue.get)
    expect(length(env, CONSUMER), 0, "elements of consumer_free while a Get waits")
    env.redis.lpush(env.queue_key(), "v")
    expect(got.finish("get when there is a value"), b"v", "what is got")
    expect_roles_free(env)


@both("get.names-consumer", "Get")
def names_consumer(env: Environment) -> None:
    """A Get leaves its client's identifier as the consumer."""
    expect_named(env, ":consumer", lambda queue: queue.get())


@both("get.pops-right", "Get")
def pops_right(env: Environment) -> None:
    """The oldest value comes out first, byte for byte."""
    payload = bytes(range(256)) + b"\r\n*-1\r\n"
    queue = env.created()
    env.redis.lpush(env.queue_key(), payload, b"", b"younger")
    expect([queue.get(), queue.get()], [payload, b""], "what is got")
    expect(values(env), [b"younger"], "what is left")


@check("get.pops-right")
def pops_right_after_waiting(env: Environment) -> None:
    got = env.start_blocked(env.created().get)
    env.redis.lpush(env.queue_key(), "older", "younger")
    expect(got.finish("get when there are values"), b"older", "what is got")
    expect(values(env), [b"younger"], "what is left")


@both("get.waits-for-value", "Get")
def waits_for_value(env: Environment) -> None:
    """A Get from an empty open queue waits until there is a value."""
    queue = env.created()
    got = env.start_blocked(queue.get)
    env.start(lambda: env.queue().put(b"v")).finish("a put while a Get waits")
    expect(got.finish("get when there is a value"), b"v", "what is got")
    expect_roles_free(env)


@both("get.wakes-at-close", "Get")
def wakes_at_close(env: Environment) -> None:
    """A Get that waits hears of a close."""
    queue = env.created()
    got = env.start_blocked(queue.get)
    env.queue().shutdown()
    got.expect_error(QueueClosedError, "a Get that waits when the queue is closed")
    expect_roles_free(env)


@both("get.gives-up", "Get")
def gives_up(env: Environment) -> None:
    """A Get that gives up waiting gives the role back."""
    queue = env.created()
    with expect_error(QueueEmptyError, "get with a timeout from an empty queue"):
        queue.get(timeout=0.05)
    expect_roles_free(env)


@both("get.refills", "Get")
def refills(env: Environment) -> None:
    """After a Get that leaves room not_full has exactly one element."""
    queue = full(env)
    queue.get()
    expect(length(env, ":not_full"), 1, "elements of not_full after a Get made room")
    queue.get()
    expect(length(env, ":not_full"), 1, "elements of not_full after another")


@check("get.refills")
def refills_after_a_wait_without_a_bound(env: Environment) -> None:
    queue = env.created()
    env.redis.delete(env.queue_key(":not_full"))
    got = env.start_blocked(queue.get)
    env.redis.lpush(env.queue_key(), "v")
    got.finish("get when there is a value")
    expect(length(env, ":not_full"), 1, "elements of not_full, which another client had emptied")


@both("get.wakes-producer", "Get")
def wakes_producer(env: Environment) -> None:
    """A Put that waits for room goes on when a Get made some."""
    queue = full(env)
    put = env.start_blocked(lambda: env.queue().put(b"last"))
    expect(queue.get(), b"0", "what is got")
    put.finish("a Put that waited for room")
    expect(values(env), [b"1", b"last"], "what is there then")


@later("get.over-full", "Get")
def over_full(env: Environment) -> None:
    """From an over-filled queue nothing is added to not_full until there is room below the bound."""
    queue = full(env)
    for _ in range(2):
        queue.put(b"more", overfill=True)
    seen = []
    for _ in range(3):
        queue.get()
        seen.append((queue.length(), length(env, ":not_full")))
    expect(seen, [(3, 0), (2, 0), (1, 1)], "length and elements of not_full after each Get")


@both("get.counts-message", "Get")
def counts_message(env: Environment) -> None:
    """A Get adds one to the messages consumed."""
    queue = filled(env, b"a", b"b")
    for wanted in (1, 2):
        queue.get()
        expect(number(env, "consumed_messages"), wanted, "messages consumed")


@both("get.counts-bytes", "Get", level="may")
def counts_bytes(env: Environment) -> None:
    """A Get may add the value's length to the bytes consumed."""
    queue = filled(env, "für".encode(), b"", b"\x00" * 1000)
    for _ in range(3):
        queue.get()
    expect(number(env, "consumed_bytes"), 1004, "bytes consumed")


@both("get.gives-role-back", "Get")
def gives_role_back(env: Environment) -> None:
    """A Get gives the consumer role back."""
    queue = filled(env, b"a", b"b")
    for _ in range(2):
        queue.get()
        expect_roles_free(env)


@both("get.drains-closed", "Get")
def drains_closed(env: Environment) -> None:
    """From a closed queue what is left is delivered, and then it is an error."""
    queue = filled(env, b"a", b"b")
    queue.shutdown()
    expect([queue.get(), queue.get()], [b"a", b"b"], "what is got from a closed queue")
    env.start(queue.get).expect_error(QueueClosedError, "get from a closed and empty queue")
    expect_roles_free(env)


@later("get-nowait.gets", "Get (Non-Blocking)")
def nowait_gets(env: Environment) -> None:
    """A Get without waiting gets a value at once when the role is free and a value is there."""
    queue = filled(env, b"v")
    expect(queue.get_nowait(), b"v", "what is got")
    expect(number(env, "consumed_messages"), 1, "messages consumed")
    expect_roles_free(env)


@later("get-nowait.role-taken", "Get (Non-Blocking)")
def nowait_role_taken(env: Environment) -> None:
    """A Get without waiting is an error at once and takes nothing while another client is the consumer."""
    queue = filled(env, b"v")
    with held(env, CONSUMER):
        env.start(queue.get_nowait).expect_error(QueueInUseError, "get_nowait while the role is held")
    expect(values(env), [b"v"], "what is there")
    expect_roles_free(env)


@later("get-nowait.empty", "Get (Non-Blocking)")
def nowait_empty(env: Environment) -> None:
    """A Get without waiting from an empty open queue is an error at once, and the role goes back."""
    queue = env.created()
    env.start(queue.get_nowait).expect_error(QueueEmptyError, "get_nowait from an empty queue")
    expect_roles_free(env)


@later("get-nowait.closed", "Get (Non-Blocking)")
def nowait_closed(env: Environment) -> None:
    """A Get without waiting from a closed and empty queue is an error."""
    queue = env.created()
    queue.shutdown()
    env.start(queue.get_nowait).expect_error(QueueClosedError, "get_nowait from a closed and empty queue")
    expect_roles_free(env)


@later("get-nowait.needs-queue", "Get (Non-Blocking)")
def nowait_needs_queue(env: Environment) -> None:
    """A Get without waiting from a queue that does not exist is an error."""
    expect_no_queue(env, lambda queue: queue.get_nowait(), "get_nowait from")


@later("get-nowait.names-consumer", "Get (Non-Blocking)")
def get_names_consumer(env: Environment) -> None:
    """A Get without waiting leaves its client's identifier as the consumer."""
    expect_named(env, ":consumer", lambda queue: queue.get_nowait())


@later("get-nowait.counts-bytes", "Get (Non-Blocking)", level="may")
def get_counts_bytes(env: Environment) -> None:
    """A Get without waiting may add the value's length to the bytes consumed."""
    queue = filled(env, "für".encode(), b"\x00" * 10)
    for _ in range(2):
        queue.get_nowait()
    expect(number(env, "consumed_bytes"), 14, "bytes consumed")


@later("get-nowait.refills", "Get (Non-Blocking)")
def get_refills(env: Environment) -> None:
    """After a Get without waiting not_full has exactly one element if there is room below the bound; else none is added."""
    queue = env.created(2)
    for value in (b"1", b"2"):
        queue.put(value)
    queue.put(b"3", overfill=True)
    for tokens in (0, 1, 1):
        queue.get_nowait()
        expect((length(env, ":not_full"), len(values(env)) <= 2), (tokens, True), "elements of not_full")


@both("get.keeps-trying", "Get", level="should")
def get_keeps_trying(env: Environment) -> None:
    """While another client is the consumer a Get should try on until its time is over."""
    queue = filled(env, b"v")
    with held(env, CONSUMER):
        got = env.start_blocked(lambda: queue.get(timeout=20))
    expect(got.finish("a Get with a timeout when the role is free again"), b"v", "what is got then")
    expect_roles_free(env)


@check("get.pops-right")
def large_messages(env: Environment) -> None:
    queue = env.created(len(LARGE))
    for value in LARGE:
        queue.put(value)
    expect(list(map(gist, values(env))), list(map(gist, LARGE)), "what is stored")
    for value in LARGE:
        expect(gist(queue.get()), gist(value), f"what is got of {gist(value)}")
    expect((values(env), length(env, ":not_full")), ([], 1), "what is left, and the elements of not_full")
    expect_roles_free(env)


@check("get.waits-for-value")
def get_waits_for_a_large_message(env: Environment) -> None:
    queue = env.created()
    got = env.start_blocked(queue.get)
    env.redis.lpush(env.queue_key(), LARGE[1])
    expect(gist(got.finish("get when there is a value")), gist(LARGE[1]), "what is got")
    expect_roles_free(env)
