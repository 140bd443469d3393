"""Create, Close and Delete, names and bounds."""

from __future__ import annotations

from functools import partial

from pressure import QueueAlreadyExistsError, QueueClosedError, QueueDoesNotExistError, QueueInUseError

from ...judging.environment import Environment, Running, expect, expect_error
from ..registry import check
from ..state import CONSUMER, PRODUCER, count, expect_roles_free, filled, held, length, our_own
from . import decided
from .roles import impatient


@decided("decided.deleted-meanwhile", "operations that wait while Delete runs")
def deleted_meanwhile(env: Environment) -> None:
    """Put, Get and Close that find the bound gone raise QueueDoesNotExistError, and leave no key."""
    for fill, operate in ((1, lambda queue: queue.put(b"v")), (0, lambda queue: queue.get())):
        queue, other = env.created(1), env.queue()
        for _ in range(fill):
            queue.put(b"there")
        waiting = env.start_blocked(partial(operate, other))
        env.start(queue.delete).finish("delete while somebody waits")
        expect_gone(env, waiting)


@check("decided.deleted-meanwhile")
def deleted_while_closing(env: Environment) -> None:
    queue = env.created()
    with held(env, PRODUCER):
        closing = env.start_blocked(env.queue().shutdown)
        delete = env.start(queue.delete)
        env.until(lambda: not env.redis.exists(env.queue_key(":bound")), "was the bound deleted")
    delete.finish("delete when the role is free again")
    expect_gone(env, closing)


def expect_gone(env: Environment, waiting: Running[None]) -> None:
    """Fails unless the operation ends by saying that there is no queue, and no key is left."""
    waiting.expect_error(QueueDoesNotExistError, "an operation that waits when the queue is deleted")
    expect(count(env), 0, "keys that are left")


@decided("decided.role-wait-ends", "a role list that Delete removes")
def role_wait_ends(env: Environment) -> None:
    """A client that waits for a role of a queue that is deleted does not wait for ever."""
    # A client may free the role of a dead holder meanwhile. Others stand before it in the line for the role.
    with impatient():
        queue = env.created()
    with held(env, PRODUCER):
        others = [env.connect() for _ in range(4)]
        for other in others:
            other.send("BRPOP", env.queue_key(PRODUCER), "0")
        env.until_blocked(len(others))
        put = env.start(lambda: queue.put(b"v"))
        env.until_blocked(len(others) + 1)
        env.redis.delete(env.queue_key(":bound"))
        put.expect_error(QueueDoesNotExistError, "a Put that waits for the role of a deleted queue")


@decided("decided.close-twice", "Close of a closed queue 'is an error'")
def close_twice(env: Environment) -> None:
    """A second Close raises QueueClosedError and gives the role back."""
    queue = env.created()
    queue.shutdown()
    for each in (queue, env.queue()):
        with expect_error(QueueClosedError, "a second close"):
            each.shutdown()
        expect_roles_free(env)


@decided("decided.delete-interrupted", "Delete interrupted half-way")
def delete_interrupted(env: Environment) -> None:
    """A Delete that gives up raises QueueInUseError naming the holder; running it again finishes it."""
    with impatient():
        queue = filled(env, b"v")
    with held(env, CONSUMER):
        env.redis.set(env.queue_key(":consumer"), "the holder")
        with expect_error(QueueInUseError, "delete with a timeout while a role is held"):
            try:
                queue.delete(timeout=0.05)
            except QueueInUseError as error:
                expect("the holder" in str(error), True, "the error names the holder")
                raise
        expect(queue.exists(), False, "the queue for everybody else")
    queue.delete()
    expect(count(env), 0, "keys that are left")


@decided("decided.create-atomic", "Create during Delete leaves a stuck queue")
def create_atomic(env: Environment) -> None:
    """Create is one step, refused while any of the twelve keys is there."""
    queue = env.queue()
    for suffix in ("", ":closed", ":producer_free", ":not_full", ":stats:consumed_bytes"):
        env.redis.lpush(env.queue_key(suffix), "left by somebody")
        with expect_error(QueueAlreadyExistsError, f"create while {suffix or 'the list'} is there"):
            queue.create()
        expect(count(env), 1, "keys that are there then")
        env.redis.delete(env.queue_key(suffix))


@decided("decided.create-reserved", "names that collide")
def create_reserved(env: Environment) -> None:
    """A name that is another queue's name and one of the protocol's suffixes is refused."""
    env.created()
    for suffix in (":closed", ":not_full", ":stats:produced_bytes"):
        with expect_error(QueueAlreadyExistsError, f"create of a queue named jobs{suffix}"):
            env.queue(f"jobs{suffix}").create()
    env.queue("jobs:of-our-own").create()


@decided("decided.wait-closed", "'allow clients to block waiting for a queue to close'")
def wait_closed(env: Environment) -> None:
    """wait_closed returns when the queue is closed, and leaves both marks."""
    queue = env.created()
    waiting = [env.start(env.queue().wait_closed) for _ in range(3)]
    env.until_blocked(3)
    queue.shutdown()
    expect([each.finish("wait_closed") for each in waiting], [True] * 3, "what wait_closed says")
    expect(
        (length(env, ":closed"), queue.wait_closed()), (2, True), "marks, and wait_closed of a closed queue"
    )


@decided("decided.wait-closed-times-out", "'allow clients to block waiting for a queue to close'")
def wait_closed_times_out(env: Environment) -> None:
    """wait_closed tells that its time is over."""
    expect(env.created().wait_closed(timeout=0.05), False, "wait_closed of an open queue")


@decided("decided.bound-is-a-number", "the bound")
def bound_is_a_number(env: Environment) -> None:
    """A bound that is not an integer of 0 or more is a ValueError, and no key is written."""
    queue = env.queue()
    for bound in (-1, 1.5, "3", None, True):
        with expect_error(ValueError, f"create with a bound of {bound!r}"):
            queue.create(bound)  # type: ignore[arg-type]
    expect(count(env), 0, "keys that this left")


@check("decided.bound-is-a-number")
def the_largest_bound_leaves_room(env: Environment) -> None:
    for bound in () if env.foreign else (10**18 - 1, 10**18, (1 << 63) - 1):
        queue = env.created(bound)
        queue.put(b"v")
        expect(queue.get(), b"v", f"what is got from a queue with a bound of {bound}")
        queue.delete()


@decided("decided.name-bytes", "names")
def name_bytes(env: Environment) -> None:
    """A name may be any bytes."""
    name = b"\xff\x00\r\n"
    with our_own(env, name, url=env.address.url, prefix=env.prefix) as queue:
        queue.create()
        queue.put(b"v")
        key = env.prefix.encode() + b":" + name
        expect(env.redis.lrange(key, 0, -1), [b"v"], f"the list of {name!r}")
        queue.delete()
