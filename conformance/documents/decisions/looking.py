"""What our own client tells of a queue without taking a role, and what it says of keys that no client wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import product
from typing import Any, Final

from pressure import MalformedQueueError, QueueDoesNotExistError, QueueEmptyError

from ...judging.environment import Environment, expect, expect_error
from ..registry import check
from ..state import LISTS, SUFFIXES, contents
from . import HOLD, OURS, decided, ours

HOLDERS: Final = ((None, b""), (b"other", b"other"), (b"other/released", b"other/released"), (HOLD, HOLD), (HOLD + b"/released", b""))  # fmt: skip
"""What names the holder of a role that is taken, and what is told of it."""

COUNTERS: Final = {
    "produced messages": 19,
    "produced bytes": 23,
    "consumed messages": 10,
    "consumed bytes": 14,
}

NO_NUMBERS: Final = (b"", b"x", b"-1", b"1.5", b"1" * 20)


@decided("decided.looks", "Length, Closed, and further looks", needs=OURS)
def looks(env: Environment) -> None:
    """A look tells what the keys hold, values in the order in which Gets would take them, and changes
    nothing."""
    with ours(env) as queue:
        for look in ("stats", "peek", "length", "closed", "qsize", "empty", "full"):
            with expect_error(QueueDoesNotExistError, f"{look} of no queue"):
                getattr(queue, look)()
        for look, argument in (("peek_many", 1), ("rejected", 1), ("holder", "producer")):
            with expect_error(QueueDoesNotExistError, f"{look} of no queue"):
                getattr(queue, look)(argument)
        for bound, count in product((0, 1, 3), range(5)):
            queue.create(bound)
            for value in range(count):
                queue.put(b"%d" % value, overfill=True)
            expect_seen(env, queue, bound, [b"%d" % value for value in range(count)])
            queue.delete()


def expect_seen(env: Environment, queue: Any, bound: int, waiting: list[bytes]) -> None:
    """Fails unless looks tell what waits, and change nothing."""
    before, count = contents(env), len(waiting)
    for most in range(1, count + 2):
        expect(queue.peek_many(most), waiting[:most], f"up to {most} of {count} values that are next")
    seen = (queue.length(), queue.qsize(), queue.empty(), queue.full())
    expect(seen, (count, count, count == 0, 0 < bound <= count), f"looks at {count} with a bound of {bound}")
    if waiting:
        expect(queue.peek(), waiting[0], "the next value")
    else:
        with expect_error(QueueEmptyError, "a look at the next value of an empty queue"):
            queue.peek()
    expect(contents(env), before, "keys after looks")


@check("decided.looks")
def tells_all_numbers(env: Environment) -> None:
    """Every number is another one, so that none is told in the place of another."""
    with ours(env) as queue:
        queue.create(5)
        for suffix, length in (("", 2), (":unacked", 3), (":rejected", 4), (":closed", 2)):
            env.redis.lpush(env.queue_key(suffix), *range(length))
        for what, number in COUNTERS.items():
            env.redis.set(counter(env, what), number)
        numbers = {"length": 2, "bound": 5, "closed": True, "unacknowledged": 3, "rejected": 4}
        numbers |= {what.replace(" ", "_"): number for what, number in COUNTERS.items()}
        expect(asdict(queue.stats()), {**numbers, "producer": None, "consumer": None}, "all numbers")


def counter(env: Environment, what: str) -> str:
    return env.queue_key(f":stats:{what.replace(' ', '_')}")


@check("decided.looks")
def tells_who_holds_a_role(env: Environment) -> None:
    with ours(env) as queue:
        queue.create()
        for role, (name, told) in product(("producer", "consumer"), HOLDERS):
            free, holder = env.queue_key(f":{role}_free"), env.queue_key(f":{role}")
            env.redis.delete(free, holder)
            if name is not None:
                env.redis.set(holder, name)
            for elements, seen in ((0, told), (1, None), (2, None)):
                if elements:
                    env.redis.rpush(free, "0")
                found = (queue.holder(role), getattr(queue.stats(), role))
                expect(found, (seen, seen), f"the {role} with {elements} elements in its list and {name!r}")


@decided("decided.malformed", "keys that another program wrote", needs=OURS)
def names_what_is_malformed(env: Environment) -> None:
    """A number that is none, and a key of another type, is named in the error."""
    with ours(env) as queue:
        queue.create()
        for number in NO_NUMBERS:
            for what in COUNTERS:
                env.redis.set(counter(env, what), number)
                expect_named(env, queue.stats, f"counter of {what} ", repr(number))
                env.redis.delete(counter(env, what))
            env.redis.set(env.queue_key(":bound"), number)
            for operate in (queue.stats, queue.length, queue.full, lambda: queue.put(b"v")):
                expect_named(env, operate, "its bound ", repr(number[:60]))
            env.redis.set(env.queue_key(":bound"), 0)


def expect_named(env: Environment, operate: Callable[[], object], *names: str) -> None:
    """Fails unless an operation says that the queue is malformed, and each of these in the error."""
    error = env.start(operate).error("an operation on a malformed queue")
    missing = [name for name in names if name not in str(error)]
    expect((type(error), missing), (MalformedQueueError, []), f"what is not in {error}")


@check("decided.malformed")
def names_keys_of_another_type(env: Environment) -> None:
    with ours(env) as queue:
        for spoiled in (("",), (":bound", ":unacked"), (":producer", ":consumer_free"), SUFFIXES):
            env.redis.delete(*map(env.queue_key, SUFFIXES), *map(env.queue_key, LISTS))
            queue.create()
            env.redis.delete(*map(env.queue_key, spoiled))
            for suffix in spoiled:
                env.redis.hset(env.queue_key(suffix), "field", "value")
            for operate in (queue.stats, queue.repair):
                expect_named(
                    env, operate, *(f"key {env.queue_key(suffix)} holds a hash," for suffix in spoiled)
                )
                error = env.start(operate).error("an operation on a malformed queue")
                expect(str(error).count(" holds a "), len(spoiled), "keys that are named")
