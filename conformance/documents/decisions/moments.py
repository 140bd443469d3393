"""What others do between any two messages of a client, and connections that are lost there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count as numbers
from typing import Any

from pressure import (
    OutcomeUnknownError,
    QueueAlreadyExistsError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
)

from ...clients.judged import Judged
from ...judging.environment import Environment, Failure, expect
from ...wire.gate import Act
from ..registry import check
from ..state import CONSUMER, PRODUCER, SUFFIXES, count, expect_roles_free, length, produce, text, values
from . import decided


def moments(env: Environment, act: Act, *, setup: Callable[[], None]) -> Iterator[Judged]:
    """A client for each moment of whatever is done with it, at which ``act`` will happen.

    The queue is set up anew for each. It ends with a client that was not disturbed any more.
    """
    for moment in numbers(1):
        clear(env)
        setup()
        queue, gate = env.gated()
        gate.arm(moment, act)
        yield queue
        if gate.messages < moment:
            return


def queue_of(env: Environment, *contents: bytes) -> Callable[[], None]:
    """Sets up a queue with these values."""

    def setup() -> None:
        queue = env.created(3)
        for value in contents:
            queue.put(value)

    return setup


def begin_delete(env: Environment) -> None:
    """Another client's Delete, up to where it waits for the roles."""
    with env.redis.pipeline() as steps:
        steps.delete(env.queue_key(":bound"))
        steps.lpush(env.queue_key(":not_full"), "0")
        steps.lpush(env.queue_key(":closed"), "0", "0")
        steps.execute()


def unless_deleted(work: Callable[[], object]) -> bool:
    """Whether it was done; False if it said that there is no queue."""
    with suppress(QueueDoesNotExistError):
        work()
        return True
    return False


@check("decided.deleted-meanwhile")
def deleted_at_any_moment_of_put(env: Environment) -> None:
    stored: list[int] = []  # by the time of the Delete, if there was one

    def delete() -> None:
        stored.append(len(values(env)))
        begin_delete(env)

    for queue in moments(env, delete, setup=queue_of(env)):
        done = unless_deleted(lambda queue=queue: queue.put(b"v"))  # type: ignore[misc]
        in_time = stored.pop() if stored else 1
        expect((int(done), len(values(env))), (in_time, in_time), "a Put is done, and has stored its value")
        expect_roles_free(env)


@check("decided.deleted-meanwhile")
def deleted_at_any_moment_of_get(env: Environment) -> None:
    for queue in moments(env, lambda: begin_delete(env), setup=queue_of(env, b"v")):
        done = unless_deleted(queue.get)
        expect(values(env), [] if done else [b"v"], f"what is left by a Get that was done: {done}")
        expect_roles_free(env)


def expect_no_queue_while_waiting(env: Environment, operate: Callable[[Any], object]) -> None:
    """Fails unless who finds nothing says that there is no queue, if it was deleted meanwhile."""
    for queue in moments(env, lambda: begin_delete(env), setup=queue_of(env)):
        error = env.start(partial(operate, queue)).error("an operation that finds nothing")
        wanted = QueueEmptyError if env.redis.exists(env.queue_key(":bound")) else QueueDoesNotExistError
        expect(type(error) in (wanted, QueueEmptyError), True, f"{error!r} of a queue that was deleted")
        expect_roles_free(env)


@check("decided.closed-again")
def closed_at_any_moment_of_put(env: Environment) -> None:
    """By a client without the role: a Put of ours learns of it, unless the message that stores the value is sent."""

    def close() -> None:
        env.redis.lpush(env.queue_key(":closed"), 0, 0)

    for moment in () if env.foreign else numbers(1):
        clear(env)
        queue_of(env)()
        queue, gate = env.gated()
        gate.arm(moment, close)
        error = env.start(partial(queue.put, b"v")).error("a Put")
        sent = gate.disarm()
        is_in_time = sent < moment or (sent == moment > 1)
        expect(
            (error is None, bool(values(env))),
            (is_in_time,) * 2,
            f"whether a Put is done, closed at {moment}",
        )
        expect_roles_free(env)
        if sent < moment:
            break


@check("decided.deleted-meanwhile")
def deleted_at_any_moment_of_a_get_that_finds_nothing(env: Environment) -> None:
    expect_no_queue_while_waiting(env, lambda queue: queue.get(timeout=0.02))


@check("decided.deleted-meanwhile")
def deleted_at_any_moment_of_close(env: Environment) -> None:
    marked: list[int] = []  # by the time of the Delete, if there was one

    def delete() -> None:
        marked.append(length(env, ":closed"))
        begin_delete(env)

    for queue in moments(env, delete, setup=queue_of(env)):
        done = unless_deleted(queue.shutdown)
        deleted = len(marked)
        in_time = marked.pop() if marked else 2
        expect(
            (2 * done, length(env, ":closed")), (in_time, in_time + 2 * deleted), "a Close is done, and marks"
        )
        expect_roles_free(env)


@check("decided.token-back-on-error")
def spoiled_at_any_moment_of_a_put_that_waits(env: Environment) -> None:
    for queue in moments(env, lambda: spoil(env), setup=queue_of(env, b"1", b"2", b"3")):
        put = env.start(lambda queue=queue: queue.put(b"v"))  # type: ignore[misc]
        env.until_blocked(1, unless=put.done)
        tokens = 0 if put.done() else env.redis.lpush(env.queue_key(":not_full"), "0")
        if put.error("a Put that there is room for") is not None:
            expect(length(env, ":not_full"), tokens, "elements of not_full after a Put that failed")
        expect_roles_free(env)


def spoil(env: Environment) -> None:
    """Makes the list of values something else, as no client would."""
    env.redis.set(env.queue_key(), "what no client would write")


@decided("decided.bound-and-one", "Get compares, two Puts run, Get refills")
def filled_at_any_moment_of_get(env: Environment) -> None:
    """While Gets and Puts cross, a queue whose clients send plain commands holds at most one more than
    its bound."""
    others = env.queue()
    for queue in moments(env, lambda: fill(others), setup=queue_of(env, b"v", b"v")):
        queue.get()
        fill(others)
        expect(
            others.length() in {3, 4},
            True,
            "a queue with a bound of 3 that others fill during a Get holds 3 or 4",
        )
        for _ in range(others.length() - 2):
            others.get()
        fill(others)
        expect(others.length(), 3, "length of the queue when it was filled again")


def fill(queue: Judged) -> None:
    """Puts until the queue is full."""
    with suppress(QueueFullError):
        while True:
            queue.put_nowait(b"v")


@check("decided.bound-and-one")
def crossing(env: Environment) -> None:
    env.created(3)
    producing = env.start(lambda: produce(env, [b"v"] * 30, close=False))
    queue, longest = env.queue(), 0
    for _ in range(30):
        longest = max(longest, queue.length())
        queue.get()
    producing.finish("a producer of a bounded queue")
    if longest > 4:
        raise Failure(f"a queue with a bound of 3 held {longest}")


@check("decided.create-atomic")
def created_at_any_moment_of_create(env: Environment) -> None:
    others: list[bool] = []

    def create_too() -> None:
        others.append(bool(env.redis.setnx(env.queue_key(":bound"), 7)))
        if others[-1]:
            for suffix in (PRODUCER, CONSUMER, ":not_full"):
                env.redis.lpush(env.queue_key(suffix), "1")

    for queue in moments(env, create_too, setup=others.clear):
        refused = False
        try:
            queue.create(3)
        except QueueAlreadyExistsError:
            refused = True
        expect(refused, any(others), "a Create is refused when another was faster")
        expect(text(env, ":bound"), b"7" if refused else b"3", "the bound")
        expect(length(env, ":not_full"), 1, "elements of not_full")
        expect_roles_free(env)


@check("decided.create-atomic")
def delete_ends_at_any_moment_of_create(env: Environment) -> None:
    def half_deleted() -> None:
        queue_of(env, b"v")()
        begin_delete(env)

    for queue in moments(env, lambda: clear(env), setup=half_deleted):
        was_left = count(env)
        try:
            queue.create(3)
        except QueueAlreadyExistsError:
            expect(count(env) in {0, was_left}, True, "a Create that was refused touched nothing")
        else:
            expect((text(env, ":bound"), count(env)), (b"3", 4), "bound and keys of the new queue")
            expect_roles_free(env)


@decided("decided.lost-connection", "'must fail and report'")
def lost_at_any_moment_of_put(env: Environment) -> None:
    """A connection lost in the middle raises OutcomeUnknownError, and nothing is sent again."""
    expect_reported(env, lambda queue: queue.put(b"v"), queue_of(env))
    expect(values(env), [b"v"], "what is stored when nothing was lost")


@check("decided.lost-connection")
def lost_at_any_moment_of_get(env: Environment) -> None:
    expect_reported(env, lambda queue: queue.get(), queue_of(env, b"v", b"w"))
    expect(values(env), [b"w"], "what is left when nothing was lost")


def expect_reported(env: Environment, operate: Callable[[Judged], object], setup: Callable[[], None]) -> None:
    """Fails unless the operation ends by an error whatever is lost, and sends nothing afterwards."""
    acts: tuple[Act, ...] = ("lose-message", "lose-reply")
    for act in acts:
        for moment in numbers(1):
            clear(env)
            setup()
            queue, gate = env.gated()
            gate.arm(moment, act)
            what = f"an operation with {act} at message {moment}"
            error = env.start(lambda queue=queue: operate(queue)).error(what)  # type: ignore[misc]
            if gate.messages < moment:
                expect(error, None, "the error of an operation that lost nothing")
                break
            if not isinstance(error, OutcomeUnknownError):
                raise Failure(f"{what}: wanted OutcomeUnknownError, got {error!r}")
            expect(gate.messages, moment, f"messages of {what}")


def clear(env: Environment) -> None:
    env.redis.delete(*(env.queue_key(suffix) for suffix in SUFFIXES))
