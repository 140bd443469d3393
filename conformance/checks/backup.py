"""The queue with an in-progress list."""

from __future__ import annotations

import threading
from typing import Any

from pressure import ItemLostError

from ..judging.environment import Environment, expect, expect_error
from .dying import every_death, moments_of
from .registry import check

LONG: float = 3600.0
"""Seconds; longer than any check takes."""


class MishapError(Exception):
    """What goes wrong in a block."""


def made(env: Environment, **options: Any) -> Any:
    return env.kind("BackupQueue", **options)


def pending(env: Environment) -> list[bytes]:
    """What waits, the next first."""
    found: Any = env.redis.lrange(env.key("jobs"), 0, -1)
    return list(found[::-1])


def processing(env: Environment) -> list[bytes]:
    """What is in progress, the oldest first."""
    found: Any = env.redis.lrange(env.key("jobs:processing"), 0, -1)
    return list(found[::-1])


def age(env: Environment, *items: str) -> None:
    """Makes claims old."""
    for item in items:
        env.redis.zadd(env.key("jobs:claims"), {item: -2000 * LONG}, xx=True, incr=True)


@check("backup.push", "backup.claim")
def moves(env: Environment) -> None:
    queue = made(env)
    expect(queue.push(b"1", b"2", b"3"), 3, "length after three pushes")
    expect(pending(env), [b"1", b"2", b"3"], "what waits")
    expect([queue.claim().data for _ in range(2)], [b"1", b"2"], "what is claimed")
    expect((pending(env), processing(env)), ([b"3"], [b"1", b"2"]), "both lists")
    queue.claim()
    expect(queue.claim(block=False), None, "a claim with nothing there")


@check("backup.complete")
def completes(env: Environment) -> None:
    queue = made(env)
    queue.push(b"v", b"v", b"w")
    for _ in range(3):
        queue.claim()
    queue.complete(b"v")
    expect((pending(env), processing(env)), ([], [b"v", b"w"]), "both lists")
    with queue.take(block=False) if queue.requeue(b"w") else expect_error(MishapError, "a requeue"):
        pass
    expect(processing(env), [b"v"], "what is in progress after a block that ended well")


@check("backup.left")
def leaves(env: Environment) -> None:
    queue = made(env)
    queue.push(b"v")
    with expect_error(MishapError, "a block that ends by an error"), queue.take():
        raise MishapError
    expect((pending(env), processing(env)), ([], [b"v"]), "both lists")
    expect([each.item.data for each in queue.in_progress()], [b"v"], "what is told to be in progress")


@check("backup.by-hand")
def by_hand(env: Environment) -> None:
    queue = made(env)
    queue.push(b"1", b"2", b"3")
    first, second = queue.claim(), queue.claim()
    expect((queue.discard(first), queue.discard(first)), (True, False), "whether it was discarded")
    expect((queue.requeue(second), queue.requeue(second)), (True, False), "whether it was requeued")
    expect((pending(env), processing(env)), ([b"2", b"3"], []), "both lists")


@check("backup.raw")
def raw(env: Environment) -> None:
    queue = made(env)
    env.redis.lpush(env.key("jobs"), "theirs")
    queue.push(b"ours")
    theirs = queue.claim()
    ours = env.redis.lmove(env.key("jobs"), env.key("jobs:processing"), "RIGHT", "LEFT")
    expect((theirs.data, ours), (b"theirs", b"ours"), "what each claims")
    queue.complete(ours)
    env.redis.lrem(env.key("jobs:processing"), 1, "theirs")
    queue.requeue_stale(LONG)
    expect(env.redis.exists(env.key("jobs:claims")), 0, "times that are left")


@check("backup.never-lost")
def dies(env: Environment) -> None:
    given_up: set[bytes] = set()  # what was to be completed or discarded

    def setup() -> Any:
        env.redis.delete(*(env.key(f"jobs{suffix}") for suffix in ("", ":processing", ":claims")))
        given_up.clear()
        queue = made(env)
        queue.push(b"1", b"2")
        queue.claim()
        return queue

    def work(queue: Any) -> None:
        second = queue.claim(block=False)
        given_up.add(second.data)
        queue.complete(second)
        queue.requeue(b"1")
        first = queue.claim(block=False)
        given_up.add(first.data)
        queue.discard(first)

    def look(what: str) -> None:
        left = [*pending(env), *processing(env)]
        expect(len(left), len(set(left)), f"items {what}, each once: {left}")
        expect({*left, *given_up}, {b"1", b"2"}, f"items {what} that are there, or were done with")

    for survivor, _ in every_death(env, "BackupQueue", setup, work):
        look("after a death")
        survivor.requeue_stale(0)
        look("after a death and a reaper")
        expect(processing(env), [], "what is in progress when all went back")
    for at, act in moments_of("BackupQueue", env, setup, lambda queue: queue.requeue_stale(0)):
        what = f"items after a reaper that died at message {at} ({act})"
        expect(sorted([*pending(env), *processing(env)]), [b"1", b"2"], what)


@check("backup.waits")
def waits(env: Environment) -> None:
    queue = made(env)
    claiming = env.start(lambda: queue.claim(timeout=10))
    env.until_blocked(1)
    env.redis.lpush(env.key("jobs"), "v")
    expect(claiming.finish("a claim that waits").data, b"v", "what it claims")
    expect((processing(env), env.redis.zcard(env.key("jobs:claims"))), ([b"v"], 1), "list and times after it")
    expect(queue.claim(timeout=0.01), None, "a claim whose time is over")


@check("backup.reaper", "backup.front")
def reaps(env: Environment) -> None:
    queue = made(env)
    queue.push(b"1", b"2", b"3", b"4")
    for _ in range(3):
        queue.claim()
    age(env, "1", "2")
    back = queue.requeue_stale(LONG)
    expect([each.data for each in back], [b"1", b"2"], "what goes back")
    expect((pending(env), processing(env)), ([b"1", b"2", b"4"], [b"3"]), "both lists")
    env.redis.lrem(env.key("jobs:processing"), 1, "3")
    queue.requeue_stale(LONG)
    expect(env.redis.zcard(env.key("jobs:claims")), 0, "times of what is not in progress")


@check("backup.first-sight")
def first_sight(env: Environment) -> None:
    queue = made(env)
    queue.push(b"v")
    env.redis.lmove(env.key("jobs"), env.key("jobs:processing"), "RIGHT", "LEFT")
    expect(queue.requeue_stale(LONG), [], "what goes back at first sight")
    age(env, "v")
    expect([each.data for each in queue.requeue_stale(LONG)], [b"v"], "what goes back a period later")


@check("backup.once")
def two_reapers(env: Environment) -> None:
    items = [b"%d" % number for number in range(50)]
    queue = made(env)
    queue.push(*items)
    for _ in items:
        queue.claim()
    begin = threading.Barrier(3)

    def reap(reaper: Any) -> list[bytes]:
        begin.wait()
        return [each.data for each in reaper.requeue_stale(0)]

    reaping = [env.start(lambda reaper=made(env): reap(reaper)) for _ in range(3)]  # type: ignore[misc]  # noqa: B008
    back = [data for each in reaping for data in each.finish("a reaper")]
    expect(sorted(back), sorted(items), "what three reapers say that they put back")
    expect((pending(env), processing(env)), (items, []), "both lists")


@check("backup.late")
def late(env: Environment) -> None:
    queue = made(env)
    queue.push(b"v")
    with expect_error(ItemLostError, "the end of a block whose item was put back"), queue.take():
        queue.requeue_stale(0)
    expect((pending(env), processing(env)), ([b"v"], []), "both lists")


@check("backup.caps")
def caps(env: Environment) -> None:
    queue = made(env, maxlen=2)
    expect([queue.push(b"1"), queue.push(b"2", b"3"), queue.push(b"4")], [1, 2, 2], "lengths")
    expect(pending(env), [b"3", b"4"], "what waits")


@check("backup.envelope")
def envelope(env: Environment) -> None:
    queue = made(env, envelope=True)
    queue.push(b"v", b"v")
    first, second = queue.claim(), queue.claim()
    expect((first.value, second.value), (b"v", b"v"), "values")
    queue.complete(first)
    expect(processing(env), [second.data], "what is in progress")
