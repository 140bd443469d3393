"""A server that refuses a command in the middle of an operation, since a key is something else by then."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import count as numbers
from itertools import product
from typing import Any

from pressure import PressureError, QueueInUseError, ServerReplyError

from ...judging.environment import Environment, expect, expect_error
from ...wire.gate import Instead, full_memory, loading, no_scripts
from ..registry import check
from ..state import CONSUMER, COUNTERS, LISTS, PRODUCER, SUFFIXES, contents, counters, held, length, our_own
from . import RECEIVE, decided
from .attempts import (
    KEYS,
    MORE,
    OPERATIONS,
    THERE,
    attempted,
    attempts,
    described,
    elements,
    expect_lawful,
    is_spoiled,
    receive,
    spoil,
)
from .moments import clear
from .roles import take


@decided("decided.refused", "what a server may refuse", needs=RECEIVE)
def refused_by_a_key(env: Environment) -> None:
    """Whatever a server refuses at whatever moment, no message is lost or doubled, the role goes back, and
    what could not be counted is told."""
    for name, operation in OPERATIONS.items():
        for suffix in KEYS[operation.role]:
            for moment, attempt in attempts(env, operation, partial(spoil, env, suffix)):
                where = (
                    f"{name}, with another kind of value in {suffix or 'the list'} from message {moment} on"
                )
                with described(where, attempt):
                    expect_lawful(env, operation, attempt, suffix if is_spoiled(env, suffix) else None)
                    if suffix in COUNTERS:
                        expect(isinstance(attempt.error, PressureError), False, "whether it fails")


@check("decided.refused")
def refused_as_a_whole(env: Environment) -> None:
    """The server refuses all that a client sends at a moment, or a transaction, as where its memory is full."""
    for (name, operation), answer in product(OPERATIONS.items(), (loading, full_memory)):
        for moment, attempt in attempts(env, operation, Instead(answer)):
            with described(f"{name}, with message {moment} refused", attempt):
                expect_lawful(env, operation, attempt, None)


@check("decided.refused")
def a_put_that_fills_the_queue_is_refused(env: Environment) -> None:
    """Without scripts it learns so by the length that its push answers, and gives the role back after that."""
    for name in ("put", "put_many"):
        operation = OPERATIONS[name]
        bound = len(THERE) + len(operation.puts)
        for moment, attempt in attempts(env, operation, partial(spoil, env, PRODUCER), bound):
            spoiled = PRODUCER if is_spoiled(env, PRODUCER) else None
            with described(f"{name} that fills a queue, its role spoiled at message {moment}", attempt):
                expect_lawful(env, operation, attempt, spoiled, fills=True)
                if spoiled and attempt.error is None:
                    expect("to free the producer role" in attempt.told, True, "whether it tells of its role")


@check("decided.looks")
def tells_all_where_memory_is_full(env: Environment) -> None:
    queue: Any
    queue, gate = env.gated()
    queue.create(2)
    queue.put_many(THERE)
    for look in (queue.stats, partial(queue.holder, "producer")):
        seen = look()
        gate.arm(1, Instead(full_memory))
        expect(look(), seen, "what a look tells whose transaction is refused")


@check("decided.looks")
def tells_all_after_it_gave_up(env: Environment) -> None:
    """Whatever becomes of the role that it did not get."""
    queue: Any = env.created()
    queue.put_many(THERE)
    for role, work in (("producer", partial(queue.put, b"v")), ("consumer", queue.get)):
        with held(env, f":{role}_free"), expect_error(QueueInUseError, f"a client that is no {role}"):
            work(timeout=0.01)
        env.redis.set(env.queue_key(f":{role}"), "another one")
        expect(queue.stats().length, len(THERE), "what a look tells")


@check("decided.refused")
def tells_what_became_of_a_message(env: Environment) -> None:
    for name, what in (("receive", "acknowledged"), ("reject", "rejected"), ("fail", "put back")):
        told = [each.told for _, each in attempts(env, OPERATIONS[name], partial(spoil, env, CONSUMER))]
        warned = [each for each in told if "and to free the consumer role" in each]
        expect({f"the message is {what}" in each for each in warned}, {True}, f"what is told: {told}")


@check("decided.refused")
def a_mark_that_cannot_go_back(env: Environment) -> None:
    """A Get was woken by a close; what comes until its next message is returned, with a warning."""
    for value in (b"v", None):

        def come(value: bytes | None = value) -> None:
            spoil(env, ":closed")
            if value is not None:
                env.redis.lpush(env.queue_key(), value)

        env.redis.delete(*map(env.queue_key, SUFFIXES))
        queue, gate = env.gated()
        queue.create()
        getting = env.start(partial(attempted, OPERATIONS["get"], queue))
        env.until_blocked(1)
        gate.arm(1, come)
        env.redis.lpush(env.queue_key(":closed"), 0, 0)
        attempt = getting.finish("a Get that a close has woken")
        expect((attempt.got, attempt.error is None), ([value], True) if value else ([], False), "what it got")
        expect(
            "a mark of the close could not be put back" in attempt.told, True, f"what is told: {attempt.told}"
        )


@check("decided.reliable-done")
def settles_the_oldest(env: Environment) -> None:
    """Others have moved messages to the same list meanwhile."""
    for ends, others in product(("well", "rejected"), range(3)):
        with our_own(env, "jobs", url=env.address.url, prefix=env.prefix) as queue:
            queue.create()
            queue.put_many([b"ours", *MORE])
            with queue.receive() as message:
                for _ in range(others):
                    env.redis.lmove(env.queue_key(), env.queue_key(":unacked"), "RIGHT", "LEFT")
                if ends == "rejected":
                    message.reject()
            seen = [elements(env, suffix) for suffix in (":unacked", ":rejected", "")]
            wanted = [[*MORE[:others]], [b"ours"] * (ends == "rejected"), [*MORE[others:]]]
            expect(seen, wanted, f"what is received, rejected, and waits, with {others} messages of others")
            queue.delete()


@check("decided.refused")
def scripts_are_refused_at_a_moment(env: Environment) -> None:
    """Plain commands go on from there, and nothing is to be told."""
    for name, operation in OPERATIONS.items():
        for moment, attempt in attempts(env, operation, Instead(no_scripts)):
            with described(f"{name}, with the script of message {moment} refused", attempt):
                expect_lawful(env, operation, attempt, None)
                told = "" if name == "fail" else attempt.told
                expect((told, attempt.stored), ("", len(operation.puts)), "what is told, and stored")


@check("decided.refused")
def scripts_are_refused_during_a_wait(env: Environment) -> None:
    waits: tuple[tuple[int, Callable[[Any], list[bytes]], list[bytes]], ...] = (
        (0, lambda queue: [queue.get()], [b"v"]),
        (0, lambda queue: list(queue.get_many(3)), [b"v"]),
        (0, receive, [b"v"]),
        (1, lambda queue: queue.put_many([b"v"]) or [], []),
    )
    for (full, work, got), moment in product(waits, range(1, 6)):
        env.redis.delete(*map(env.queue_key, SUFFIXES), *map(env.queue_key, LISTS))
        queue, gate = env.gated()
        queue.create(1)
        other = env.queue()
        if full:
            other.put(b"before")
        gate.arm(moment, Instead(no_scripts))
        waiting = env.start_blocked(partial(work, queue))
        if full:
            expect(other.get(), b"before", "what is got while a Put waits")
        else:
            other.put(b"v")
        expect(waiting.finish(f"an operation that waits, message {moment} refused"), got, "what it got")
        expect((contents(env).get("", []), length(env, ":unacked")), ([b"v"] * full, 0), "what is left")
        there, size = 1 + full, 1 + full * len(b"before")
        taken = 1, len(b"before") if full else 1
        expect(counters(env), [there, size, *taken], f"counters; message {moment} was refused")
        expect(
            [length(env, suffix) for suffix in (PRODUCER, CONSUMER, ":not_full")], [1, 1, 1 - full], "lists"
        )


@check("decided.refused")
def scripts_are_refused_to_who_waited_for_a_role(env: Environment) -> None:
    """Another client frees the role again at that moment, or does not; it is taken once and goes back once."""
    for (name, operation), is_freed in product(OPERATIONS.items(), (False, True)):
        role = env.queue_key(f":{operation.role}_free")

        def refuse(message: bytes, role: str = role, is_freed: bool = is_freed) -> bytes | None:
            if (answer := no_scripts(message)) is not None and is_freed:
                env.redis.set(role.removesuffix("_free"), "another's/released")
                env.redis.lpush(role, "another's")
            return answer

        env.redis.delete(*map(env.queue_key, SUFFIXES), *map(env.queue_key, LISTS))
        queue: Any
        queue, gate = env.gated()
        queue.create()
        queue.put_many(THERE)
        env.redis.rpop(role)
        env.redis.set(role.removesuffix("_free"), "another client")
        waiting = env.start_blocked(partial(attempted, operation, queue))
        gate.arm(1, *[Instead(refuse)] * 9)
        env.redis.lpush(role, "back")
        attempt = waiting.finish(f"a {name} that waited for its role, and may run no scripts then")
        with described(f"{name}, whose role another freed: {is_freed}", attempt):
            expect_lawful(env, operation, attempt, None)
            expect(isinstance(attempt.error, PressureError), False, "whether it fails")


@check("decided.refused")
def a_token_goes_back_where_memory_is_full(env: Environment) -> None:
    """A Put has waited for it, and is refused what it does then; a script gives it back."""
    if env.flavour == "plain":
        return  # without scripts nothing can be pushed there

    def refuse(message: bytes) -> bytes | None:
        return full_memory(message) or (loading(message) if b"EVALSHA" in message else None)

    queue: Any
    queue, gate = env.gated()
    queue.create(1)
    queue.put(b"before")
    putting = env.start_blocked(partial(queue.put, b"v"))
    gate.arm(1, *[Instead(refuse)] * 9)
    expect(env.queue().get(), b"before", "what is got while a Put waits for room")
    putting.expect_error(ServerReplyError, "a Put that is refused what it does with its token")
    seen = [length(env, suffix) for suffix in (":not_full", PRODUCER, "")]
    expect(seen, [1, 1, 0], "tokens, roles, values")


@check("decided.refused")
def a_role_is_freed_where_memory_is_full(env: Environment) -> None:
    """A script does what the transaction of a repair was refused; whoever runs no scripts says so, as of other refusals."""
    for role, (answer, is_freed) in product(
        ("producer", "consumer"), ((full_memory, env.flavour != "plain"), (loading, False))
    ):
        queue: Any
        queue, gate = env.gated()
        queue.create()
        take(env, role, b"other")
        gate.arm(1, *[Instead(first_transaction(answer))] * 9)
        with nullcontext() if is_freed else expect_error(ServerReplyError, f"a repair, {answer.__name__}"):
            queue.repair(force=True)
        expect(length(env, f":{role}_free"), int(is_freed), f"elements of the {role} role, {answer.__name__}")
        queue.repair(force=True)
        queue.delete()


@check("decided.refused")
def a_role_that_changed_is_not_freed_where_memory_is_full(env: Environment) -> None:
    """Another client takes it over, or gives it back, between the transaction that is refused and the script."""
    for is_given_back in () if env.flavour == "plain" else (False, True):
        refuse = first_transaction(full_memory)

        def change(message: bytes, refuse: Any = refuse, is_given_back: bool = is_given_back) -> bytes | None:
            if b"EVAL" in message and is_given_back:
                env.redis.lpush(env.queue_key(PRODUCER), "0")
            elif b"EVAL" in message:
                env.redis.set(env.queue_key(":producer"), "another")
            answer: bytes | None = refuse(message)
            return answer

        queue: Any
        queue, gate = env.gated()
        queue.create()
        take(env, "producer", b"other")
        gate.arm(1, *[Instead(change)] * 9)
        left = ("did not free the producer role: its holder changed during the repair",)
        expect(queue.repair(force=True).left, left, "what a repair leaves")
        expect(length(env, PRODUCER), int(is_given_back), "elements of the producer role")
        queue.repair(force=True)
        queue.delete()


@check("decided.refused")
def nothing_goes_back_to_a_queue_that_is_gone(env: Environment) -> None:
    """Others free a producer's role and delete the queue before its next message, when it has the token."""
    queue: Any
    queue, gate = env.gated()
    queue.create(1)
    queue.put(b"before")
    putting = env.start_blocked(partial(queue.put, b"v"))
    gate.arm(1, lambda: clear(env))
    env.redis.lpush(env.queue_key(":not_full"), "0")
    putting.expect_error(PressureError, "a Put to a queue that is deleted meanwhile")
    expect(contents(env), {}, "keys that are left")


def first_transaction(answer: Callable[[bytes], bytes | None]) -> Callable[[bytes], bytes | None]:
    """Answers the first transaction so, and lets all else through."""
    transactions = numbers()

    def refuse(message: bytes) -> bytes | None:
        return None if b"MULTI" not in message or next(transactions) else answer(message)

    return refuse
