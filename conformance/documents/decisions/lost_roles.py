"""A role that another client frees, or that is renewed, at any moment of an operation."""

from __future__ import annotations

from functools import partial
from itertools import count as numbers
from itertools import product
from typing import Any

from pressure import PressureError, QueueDoesNotExistError, QueueInUseError

from ...judging.environment import Environment, expect
from ...wire.gate import Instead, full_memory
from ..registry import check
from ..state import CONSUMER, LISTS, LONG, PRODUCER, SUFFIXES, MishapError, length, text
from . import ours
from .attempts import MORE, OPERATIONS, THERE, attempts, described, elements, expect_lawful, receive
from .moments import begin_delete


@check("decided.repair-corrects")
def frees_roles_where_memory_is_full(env: Environment) -> None:
    """A transaction is refused, and a script that has written before is not."""
    for marks in (1, 2):
        frees_roles(env, marks)


def frees_roles(env: Environment, marks: int) -> None:
    """Fails unless a repair that is refused a transaction does all the same, or the next one does."""
    reports: list[Any] = []
    for moment in numbers(1):
        queue: Any
        queue, gate = env.gated()
        leave_dead(env, queue, marks)
        gate.arm(moment, Instead(full_memory))
        work = env.start(partial(queue.repair, force=True))
        if work.error("a repair") is not None:
            queue.repair(force=True)
        elif env.flavour != "plain":
            reports.append(work.finish("a repair").done)
        is_over = gate.disarm() < moment
        there = [elements(env, suffix) for suffix in ("", ":unacked")]
        expect(
            there,
            [[*THERE, *MORE], []],
            f"what waits, what is not acknowledged; message {moment} was refused",
        )
        lengths = [length(env, suffix) for suffix in (":closed", ":not_full", PRODUCER, CONSUMER)]
        wanted = [2, 1, 1, 1]
        expect(lengths, wanted, f"marks, tokens and roles; message {moment} was refused")
        holders = [(text(env, role) or b"").endswith(b"/released") for role in (":producer", ":consumer")]
        expect(
            holders,
            [True, True],
            f"whether those who freed the roles are named; message {moment} was refused",
        )
        if is_over:
            break
    expect(len(set(reports)) <= 1, True, f"whether each repair tells the same: {reports}")


def leave_dead(env: Environment, queue: Any, marks: int) -> None:
    """The roles are held, the consumer has two messages, so many marks are there, and the token is lost."""
    env.redis.delete(*map(env.queue_key, SUFFIXES), *map(env.queue_key, LISTS))
    queue.create()
    queue.put_many([*THERE, *MORE])
    for _ in range(2):
        env.redis.lmove(env.queue_key(), env.queue_key(":unacked"), "RIGHT", "LEFT")
    for _ in range(marks):
        env.redis.lpush(env.queue_key(":closed"), "0")
    env.redis.delete(*map(env.queue_key, (PRODUCER, CONSUMER, ":not_full")))
    for role in (":producer", ":consumer"):
        env.redis.set(env.queue_key(role), "other")


@check("decided.reliable-repaired")
def roles_are_freed_at_any_moment(env: Environment) -> None:
    """Another client frees the role by force: nothing is lost or doubled, and who has lost it writes no more."""
    with ours(env) as other:

        def free() -> None:
            other.repair(force=True)

        for (name, operation), lease in product(OPERATIONS.items(), (None, LONG)):
            for moment, attempt in attempts(env, operation, free, lease=lease):
                with described(f"{name}, with its role freed before message {moment}", attempt):
                    expect_lawful(env, operation, attempt, None, is_freed=True)
                    expect(attempt.looks, True, "whether a look is told after it, whatever it has watched")


@check("decided.lease")
def is_renewed_at_any_moment(env: Environment) -> None:
    """Which changes the key that names the holder; a queue that is deleted at the same time is another matter."""

    def renew() -> None:
        for holder in map(env.queue_key, (":producer", ":consumer")):
            if (left := int(env.redis.pttl(holder))) > 0:
                env.redis.pexpire(holder, left - 1)

    def delete_too() -> None:
        renew()
        begin_delete(env)

    for (name, operation), act in product(OPERATIONS.items(), (renew, delete_too)):
        for moment, attempt in attempts(env, operation, act, lease=LONG):
            with described(f"{name}, with {act.__name__} before message {moment}", attempt):
                if act is renew:
                    expect_lawful(env, operation, attempt, None)
                    expect(isinstance(attempt.error, PressureError), False, "whether it fails")
                else:
                    expect(
                        [length(env, role) for role in (PRODUCER, CONSUMER)], [1, 1], "roles that are free"
                    )
                    kinds = (type(None), MishapError, QueueDoesNotExistError)
                    expect(isinstance(attempt.error, kinds), True, "whether it says that there is no queue")


@check("decided.reliable-repaired")
def the_message_of_a_lost_role_goes_back(env: Environment) -> None:
    """Another client frees the role while a reliable get waits for a message, which comes then."""
    with ours(env) as queue:
        queue.create()
        receiving = env.start_blocked(partial(receive, queue))
        queue.repair(force=True)
        for value in THERE:
            env.queue().put(value)
        receiving.expect_error(QueueInUseError, "a reliable get whose role was freed while it waited")
        expect(
            [elements(env, suffix) for suffix in ("", ":unacked")], [THERE, []], "what waits, and is received"
        )


@check("decided.refused")
def the_token_of_a_lost_role_goes_back(env: Environment) -> None:
    """Another client frees the role while a Put waits for room, which comes then."""
    with ours(env) as queue:
        queue.create(1)
        queue.put(b"before")
        putting = env.start_blocked(partial(queue.put, b"v"))
        queue.repair(force=True)
        expect(env.queue().get(), b"before", "what is got while a Put waits")
        putting.expect_error(QueueInUseError, "a Put whose role was freed while it waited")
        expect(
            [length(env, suffix) for suffix in (":not_full", PRODUCER, "")],
            [1, 1, 0],
            "tokens, roles, values",
        )
