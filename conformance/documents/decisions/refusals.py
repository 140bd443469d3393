"""A server that refuses a command in the middle of an operation, since a key is something else by then."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count as numbers
from itertools import product
from typing import Any, Final

from pressure import (
    MalformedQueueError,
    PressureError,
    PressureWarning,
    QueueDoesNotExistError,
    QueueInUseError,
    ServerReplyError,
)

from ...judging.environment import Environment, Failure, expect, expect_error
from ...wire.gate import Act, Gate, Instead, full_memory, loading, no_scripts
from ..registry import check
from ..state import (
    CONSUMER,
    COUNTERS,
    LISTS,
    LONG,
    PRODUCER,
    SUFFIXES,
    MishapError,
    contents,
    counters,
    held,
    length,
    our_own,
    text,
)
from . import RECEIVE, decided, ours
from .moments import begin_delete

THERE: Final = [b"a", b"bb"]
"""What waits before each operation."""

MORE: Final = (b"c", b"dd", b"")
"""What is put."""


def put(queue: Any) -> list[bytes]:
    queue.put(MORE[0])
    return []


def put_many(queue: Any) -> list[bytes]:
    queue.put_many(MORE)
    return []


def close(queue: Any) -> list[bytes]:
    queue.shutdown()
    return []


def receive(queue: Any, *, ends: str = "well") -> list[bytes]:
    with queue.receive() as message:
        if ends == "by an error":
            raise MishapError
        if ends == "rejected":
            message.reject()
    return [] if ends == "rejected" else [message.data]


@dataclass(frozen=True)
class Operation:
    """What is done to a queue.

    Attributes:
        work: does it, and returns what it got.
        role: the role that it takes.
        puts: what it puts.
        takes: how many messages it takes for good.
    """

    work: Callable[[Any], list[bytes]]
    role: str
    puts: tuple[bytes, ...] = ()
    takes: int = 0


OPERATIONS: Final = {
    "put": Operation(put, "producer", MORE[:1]),
    "put_many": Operation(put_many, "producer", MORE),
    "close": Operation(close, "producer"),
    "get": Operation(lambda queue: [queue.get()], "consumer", takes=1),
    "get_many": Operation(lambda queue: list(queue.get_many(5)), "consumer", takes=2),
    "receive": Operation(receive, "consumer", takes=1),
    "reject": Operation(partial(receive, ends="rejected"), "consumer", takes=1),
    "fail": Operation(partial(receive, ends="by an error"), "consumer"),
}

KEYS: Final = {
    "producer": ("", ":bound", ":closed", ":not_full", ":producer", PRODUCER, *COUNTERS[:2]),
    "consumer": ("", ":bound", ":closed", ":not_full", ":consumer", CONSUMER, *COUNTERS[2:], ":unacked", ":rejected"),
}  # fmt: skip
"""The keys that a client touches in a role."""


@dataclass(frozen=True)
class Attempt:
    """An operation that is over.

    Attributes:
        got: what it got.
        stored: how many values it has put, as far as it says.
        error: what it raised.
        told: what the error and warnings say, with notes.
        looks: whether a look at the queue is told, after others have changed what the operation may have watched.
    """

    got: list[bytes]
    stored: int
    error: Exception | None
    told: str
    looks: bool = True


def attempted(operation: Operation, queue: Any) -> Attempt:
    """What came of an operation.

    Raises:
        Exception: it raised something that no operation may.
    """
    got, stored = list[bytes](), len(operation.puts)
    error: Exception | None = None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", PressureWarning)
        try:
            got = operation.work(queue)
        except PressureError as raised:
            stored, error = raised.done, raised
        except MishapError as raised:
            error = raised
    told = (*(each.message for each in seen), error or "", *getattr(error, "__notes__", ()))
    return Attempt(got, stored, error, "\n".join(map(str, told)))


def attempts(
    env: Environment, operation: Operation, act: Act, **settings: object
) -> Iterator[tuple[int, Attempt]]:
    """An operation after another; something happens at a later message of each."""
    with Gate(env.address) as gate:
        for moment in numbers(1):
            env.redis.delete(*map(env.queue_key, SUFFIXES), *map(env.queue_key, LISTS))
            with our_own(env, "jobs", url=gate.url, prefix=env.prefix, **settings) as queue:
                queue.create()
                queue.put_many(THERE)
                gate.arm(moment, act)
                attempt, sent = attempted(operation, queue), gate.disarm()
                yield moment, replace(attempt, looks=looks(env, queue))
                if sent < moment:
                    return


def looks(env: Environment, queue: Any) -> bool:
    """Whether a look at a queue is told after others have changed all its keys."""
    for suffix in SUFFIXES:
        env.redis.expire(env.queue_key(suffix), int(LONG))
        env.redis.persist(env.queue_key(suffix))
    try:
        queue.stats()
    except (MalformedQueueError, QueueDoesNotExistError):
        return True
    except Exception:  # no look ends by another
        return False
    return True


def expect_lawful(
    env: Environment, operation: Operation, attempt: Attempt, spoiled: str | None, *, is_freed: bool = False
) -> None:
    """Fails if a message is lost or doubled, if a role is kept, or if something is wrong that is not told.

    What is spoiled that names the holder looks as if another client had freed the role: from then on this one writes
    nothing more.
    """
    lists = ("", ":unacked", ":rejected")
    for suffix in {PRODUCER, CONSUMER, ":not_full"} - {spoiled, f"{spoiled}_free"}:
        expect(length(env, suffix), 1, f"elements of {suffix}")
    if spoiled not in lists:
        waiting, unacked, rejected = (elements(env, suffix) for suffix in lists)
        flow = [*attempt.got, *rejected, *unacked, *waiting]
        expect(flow, [*THERE, *operation.puts[: attempt.stored]], "all messages, the oldest first")
    if attempt.error is None and operation.takes and spoiled != ":unacked":
        expect(
            length(env, ":unacked"), 0, "messages that are not acknowledged after an operation that was done"
        )
    if spoiled is None:
        expect("could not be given back" in attempt.told, False, "whether a role is told of that is free")
    is_freed = is_freed or spoiled in {":producer", ":consumer"}
    if attempt.error is None and not is_freed and (operation.puts or operation.takes):
        is_told = "refused to count" in attempt.told
        wrong = [suffix for suffix in COUNTERS if not is_right(env, operation, suffix)]
        expect(
            is_told,
            bool(wrong) or (is_told and spoiled is not None),
            f"whether it is told that {wrong} are wrong",
        )


def elements(env: Environment, suffix: str) -> list[bytes]:
    """Those of a list, from its right end."""
    found: Any = env.redis.lrange(env.queue_key(suffix), 0, -1)
    return list(reversed(found))


def is_right(env: Environment, operation: Operation, suffix: str) -> bool:
    """Whether a counter is right after an operation that was done."""
    put = (*THERE, *operation.puts)
    counted = put if suffix in COUNTERS[:2] else put[: operation.takes]
    number = len(counted) if suffix.endswith("_messages") else sum(map(len, counted))
    return is_spoiled(env, suffix) is False and int(text(env, suffix) or 0) == number


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


def spoil(env: Environment, suffix: str) -> None:
    """Makes a key something that no client would write."""
    env.redis.delete(env.queue_key(suffix))
    env.redis.hset(env.queue_key(suffix), "field", "value")


def is_spoiled(env: Environment, suffix: str) -> bool:
    return env.redis.type(env.queue_key(suffix)) == b"hash"


@contextmanager
def described(where: str, attempt: Attempt) -> Iterator[None]:
    """Says where a block fails."""
    try:
        yield
    except Failure as failure:
        raise Failure(f"{where}: {failure}; {attempt}") from failure


@check("decided.refused")
def refused_as_a_whole(env: Environment) -> None:
    """The server refuses all that a client sends at a moment, or a transaction, as where its memory is full."""
    for (name, operation), answer in product(OPERATIONS.items(), (loading, full_memory)):
        for moment, attempt in attempts(env, operation, Instead(answer)):
            with described(f"{name}, with message {moment} refused", attempt):
                expect_lawful(env, operation, attempt, None)


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
