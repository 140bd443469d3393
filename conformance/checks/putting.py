"""Put, waiting and not."""

from __future__ import annotations

from pressure import QueueClosedError, QueueDoesNotExistError, QueueFullError, QueueInUseError

from ..judging.environment import Environment, Judged, expect, expect_error
from .registry import check
from .state import PRODUCER, count, expect_roles_free, held, length, number, text, values


def full(env: Environment, bound: int = 2) -> Judged:
    """A client of a queue that is full."""
    queue = env.created(bound)
    for place in range(bound):
        queue.put(b"%d" % place)
    return queue


@check("put.needs-queue")
def needs_queue(env: Environment) -> None:
    with expect_error(QueueDoesNotExistError, "put to no queue"):
        env.queue().put(b"v")
    expect(count(env), 0, "keys that this left")


@check("put.refuses-closed")
def refuses_closed(env: Environment) -> None:
    queue = env.created()
    queue.shutdown()
    with expect_error(QueueClosedError, "put to a closed queue"):
        queue.put(b"v")
    expect((values(env), number(env, "produced_messages")), ([], 0), "what is stored and counted")
    expect_roles_free(env)


@check("put.waits-for-role")
def waits_for_role(env: Environment) -> None:
    queue = env.created()
    with held(env, PRODUCER):
        with expect_error(QueueInUseError, "put with a timeout while the role is held"):
            queue.put(b"v", timeout=0.05)
        put = env.start(lambda: queue.put(b"v"))
        env.until_blocked(1)
        expect(values(env), [], "what is stored while the role is held")
    put.finish("put when the role is free again")
    expect(values(env), [b"v"], "what is stored then")
    expect_roles_free(env)


@check("put.takes-role")
def takes_role(env: Environment) -> None:
    queue = full(env, 1)
    put = env.start(lambda: queue.put(b"v"))
    env.until_blocked(1)
    expect(length(env, PRODUCER), 0, "elements of producer_free while a Put waits for room")
    env.redis.rpop(env.queue_key())
    env.redis.lpush(env.queue_key(":not_full"), "0")
    put.finish("put when there is room")
    expect_roles_free(env)


@check("put.names-producer")
def names_producer(env: Environment) -> None:
    queue = env.created()
    env.redis.set(env.queue_key(":producer"), "somebody before")
    queue.put(b"v")
    expect(text(env, ":producer") not in {None, b"somebody before"}, True, "the producer is named")


@check("put.waits-for-room")
def waits_for_room(env: Environment) -> None:
    queue = full(env)
    put = env.start(lambda: queue.put(b"last"))
    env.until_blocked(1)
    expect(values(env), [b"0", b"1"], "what is stored while the queue is full")
    env.redis.rpop(env.queue_key())
    env.redis.lpush(env.queue_key(":not_full"), "0")
    put.finish("put when not_full has an element")
    expect(values(env), [b"1", b"last"], "what is stored then")


@check("put.gives-up")
def gives_up(env: Environment) -> None:
    queue = full(env)
    with expect_error(QueueFullError, "put with a timeout to a full queue"):
        queue.put(b"v", timeout=0.05)
    expect((values(env), number(env, "produced_messages")), ([b"0", b"1"], 2), "what is stored and counted")
    expect_roles_free(env)


@check("put.pushes-left")
def pushes_left(env: Environment) -> None:
    queue = env.created()
    env.redis.lpush(env.queue_key(), "before")
    payload = bytes(range(256)) + b"\r\n$-1\r\n"
    queue.put(payload)
    expect(env.redis.lrange(env.queue_key(), 0, -1), [payload, b"before"], "the list from its left")


@check("put.counts-message")
def counts_message(env: Environment) -> None:
    queue = env.created()
    for wanted in (1, 2, 3):
        queue.put(b"v")
        expect(number(env, "produced_messages"), wanted, "messages produced")


@check("put.counts-bytes")
def counts_bytes(env: Environment) -> None:
    queue = env.created()
    for value in (b"", b"four", b"\x00" * 1000):
        queue.put(value)
    expect(number(env, "produced_bytes"), 1004, "bytes produced")


@check("put.refills-below-bound")
def refills_below_bound(env: Environment) -> None:
    queue = env.created(3)
    for _ in range(2):
        queue.put(b"v")
        expect(length(env, ":not_full"), 1, "elements of not_full below the bound")


@check("put.refills-without-bound")
def refills_without_bound(env: Environment) -> None:
    queue = env.created(0)
    for _ in range(5):
        queue.put(b"v")
        expect(length(env, ":not_full"), 1, "elements of not_full without a bound")


@check("put.leaves-full")
def leaves_full(env: Environment) -> None:
    for bound in (1, 2, 5):
        queue = full(env, bound)
        expect(length(env, ":not_full"), 0, f"elements of not_full with {bound} of {bound}")
        queue.delete()


@check("put.trims-not-full")
def trims_not_full(env: Environment) -> None:
    queue = env.created(5)
    env.redis.lpush(env.queue_key(":not_full"), "more", "and more")
    queue.put(b"v")
    expect(length(env, ":not_full"), 1, "elements of not_full")


@check("put.gives-role-back")
def gives_role_back(env: Environment) -> None:
    queue = env.created()
    for _ in range(3):
        queue.put(b"v")
        expect_roles_free(env)


@check("put.overfills")
def overfills(env: Environment) -> None:
    queue = full(env)
    put = env.start(lambda: queue.put(b"one too many", overfill=True))
    put.finish("an over-filling put")
    expect(values(env), [b"0", b"1", b"one too many"], "what is stored")
    expect(length(env, ":not_full"), 0, "elements of not_full")
    expect_roles_free(env)


# Without waiting


@check("put-nowait.puts")
def nowait_puts(env: Environment) -> None:
    queue = env.created(1)
    queue.put_nowait(b"v")
    expect(
        (values(env), number(env, "produced_messages"), length(env, ":not_full")),
        ([b"v"], 1, 0),
        "the effects",
    )
    expect_roles_free(env)


@check("put-nowait.role-taken")
def nowait_role_taken(env: Environment) -> None:
    queue = env.created()
    with held(env, PRODUCER), expect_error(QueueInUseError, "put_nowait while the role is held"):
        env.start(lambda: queue.put_nowait(b"v")).finish("put_nowait while the role is held")
    expect(values(env), [], "what is stored")
    expect_roles_free(env)


@check("put-nowait.full")
def nowait_full(env: Environment) -> None:
    queue = full(env)
    with expect_error(QueueFullError, "put_nowait to a full queue"):
        env.start(lambda: queue.put_nowait(b"v")).finish("put_nowait to a full queue")
    expect(values(env), [b"0", b"1"], "what is stored")
    expect_roles_free(env)


@check("put-nowait.closed")
def nowait_closed(env: Environment) -> None:
    queue = env.created()
    queue.shutdown()
    with expect_error(QueueClosedError, "put_nowait to a closed queue"):
        queue.put_nowait(b"v")
    expect_roles_free(env)


@check("put-nowait.needs-queue")
def nowait_needs_queue(env: Environment) -> None:
    with expect_error(QueueDoesNotExistError, "put_nowait to no queue"):
        env.queue().put_nowait(b"v")
    expect(count(env), 0, "keys that this left")
