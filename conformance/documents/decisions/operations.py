"""Put and Get."""

from __future__ import annotations

import queue as standard
import time
from functools import partial
from typing import Final

from pressure import (
    PressureError,
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
    QueueInUseError,
)

from ...clients.judged import Judged
from ...judging.environment import Environment, Failure, expect, expect_error
from ..registry import check
from ..state import (
    PRODUCER,
    contents,
    counters,
    expect_roles_free,
    filled,
    full,
    held,
    length,
    number,
    text,
    values,
)
from . import decided
from .roles import impatient


@decided("decided.producer-is-producer", "prose of Queues swaps two keys")
def producer_is_producer(env: Environment) -> None:
    """:producer names the producer and :consumer the consumer."""
    queue = env.created()
    queue.put(b"v")
    expect((bool(text(env, ":producer")), text(env, ":consumer")), (True, None), "the names after a Put")


@decided("decided.stats-names", "prose against pseudocode")
def stats_names(env: Environment) -> None:
    """The counters are under :stats:."""
    queue = filled(env, b"four")
    queue.get()
    expect(counters(env), [1, 4, 1, 4], "the counters under :stats:")
    expect(env.redis.exists(env.queue_key(":produced_messages")), 0, "a counter beside :stats:")


@decided("decided.one-token", "pseudocode of 0.1 leaves two")
def one_token(env: Environment) -> None:
    """not_full never has more than one element after an operation."""
    queue = env.created(4)
    for operate in (lambda: queue.put(b"a"), lambda: queue.put(b"b"), queue.get, queue.get):
        operate()
        expect(length(env, ":not_full"), 1, "elements of not_full")


@check("decided.one-token")
def a_put_that_waits_changes_nothing(env: Environment) -> None:
    """But for the role that it holds: it waits for a token, whether there is room or not."""
    for bound in () if env.foreign else (1, 3):
        queue = env.created(bound)
        env.redis.lpush(env.queue_key(), "theirs")
        env.redis.delete(env.queue_key(":not_full"))
        before = contents(env)
        putting = env.start_blocked(partial(queue.put, b"v"))
        seen = {
            suffix: found for suffix, found in contents(env).items() if not suffix.startswith(":producer")
        }
        before.pop(PRODUCER)
        expect(seen, before, "the keys while a Put waits, without those of its role")
        env.redis.lpush(env.queue_key(":not_full"), "0")
        putting.finish("a Put that waits for a token")
        queue.delete()


@decided("decided.role-back-on-error", "pseudocode keeps the role")
def role_back_on_error(env: Environment) -> None:
    """The role goes back on every way out, errors included."""
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


@decided("decided.drains-to-bound", "0.1 against 0.15")
def drains_to_bound(env: Environment) -> None:
    """An over-filled queue takes no value before it has drained to its bound."""
    queue = full(env)
    queue.put(b"more", overfill=True)
    queue.get()
    with expect_error(QueueFullError, "put to a queue that is at its bound"):
        queue.put_nowait(b"v")
    queue.get()
    queue.put_nowait(b"v")


@decided("decided.overfill-takes-token", "over-filling 'may' skip not_full")
def overfill_takes_token(env: Environment) -> None:
    """An over-filling Put takes the token if there is one, so that later Puts respect the bound."""
    queue = env.created(2)
    queue.put(b"1")
    queue.put(b"2", overfill=True)
    expect(length(env, ":not_full"), 0, "elements of not_full at the bound")
    with expect_error(QueueFullError, "put to a queue that is full by an over-filling Put"):
        queue.put_nowait(b"3")


@decided("decided.overfill-refuses-closed", "over-filling 'may' skip not_full")
def overfill_refuses_closed(env: Environment) -> None:
    """An over-filling Put skips not_full alone: to a closed queue it is an error, and stores nothing."""
    queue = full(env)
    queue.shutdown()
    with expect_error(QueueClosedError, "an over-filling put to a closed queue"):
        queue.put(b"v", overfill=True)
    expect((values(env), number(env, "produced_messages")), ([b"0", b"1"], 2), "what is stored and counted")
    expect_roles_free(env)


@decided("decided.one-deadline", "'an error after some fixed timeout'")
def one_deadline(env: Environment) -> None:
    """A timeout is one deadline for the whole operation, and ends it with the error of what was waited
    for."""
    queue = full(env, 1)
    began = time.monotonic()
    with held(env, PRODUCER), expect_error(QueueInUseError, "put with a timeout while the role is held"):
        queue.put(b"v", timeout=0.3)
    with expect_error(QueueFullError, "put with a timeout to a full queue"):
        queue.put(b"v", timeout=0.3)
    with expect_error(QueueFullError, "put with a timeout of nothing to a full queue"):
        queue.put(b"v", timeout=0)
    queue.get()
    env.start(lambda: queue.get(timeout=0.0001)).expect_error(
        QueueEmptyError, "get with a timeout of next to nothing"
    )
    if time.monotonic() - began < 0.6:
        raise Failure("two waits of 0.3 s were over sooner")


@check("decided.one-deadline")
def one_deadline_for_two_waits(env: Environment) -> None:
    """A slow machine is not late ten times: for the role, or for what comes after it."""
    for _ in range(10):
        lasted, error = two_waits(env, full(env, 1))
        if lasted < 0.9 and not isinstance(error, QueueInUseError):
            break
    expect(isinstance(error, QueueFullError), True, f"{TWO_WAITS} raises QueueFullError, and not {error!r}")
    expect(0.5 < lasted < 0.9, True, f"0.6 s for role and room together, and not {lasted:.2f} s")


def two_waits(env: Environment, queue: Judged) -> tuple[float, BaseException | None]:
    """How many seconds a Put lasted, and what it raised: QueueInUseError if it never got the role."""
    began = time.monotonic()
    with held(env, PRODUCER):
        put = env.start(lambda: queue.put(b"v", timeout=0.6))
        env.redis.blpop([env.key("none")], 0.4)
    error = put.error(TWO_WAITS)
    lasted = time.monotonic() - began
    queue.delete()
    return lasted, error


TWO_WAITS: Final = "a Put that waits for its role first, and then for room"


@decided("decided.empty-is-an-error", "pseudocode returns nil")
def empty_is_an_error(env: Environment) -> None:
    """A Get without waiting from an open empty queue raises QueueEmptyError."""
    with expect_error(QueueEmptyError, "get_nowait from an empty queue"):
        env.created().get_nowait()


@decided("decided.nothing-read", "pseudocode refills though nothing was read")
def nothing_read(env: Environment) -> None:
    """A Get that reads nothing touches nothing but the role."""
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


@decided("decided.closed-first", "prose against pseudocode")
def closed_first(env: Environment) -> None:
    """A Put to a closed queue fails at once, though the role is held."""
    queue = env.created()
    queue.shutdown()
    with held(env, PRODUCER):
        for name, put in (("put", queue.put), ("put_nowait", queue.put_nowait)):
            error = f"{name} to a closed queue whose role is held"
            env.start(partial(put, b"v")).expect_error(QueueClosedError, error)


@check("decided.closed-first")
def a_put_hears_of_a_close_while_it_waits_for_its_role(env: Environment) -> None:
    if env.foreign:
        return  # others may learn of it when the role is free
    with impatient():
        queue = env.created()
    with held(env, PRODUCER):
        put = env.start_blocked(lambda: queue.put(b"v"))
        env.redis.lpush(env.queue_key(":closed"), "0", "0")
        put.expect_error(QueueClosedError, "a Put to a queue that is closed, while its role is held still")


@decided("decided.closed-again", "prose against pseudocode")
def closed_again(env: Environment) -> None:
    """A Put that waited for its role looks again whether the queue was closed."""
    queue = env.created()
    with held(env, PRODUCER):
        put = env.start_blocked(lambda: queue.put(b"v"))
        env.redis.lpush(env.queue_key(":closed"), "0", "0")
    put.expect_error(QueueClosedError, "a Put that waited for its role while the queue was closed")
    expect(values(env), [], "what is stored")
    expect_roles_free(env)


@decided("decided.token-back-on-error", "an error after the token was popped")
def token_back_on_error(env: Environment) -> None:
    """A Put that fails with the token in hand puts it back."""
    queue = env.created(2)
    env.redis.set(env.queue_key(), "what no client would write")
    with expect_error(PressureError, "put to a list that is no list"):
        queue.put(b"v")
    expect(length(env, ":not_full"), 1, "elements of not_full")
    expect_roles_free(env)


@decided("decided.foreign-tokens", "BRPOPLPUSH onto not_full")
def foreign_tokens(env: Environment) -> None:
    """Any value and any number of elements that others leave in not_full is accepted."""
    queue = filled(env, b"a", b"b", b"c")
    for _ in range(2):  # as clients do that get by BRPOPLPUSH
        env.redis.brpoplpush(env.queue_key(), env.queue_key(":not_full"), 1)
    expect(length(env, ":not_full"), 3, "elements that another client left in not_full")
    queue.put(b"d")
    expect([queue.get(), queue.get()], [b"c", b"d"], "what is got")
    expect(length(env, ":not_full"), 1, "elements of not_full")


@decided("decided.mark-goes-back", "a woken Get eats a mark")
def mark_goes_back(env: Environment) -> None:
    """A Get that was woken by a close leaves both marks in place."""
    queue = env.created()
    got = env.start_blocked(env.queue().get)
    queue.shutdown()
    got.expect_error(QueueClosedError, "a Get that waits when the queue is closed")
    expect(length(env, ":closed"), 2, "marks")


@decided("decided.item-before-close", "value and close at the same moment")
def item_before_close(env: Environment) -> None:
    """A value that is there when the queue closes is never lost."""
    for first in ("", ":closed"):
        queue = env.created()
        got = env.start_blocked(env.queue().get)
        second = ":closed" if first == "" else ""
        with env.redis.pipeline() as at_once:
            for suffix in (first, second):
                at_once.lpush(env.queue_key(suffix), b"0", b"1")
            at_once.execute()
        expect(got.finish("a Get when values and close come at once"), b"0", "what is got")
        expect((values(env), length(env, ":closed")), ([b"1"], 2), "what is left, and marks")
        queue.delete()


@decided("decided.standard-errors", "names of errors", needs=("our-client",))
def standard_errors(env: Environment) -> None:
    """Full and empty are the standard queue's errors too, and all errors share one base."""
    queue = env.created(1)
    with expect_error(standard.Empty, "get_nowait from an empty queue"):
        queue.get_nowait()
    queue.put(b"v")
    with expect_error(standard.Full, "put_nowait to a full queue"):
        queue.put_nowait(b"v")
    for kind in (QueueFullError, QueueEmptyError, QueueClosedError, QueueInUseError, QueueDoesNotExistError):
        expect(issubclass(kind, PressureError), True, f"{kind.__name__} is a PressureError")
