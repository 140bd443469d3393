"""What was decided where the documents are silent or disagree."""

from __future__ import annotations

import queue as standard
import time
from functools import partial

from pressure import (
    PressureError,
    QueueAlreadyExistsError,
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
    QueueInUseError,
)

from ..judging.environment import Environment, Failure, Judged, Running, expect, expect_error
from .getting import filled
from .lifecycle import our_own
from .putting import full
from .registry import check
from .state import (
    CONSUMER,
    PRODUCER,
    count,
    counters,
    expect_roles_free,
    held,
    length,
    number,
    text,
    values,
)


@check("decided.producer-is-producer")
def producer_is_producer(env: Environment) -> None:
    queue = env.created()
    queue.put(b"v")
    expect((bool(text(env, ":producer")), text(env, ":consumer")), (True, None), "the names after a Put")


@check("decided.stats-names")
def stats_names(env: Environment) -> None:
    queue = filled(env, b"four")
    queue.get()
    expect(counters(env), [1, 4, 1, 4], "the counters under :stats:")
    expect(env.redis.exists(env.queue_key(":produced_messages")), 0, "a counter beside :stats:")


@check("decided.one-token")
def one_token(env: Environment) -> None:
    queue = env.created(4)
    for operate in (lambda: queue.put(b"a"), lambda: queue.put(b"b"), queue.get, queue.get):
        operate()
        expect(length(env, ":not_full"), 1, "elements of not_full")


@check("decided.role-back-on-error")
def role_back_on_error(env: Environment) -> None:
    queue = full(env, 1)
    with expect_error(QueueFullError, "put to a full queue"):
        queue.put(b"v", timeout=0.02)
    expect_roles_free(env)
    queue.get()
    with expect_error(QueueEmptyError, "get from an empty queue"):
        queue.get(timeout=0.02)
    expect_roles_free(env)
    queue.shutdown()
    for operate in (lambda: queue.put(b"v"), queue.get, queue.shutdown):
        with expect_error(QueueClosedError, "an operation on a closed queue"):
            operate()
        expect_roles_free(env)


@check("decided.drains-to-bound")
def drains_to_bound(env: Environment) -> None:
    queue = full(env)
    queue.put(b"more", overfill=True)
    queue.get()
    with expect_error(QueueFullError, "put to a queue that is at its bound"):
        queue.put_nowait(b"v")
    queue.get()
    queue.put_nowait(b"v")


@check("decided.deleted-meanwhile")
def deleted_meanwhile(env: Environment) -> None:
    for fill, operate in ((1, lambda queue: queue.put(b"v")), (0, lambda queue: queue.get())):
        queue, other = env.created(1), env.queue()
        for _ in range(fill):
            queue.put(b"there")
        waiting = env.start(partial(operate, other))
        env.until_blocked(1)
        env.start(queue.delete).finish("delete while somebody waits")
        expect_gone(env, waiting)


@check("decided.deleted-meanwhile")
def deleted_while_closing(env: Environment) -> None:
    queue = env.created()
    with held(env, PRODUCER):
        closing = env.start(env.queue().shutdown)
        env.until_blocked(1)
        delete = env.start(queue.delete)
        env.until(lambda: not env.redis.exists(env.queue_key(":bound")), "was the bound deleted")
    delete.finish("delete when the role is free again")
    expect_gone(env, closing)


def expect_gone(env: Environment, waiting: Running[None]) -> None:
    """Fails unless the operation ends by saying that there is no queue, and no key is left."""
    with expect_error(QueueDoesNotExistError, "an operation that waits when the queue is deleted"):
        waiting.finish("an operation that waits when the queue is deleted")
    expect(count(env), 0, "keys that are left")


@check("decided.role-wait-ends")
def role_wait_ends(env: Environment) -> None:
    """A client may free the role of a dead holder meanwhile. Others stand before it in the line for the role."""
    queue = env.created()
    with held(env, PRODUCER):
        others = [env.connect() for _ in range(4)]
        for other in others:
            other.send("BRPOP", env.queue_key(PRODUCER), "0")
        env.until_blocked(len(others))
        put = env.start(lambda: queue.put(b"v"))
        env.until_blocked(len(others) + 1)
        env.redis.delete(env.queue_key(":bound"))
        with expect_error(QueueDoesNotExistError, "a Put that waits for the role of a deleted queue"):
            put.finish("a Put that waits for the role of a deleted queue")


@check("decided.overfill-takes-token")
def overfill_takes_token(env: Environment) -> None:
    queue = env.created(2)
    queue.put(b"1")
    queue.put(b"2", overfill=True)
    expect(length(env, ":not_full"), 0, "elements of not_full at the bound")
    with expect_error(QueueFullError, "put to a queue that is full by an over-filling Put"):
        queue.put_nowait(b"3")


@check("decided.one-deadline")
def one_deadline(env: Environment) -> None:
    queue = full(env, 1)
    began = time.monotonic()
    with held(env, PRODUCER), expect_error(QueueInUseError, "put with a timeout while the role is held"):
        queue.put(b"v", timeout=0.3)
    with expect_error(QueueFullError, "put with a timeout to a full queue"):
        queue.put(b"v", timeout=0.3)
    with expect_error(QueueFullError, "put with a timeout of nothing to a full queue"):
        queue.put(b"v", timeout=0)
    queue.get()
    with expect_error(QueueEmptyError, "get with a timeout of next to nothing"):
        env.start(lambda: queue.get(timeout=0.0001)).finish("get with a timeout of next to nothing")
    if time.monotonic() - began < 0.6:
        raise Failure("two waits of 0.3 s were over sooner")


@check("decided.one-deadline")
def one_deadline_for_two_waits(env: Environment) -> None:
    """A slow machine is not late three times."""
    for _ in range(3):
        lasted = seconds_of_two_waits(env, full(env, 1))
        if lasted < 0.9:
            break
    expect(0.5 < lasted < 0.9, True, f"0.6 s for role and room together, and not {lasted:.2f} s")


def seconds_of_two_waits(env: Environment, queue: Judged) -> float:
    began = time.monotonic()
    with held(env, PRODUCER):
        put = env.start(lambda: queue.put(b"v", timeout=0.6))
        env.redis.blpop([env.key("none")], 0.4)
    with expect_error(QueueFullError, "a Put that waits for its role first, and then for room"):
        put.finish("a Put that waits for its role first, and then for room")
    lasted = time.monotonic() - began
    queue.delete()
    return lasted


@check("decided.empty-is-an-error")
def empty_is_an_error(env: Environment) -> None:
    with expect_error(QueueEmptyError, "get_nowait from an empty queue"):
        env.created().get_nowait()


@check("decided.nothing-read")
def nothing_read(env: Environment) -> None:
    queue = env.created(2)
    env.redis.delete(env.queue_key(":not_full"))
    with expect_error(QueueEmptyError, "get_nowait from an empty queue"):
        queue.get_nowait()
    with expect_error(QueueEmptyError, "get with a timeout from an empty queue"):
        queue.get(timeout=0.02)
    expect(
        (length(env, ":not_full"), number(env, "consumed_messages")), (0, 0), "not_full and messages consumed"
    )
    expect_roles_free(env)


@check("decided.closed-first")
def closed_first(env: Environment) -> None:
    queue = env.created()
    queue.shutdown()
    with held(env, PRODUCER), expect_error(QueueClosedError, "put to a closed queue whose role is held"):
        env.start(lambda: queue.put(b"v")).finish("put to a closed queue whose role is held")


@check("decided.closed-again")
def closed_again(env: Environment) -> None:
    queue = env.created()
    with held(env, PRODUCER):
        put = env.start(lambda: queue.put(b"v"))
        env.until_blocked(1)
        env.redis.lpush(env.queue_key(":closed"), "0", "0")
    with expect_error(QueueClosedError, "a Put that waited for its role while the queue was closed"):
        put.finish("a Put that waited for its role while the queue was closed")
    expect(values(env), [], "what is stored")
    expect_roles_free(env)


@check("decided.token-back-on-error")
def token_back_on_error(env: Environment) -> None:
    queue = env.created(2)
    env.redis.set(env.queue_key(), "what no client would write")
    with expect_error(PressureError, "put to a list that is no list"):
        queue.put(b"v")
    expect(length(env, ":not_full"), 1, "elements of not_full")
    expect_roles_free(env)


@check("decided.delete-interrupted")
def delete_interrupted(env: Environment) -> None:
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


@check("decided.create-atomic")
def create_atomic(env: Environment) -> None:
    queue = env.queue()
    for suffix in ("", ":closed", ":producer_free", ":not_full", ":stats:consumed_bytes"):
        env.redis.lpush(env.queue_key(suffix), "left by somebody")
        with expect_error(QueueAlreadyExistsError, f"create while {suffix or 'the list'} is there"):
            queue.create()
        expect(count(env), 1, "keys that are there then")
        env.redis.delete(env.queue_key(suffix))


@check("decided.create-reserved")
def create_reserved(env: Environment) -> None:
    env.created()
    for suffix in (":closed", ":not_full", ":stats:produced_bytes"):
        with expect_error(QueueAlreadyExistsError, f"create of a queue named jobs{suffix}"):
            env.queue(f"jobs{suffix}").create()
    env.queue("jobs:of-our-own").create()


@check("decided.foreign-tokens")
def foreign_tokens(env: Environment) -> None:
    queue = filled(env, b"a", b"b", b"c")
    for _ in range(2):  # as clients do that get by BRPOPLPUSH
        env.redis.brpoplpush(env.queue_key(), env.queue_key(":not_full"), 1)
    expect(length(env, ":not_full"), 3, "elements that another client left in not_full")
    queue.put(b"d")
    expect([queue.get(), queue.get()], [b"c", b"d"], "what is got")
    expect(length(env, ":not_full"), 1, "elements of not_full")


@check("decided.wait-closed")
def wait_closed(env: Environment) -> None:
    queue = env.created()
    waiting = [env.start(env.queue().wait_closed) for _ in range(3)]
    env.until_blocked(3)
    queue.shutdown()
    expect([each.finish("wait_closed") for each in waiting], [True] * 3, "what wait_closed says")
    expect(
        (length(env, ":closed"), queue.wait_closed()), (2, True), "marks, and wait_closed of a closed queue"
    )


@check("decided.wait-closed-times-out")
def wait_closed_times_out(env: Environment) -> None:
    expect(env.created().wait_closed(timeout=0.05), False, "wait_closed of an open queue")


@check("decided.mark-goes-back")
def mark_goes_back(env: Environment) -> None:
    queue = env.created()
    got = env.start(env.queue().get)
    env.until_blocked(1)
    queue.shutdown()
    with expect_error(QueueClosedError, "a Get that waits when the queue is closed"):
        got.finish("a Get that waits when the queue is closed")
    expect(length(env, ":closed"), 2, "marks")


@check("decided.item-before-close")
def item_before_close(env: Environment) -> None:
    for first in ("", ":closed"):
        queue = env.created()
        got = env.start(env.queue().get)
        env.until_blocked(1)
        second = ":closed" if first == "" else ""
        with env.redis.pipeline() as at_once:
            for suffix in (first, second):
                at_once.lpush(env.queue_key(suffix), b"0", b"1")
            at_once.execute()
        expect(got.finish("a Get when values and close come at once"), b"0", "what is got")
        expect((values(env), length(env, ":closed")), ([b"1"], 2), "what is left, and marks")
        queue.delete()


@check("decided.bound-is-a-number")
def bound_is_a_number(env: Environment) -> None:
    queue = env.queue()
    for bound in (-1, 1.5, "3", None, True):
        with expect_error(ValueError, f"create with a bound of {bound!r}"):
            queue.create(bound)  # type: ignore[arg-type]
    expect(count(env), 0, "keys that this left")


@check("decided.name-bytes")
def name_bytes(env: Environment) -> None:
    for name in (b"\xff\x00\r\n", b""):
        with our_own(env, name, url=env.address.url, prefix=env.prefix) as queue:
            queue.create()
            queue.put(b"v")
            key = env.prefix.encode() + b":" + name
            expect(env.redis.lrange(key, 0, -1), [b"v"], f"the list of {name!r}")
            queue.delete()


@check("decided.standard-errors")
def standard_errors(env: Environment) -> None:
    queue = env.created(1)
    with expect_error(standard.Empty, "get_nowait from an empty queue"):
        queue.get_nowait()
    queue.put(b"v")
    with expect_error(standard.Full, "put_nowait to a full queue"):
        queue.put_nowait(b"v")
    for kind in (QueueFullError, QueueEmptyError, QueueClosedError, QueueInUseError, QueueDoesNotExistError):
        expect(issubclass(kind, PressureError), True, f"{kind.__name__} is a PressureError")
