"""Put, waiting and not."""

from __future__ import annotations

from pressure import QueueClosedError, QueueFullError, QueueInUseError

from ...judging.environment import Environment, expect, expect_error
from ..state import (
    PRODUCER,
    expect_named,
    expect_no_queue,
    expect_roles_free,
    full,
    get_some,
    held,
    length,
    number,
    values,
)
from . import both, later


@both("put.needs-queue", "Put")
def needs_queue(env: Environment) -> None:
    """To put to a queue that does not exist is an error, and leaves no key."""
    expect_no_queue(env, lambda queue: queue.put(b"v"), "put to")


@both("put.refuses-closed", "Put")
def refuses_closed(env: Environment) -> None:
    """To put to a closed queue is an error, and stores nothing."""
    queue = env.created()
    queue.shutdown()
    with expect_error(QueueClosedError, "put to a closed queue"):
        queue.put(b"v")
    expect((values(env), number(env, "produced_messages")), ([], 0), "what is stored and counted")
    expect_roles_free(env)


@both("put.waits-for-role", "Put")
def waits_for_role(env: Environment) -> None:
    """While another client is the producer a Put waits or, its time over, is an error; it stores nothing."""
    queue = env.created()
    with held(env, PRODUCER):
        with expect_error(QueueInUseError, "put with a timeout while the role is held"):
            queue.put(b"v", timeout=0.05)
        put = env.start_blocked(lambda: queue.put(b"v"))
        expect(values(env), [], "what is stored while the role is held")
    put.finish("put when the role is free again")
    expect(values(env), [b"v"], "what is stored then")
    expect_roles_free(env)


@both("put.takes-role", "Put")
def takes_role(env: Environment) -> None:
    """A Put takes the element of producer_free while it works."""
    queue = full(env, 1)
    put = env.start_blocked(lambda: queue.put(b"v"))
    expect(length(env, PRODUCER), 0, "elements of producer_free while a Put waits for room")
    env.redis.rpop(env.queue_key())
    env.redis.lpush(env.queue_key(":not_full"), "0")
    put.finish("put when there is room")
    expect_roles_free(env)


@both("put.names-producer", "Put")
def names_producer(env: Environment) -> None:
    """A Put leaves its client's identifier as the producer."""
    expect_named(env, ":producer", lambda queue: queue.put(b"w"))


@both("put.waits-for-room", "Put")
def waits_for_room(env: Environment) -> None:
    """A Put to a full queue waits until not_full has an element."""
    queue = full(env)
    put = env.start_blocked(lambda: queue.put(b"last"))
    expect(values(env), [b"0", b"1"], "what is stored while the queue is full")
    env.redis.rpop(env.queue_key())
    env.redis.lpush(env.queue_key(":not_full"), "0")
    put.finish("put when not_full has an element")
    expect(values(env), [b"1", b"last"], "what is stored then")


@both("put.gives-up", "Put")
def gives_up(env: Environment) -> None:
    """A Put that gives up waiting for room gives the role back."""
    queue = full(env)
    with expect_error(QueueFullError, "put with a timeout to a full queue"):
        queue.put(b"v", timeout=0.05)
    expect((values(env), number(env, "produced_messages")), ([b"0", b"1"], 2), "what is stored and counted")
    expect_roles_free(env)


@both("put.pushes-left", "Put")
def pushes_left(env: Environment) -> None:
    """The value goes in on the left, byte for byte."""
    queue = env.created()
    env.redis.lpush(env.queue_key(), "before")
    payload = bytes(range(256)) + b"\r\n$-1\r\n"
    queue.put(payload)
    expect(env.redis.lrange(env.queue_key(), 0, -1), [payload, b"before"], "the list from its left")


@both("put.counts-message", "Put")
def counts_message(env: Environment) -> None:
    """A Put adds one to the messages produced."""
    queue = env.created()
    for wanted in (1, 2, 3):
        queue.put(b"v")
        expect(number(env, "produced_messages"), wanted, "messages produced")


@both("put.counts-bytes", "Put", level="may")
def counts_bytes(env: Environment) -> None:
    """A Put may add the value's length to the bytes produced."""
    queue = env.created()
    for value in (b"", "für".encode(), b"\x00" * 1000):
        queue.put(value)
    expect(number(env, "produced_bytes"), 1004, "bytes produced")


@both("put.refills-below-bound", "Put")
def refills_below_bound(env: Environment) -> None:
    """After a Put that leaves room, not_full has exactly one element."""
    queue = env.created(3)
    for _ in range(2):
        queue.put(b"v")
        expect(length(env, ":not_full"), 1, "elements of not_full below the bound")


@both("put.refills-without-bound", "Put")
def refills_without_bound(env: Environment) -> None:
    """With a bound of 0 not_full always has an element after a Put."""
    queue = env.created(0)
    for _ in range(5):
        queue.put(b"v")
        expect(length(env, ":not_full"), 1, "elements of not_full without a bound")


@both("put.leaves-full", "Put")
def leaves_full(env: Environment) -> None:
    """After a Put that fills the queue, not_full is empty."""
    for bound in (1, 2, 5):
        queue = full(env, bound)
        expect(length(env, ":not_full"), 0, f"elements of not_full with {bound} of {bound}")
        queue.delete()


@both("put.trims-not-full", "Put")
def trims_not_full(env: Environment) -> None:
    """Whatever others left in not_full, one element is in it after a Put."""
    queue = env.created(5)
    env.redis.lpush(env.queue_key(":not_full"), "more", "and more")
    queue.put(b"v")
    expect(length(env, ":not_full"), 1, "elements of not_full")


@both("put.gives-role-back", "Put")
def gives_role_back(env: Environment) -> None:
    """A Put gives the producer role back."""
    queue = env.created()
    for _ in range(3):
        queue.put(b"v")
        expect_roles_free(env)


@later("put.overfills", "Put", level="may")
def overfills(env: Environment) -> None:
    """A client may put onto a full queue, if it says so."""
    queue = full(env)
    put = env.start(lambda: queue.put(b"one too many", overfill=True))
    put.finish("an over-filling put")
    expect(values(env), [b"0", b"1", b"one too many"], "what is stored")
    expect(length(env, ":not_full"), 0, "elements of not_full")
    expect_roles_free(env)
    get_some(queue, 3)
    queue.put(b"not too many", overfill=True)
    expect(length(env, ":not_full"), 1, "elements of not_full while there is room")


@later("put-nowait.puts", "Put (Non-Blocking)")
def nowait_puts(env: Environment) -> None:
    """A Put without waiting puts at once when the role is free and there is room."""
    queue = env.created(1)
    queue.put_nowait(b"v")
    expect(
        (values(env), number(env, "produced_messages"), length(env, ":not_full")),
        ([b"v"], 1, 0),
        "the effects",
    )
    expect_roles_free(env)


@later("put-nowait.role-taken", "Put (Non-Blocking)")
def nowait_role_taken(env: Environment) -> None:
    """A Put without waiting is an error at once while another client is the producer."""
    queue = env.created()
    with held(env, PRODUCER):
        env.start(lambda: queue.put_nowait(b"v")).expect_error(
            QueueInUseError, "put_nowait while the role is held"
        )
    expect(values(env), [], "what is stored")
    expect_roles_free(env)


@later("put-nowait.full", "Put (Non-Blocking)")
def nowait_full(env: Environment) -> None:
    """A Put without waiting to a full queue is an error at once, and the role goes back."""
    queue = full(env)
    env.start(lambda: queue.put_nowait(b"v")).expect_error(QueueFullError, "put_nowait to a full queue")
    expect(values(env), [b"0", b"1"], "what is stored")
    expect_roles_free(env)


@later("put-nowait.closed", "Put (Non-Blocking)")
def nowait_closed(env: Environment) -> None:
    """A Put without waiting to a closed queue is an error."""
    queue = env.created()
    queue.shutdown()
    with expect_error(QueueClosedError, "put_nowait to a closed queue"):
        queue.put_nowait(b"v")
    expect_roles_free(env)


@later("put-nowait.needs-queue", "Put (Non-Blocking)")
def nowait_needs_queue(env: Environment) -> None:
    """A Put without waiting to a queue that does not exist is an error."""
    expect_no_queue(env, lambda queue: queue.put_nowait(b"v"), "put_nowait to")


@later("put-nowait.names-producer", "Put (Non-Blocking)")
def put_names_producer(env: Environment) -> None:
    """A Put without waiting leaves its client's identifier as the producer."""
    expect_named(env, ":producer", lambda queue: queue.put_nowait(b"w"))


@later("put-nowait.counts-bytes", "Put (Non-Blocking)", level="may")
def put_counts_bytes(env: Environment) -> None:
    """A Put without waiting may add the value's length to the bytes produced."""
    queue = env.created()
    for value in ("für".encode(), b"\x00" * 10):
        queue.put_nowait(value)
    expect(number(env, "produced_bytes"), 14, "bytes produced")


@later("put-nowait.refills", "Put (Non-Blocking)")
def put_refills(env: Environment) -> None:
    """After a Put without waiting that leaves room, not_full has exactly one element."""
    for bound in (0, 3):
        queue = env.created(bound)
        env.redis.lpush(env.queue_key(":not_full"), "more", "and more")
        for _ in range(2):
            queue.put_nowait(b"v")
            expect(length(env, ":not_full"), 1, f"elements of not_full with room below a bound of {bound}")
        queue.delete()


@both("put.keeps-trying", "Put", level="should")
def put_keeps_trying(env: Environment) -> None:
    """While another client is the producer a Put should try on until its time is over."""
    queue = env.created()
    with held(env, PRODUCER):
        put = env.start_blocked(lambda: queue.put(b"v", timeout=20))
    put.finish("a Put with a timeout when the role is free again")
    expect(values(env), [b"v"], "what is stored then")
    expect_roles_free(env)
