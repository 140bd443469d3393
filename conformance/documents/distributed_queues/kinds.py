"""Queues of several kinds: a name is one queue's, of one kind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any, Final, TypeAlias

from pressure import QueueAlreadyExistsError

from ...judging.environment import Environment, expect, expect_error
from ..registry import check
from ..state import LONG
from . import IN_PROGRESS, patterns


@patterns("kinds.apart", IN_PROGRESS, level="decided")
def apart(env: Environment) -> None:
    """A queue of one kind is refused to clients of another."""
    env.kind("RingQueue").push(b"1")
    with expect_error(QueueAlreadyExistsError, "a ring as a backup queue"):
        env.kind("BackupQueue").claim(block=False)
    with expect_error(QueueAlreadyExistsError, "a ring as a reliable queue"):
        env.kind("ReliableQueue").pop(block=False)
    expect(env.redis.llen(env.key("jobs")), 1, "items of the ring")


@check("kinds.apart")
def a_wait_goes_on_with_its_kind(env: Environment) -> None:
    queue = env.kind("BackupQueue")
    claiming = env.start_blocked(lambda: queue.claim(timeout=10))
    env.redis.set(env.key("jobs:kind"), "ring")
    env.redis.lpush(env.key("jobs"), "theirs")
    claiming.expect_error(QueueAlreadyExistsError, "a claim that waited while a ring was made")
    expect(
        (env.redis.lrange(env.key("jobs"), 0, -1), env.redis.exists(env.key("jobs:processing"))),
        ([b"theirs"], 0),
        "what waits",
    )
    clear(env)
    claiming = env.start_blocked(lambda: queue.claim(timeout=10))
    env.redis.lpush(env.key("jobs"), "another program's")
    queue.complete(claiming.finish("a claim that waited"))
    expect(env.redis.keys(f"{env.prefix}*"), [], "keys that are left of a queue that another program made")


@check("kinds.apart")
def names_that_collide_are_refused(env: Environment) -> None:
    for suffix in (
        ":processing",
        ":claims",
        ":delayed",
        ":due",
        ":deliveries",
        ":beats",
        ":notes",
        ":kind",
        ":lock:v",
    ):
        for kind in ("BackupQueue", "RingQueue", "ReliableQueue"):
            with expect_error(ValueError, f"a {kind} whose name ends with {suffix}"):
                env.kind(kind, f"jobs{suffix}")
    env.kind("BackupQueue", "jobs:kinds").push(b"v")


SIGNS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "": {"reliable": ("XADD", "*", "payload", "v")},
    ":delayed": {"reliable": ("ZADD", "1", "v")},
    ":processing": {"backup": ("LPUSH", "v")},
    ":claims": {"backup": ("ZADD", "1", "v")},
    ":kind": {"backup": ("SET", "backup"), "ring": ("SET", "ring")},
}
"""What tells the kind of a queue: by a key's suffix the kinds, and the command that makes the key."""

Use: TypeAlias = Callable[[Any], object]

USES: Final[dict[str, tuple[str, Use, Use]]] = {
    "backup": ("BackupQueue", lambda queue: queue.push(b"v"), lambda queue: queue.claim(block=False)),
    "ring": ("RingQueue", lambda queue: queue.push(b"v"), lambda queue: queue.claim_next(LONG)),
    "reliable": ("ReliableQueue", lambda queue: queue.push(b"v"), lambda queue: queue.pop(block=False)),
}
"""By the kind, its class, and how something is added and taken."""


@check("kinds.apart")
def each_key_tells_the_kind(env: Environment) -> None:
    redis: Any = env.redis
    for suffix, kinds in SIGNS.items():
        for kind, (name, *words) in kinds.items():
            for other, (class_name, *uses) in USES.items():
                for use in uses:
                    clear(env)
                    redis.execute_command(name, env.key(f"jobs{suffix}"), *words)
                    error = env.start(partial(use, env.kind(class_name))).error("a use of a queue")
                    wanted = type(None) if other == kind else QueueAlreadyExistsError
                    expect(
                        type(error),
                        wanted,
                        f"what stops a use as {other} of a queue with {suffix or 'its key'} of {kind}",
                    )


def clear(env: Environment) -> None:
    """Removes all keys of the check."""
    keys: Any = env.redis.keys(f"{env.prefix}*")
    if keys:
        env.redis.delete(*keys)


@check("kinds.apart")
def kinds_are_marked(env: Environment) -> None:
    """Who adds marks the kind, and who only looks or finds nothing leaves no key."""
    for kind, (class_name, add, take) in USES.items():
        clear(env)
        take(env.kind(class_name))
        expect(
            env.redis.keys(f"{env.prefix}*"),
            [],
            f"keys that taking from a {kind} queue leaves, which is empty",
        )
        mark = None if kind == "reliable" else kind.encode()
        for use in (add, take)[: 2 if mark else 1]:
            clear(env)
            if use is take:
                env.redis.lpush(env.key("jobs"), "another program's")
            use(env.kind(class_name))
            expect(env.redis.get(env.key("jobs:kind")), mark, f"the mark of a {kind} queue")


@check("kinds.apart")
def looks_mark_nothing(env: Environment) -> None:
    """A list that another program made is either kind's until something is added or taken."""
    for kind, (class_name, _, take) in USES.items():
        queue = env.kind(class_name)
        looks = (queue.info, queue.inspect) if kind == "reliable" else (queue.length, queue.peek)
        for look in (*looks, *((queue.in_progress,) if kind == "backup" else ())):
            clear(env)
            if kind == "reliable":
                take(queue)
            else:
                env.redis.lpush(env.key("jobs"), "another program's")
            before = env.redis.keys(f"{env.prefix}*")
            look()
            expect(env.redis.keys(f"{env.prefix}*"), before, f"keys after a look at a {kind} queue")


@check("kinds.apart")
def what_a_wait_takes_is_marked(env: Environment) -> None:
    """As long as there is a list to mark."""
    for number, mark in ((1, None), (2, b"backup")):
        clear(env)
        claiming = env.start_blocked(partial(env.kind("BackupQueue").claim, timeout=10))
        env.redis.lpush(env.key("jobs"), *range(number))
        claiming.finish("a claim that waited")
        expect(env.redis.get(env.key("jobs:kind")), mark, f"the mark after a claim of one of {number}")


@check("kinds.apart")
def the_first_mark_counts(env: Environment) -> None:
    """Another client makes a queue of another kind between any two messages of a push."""
    for (kind, other), moment in product((("backup", "ring"), ("ring", "backup")), range(1, 5)):
        clear(env)
        queue, gate = env.gated_kind(USES[kind][0])

        def make_other(other: str = other) -> None:
            with suppress(QueueAlreadyExistsError):
                env.kind(USES[other][0]).push(b"theirs")

        gate.arm(moment, make_other)
        error = env.start(partial(queue.push, b"ours")).error("a push")
        there, mark = env.redis.lrange(env.key("jobs"), 0, -1), env.redis.get(env.key("jobs:kind"))
        seen = (type(error), there, mark)
        refused = (QueueAlreadyExistsError, [b"theirs"], other.encode())
        first = (type(None), [b"ours"], kind.encode())
        expect(
            seen in (refused, first), True, f"the error, the items and the mark, {other} at {moment}: {seen}"
        )
