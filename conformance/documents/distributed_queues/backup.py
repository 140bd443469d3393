"""The queue with an in-progress list."""

from __future__ import annotations

import threading
from typing import Any

from pressure import ItemLostError

from ...judging.environment import PATIENCE, Environment, expect, expect_error
from ..dying import every_death, moments_of
from ..large import claim_and_complete
from ..registry import check
from ..state import LONG, MishapError, claimed
from . import IN_PROGRESS, noted, patterns


def made(env: Environment, **options: Any) -> Any:
    return env.kind("BackupQueue", **options)


def claim(queue: Any) -> Any:
    """The next item, claimed; fails if there is none, and does not wait for ever."""
    return claimed(queue.claim(timeout=PATIENCE))


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


@patterns("backup.push", IN_PROGRESS)
def pushes(env: Environment) -> None:
    """An item is pushed onto the left of the pending list, and comes out in order."""
    queue = made(env)
    expect([queue.push(b"1"), queue.push(b"2", b"3")], [1, 3], "length after pushes")
    expect(pending(env), [b"1", b"2", b"3"], "what waits")
    expect([claim(queue).data for _ in range(3)], [b"1", b"2", b"3"], "what is claimed")


@patterns("backup.claim", IN_PROGRESS)
def claims(env: Environment) -> None:
    """A claim moves an item from the pending list to the in-progress list."""
    queue = made(env)
    queue.push(b"only")
    expect(claim(queue).data, b"only", "what is claimed")
    expect((pending(env), processing(env)), ([], [b"only"]), "both lists")
    expect(queue.claim(block=False), None, "a claim with nothing there")


@patterns("backup.complete", IN_PROGRESS)
def completes(env: Environment) -> None:
    """A completed item is removed from the in-progress list, one for one."""
    queue = made(env)
    queue.push(b"v", b"v", b"w")
    for _ in range(3):
        claim(queue)
    queue.complete(b"v")
    expect((pending(env), processing(env)), ([], [b"v", b"w"]), "both lists")
    expect(queue.requeue(b"w"), True, "whether it was put back")
    with queue.take(block=False):
        pass
    expect(processing(env), [b"v"], "what is in progress after a block that ended well")


@patterns("backup.left", IN_PROGRESS)
def leaves(env: Environment) -> None:
    """What a consumer fails to do is on the in-progress list still."""
    queue = made(env)
    queue.push(b"v")
    with expect_error(MishapError, "a block that ends by an error"), queue.take(timeout=PATIENCE):
        raise MishapError
    expect((pending(env), processing(env)), ([], [b"v"]), "both lists")
    expect([each.item.data for each in queue.in_progress()], [b"v"], "what is told to be in progress")


@patterns("backup.by-hand", IN_PROGRESS)
def by_hand(env: Environment) -> None:
    """By hand, items in progress go back to the pending list or are discarded."""
    queue = made(env)
    queue.push(b"1", b"2", b"3")
    first, second = claim(queue), claim(queue)
    expect((queue.discard(first), queue.discard(first)), (True, False), "whether it was discarded")
    expect((queue.requeue(second), queue.requeue(second)), (True, False), "whether it was requeued")
    expect((pending(env), processing(env)), ([b"2", b"3"], []), "both lists")


@patterns("backup.raw", IN_PROGRESS, level="decided")
def raw(env: Environment) -> None:
    """Clients that send the plain commands take part."""
    queue = made(env)
    env.redis.lpush(env.key("jobs"), "theirs")
    queue.push(b"ours")
    theirs = claim(queue)
    ours = env.redis.lmove(env.key("jobs"), env.key("jobs:processing"), "RIGHT", "LEFT")
    expect((theirs.data, ours), (b"theirs", b"ours"), "what each claims")
    queue.complete(ours)
    env.redis.lrem(env.key("jobs:processing"), 1, "theirs")
    queue.requeue_stale(LONG)
    expect(env.redis.exists(env.key("jobs:claims")), 0, "times that are left")


@patterns("backup.never-lost", IN_PROGRESS)
def dies(env: Environment) -> None:
    """Wherever a client dies, an item is in one of the lists, or done with."""
    given_up: set[bytes] = set()  # what was to be completed or discarded

    def setup() -> Any:
        env.redis.delete(*(env.key(f"jobs{suffix}") for suffix in ("", ":processing", ":claims")))
        given_up.clear()
        queue = made(env)
        queue.push(b"1", b"2")
        claim(queue)
        return queue

    def work(queue: Any) -> None:
        second = claim(queue)
        given_up.add(second.data)
        queue.complete(second)
        queue.requeue(b"1")
        first = claim(queue)
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


@noted("backup.waits", "2, LMOVE / BLMOVE")
def waits(env: Environment) -> None:
    """A claim may wait: BLMOVE."""
    queue = made(env)
    claiming = env.start_blocked(lambda: queue.claim(timeout=10))
    env.redis.lpush(env.key("jobs"), "v")
    expect(claiming.finish("a claim that waits").data, b"v", "what it claims")
    expect((processing(env), env.redis.zcard(env.key("jobs:claims"))), ([b"v"], 1), "list and times after it")
    expect(queue.claim(timeout=0.01), None, "a claim whose time is over")


@noted("backup.reaper", "5", level="may")
def reaps(env: Environment) -> None:
    """A reaper requeues what was claimed too long ago, by times in a sorted set."""
    queue = aged(env)
    expect({each.data for each in queue.requeue_stale(LONG)}, {b"1", b"2"}, "what goes back")
    expect((sorted(pending(env)), processing(env)), ([b"1", b"2", b"4"], [b"3"]), "both lists")
    env.redis.lrem(env.key("jobs:processing"), 1, "3")
    queue.requeue_stale(LONG)
    expect(env.redis.zcard(env.key("jobs:claims")), 0, "times of what is not in progress")


@noted("backup.front", "5", level="decided")
def to_the_front(env: Environment) -> None:
    """What goes back is claimed next, the oldest first."""
    queue = aged(env)
    queue.requeue_stale(LONG)
    expect([claim(queue).data for _ in range(3)], [b"1", b"2", b"4"], "what is claimed then")


def aged(env: Environment) -> Any:
    """A queue with 1, 2 and 3 in progress, two of them for long, and 4 waiting."""
    queue = made(env)
    queue.push(b"1", b"2", b"3", b"4")
    for _ in range(3):
        claim(queue)
    age(env, "1", "2")
    return queue


@noted("backup.first-sight", "5", level="decided")
def first_sight(env: Environment) -> None:
    """An item without a time is given that at which the reaper sees it."""
    queue = made(env)
    queue.push(b"v")
    env.redis.lmove(env.key("jobs"), env.key("jobs:processing"), "RIGHT", "LEFT")
    expect(queue.requeue_stale(LONG), [], "what goes back at first sight")
    age(env, "v")
    expect([each.data for each in queue.requeue_stale(LONG)], [b"v"], "what goes back a period later")


@noted("backup.once", "5", level="decided")
def two_reapers(env: Environment) -> None:
    """Of two reapers one puts an item back."""
    items = [b"%d" % number for number in range(50)]
    queue = made(env)
    queue.push(*items)
    for _ in items:
        claim(queue)
    begin = threading.Barrier(3)

    def reap(reaper: Any) -> list[bytes]:
        begin.wait()
        return [each.data for each in reaper.requeue_stale(0)]

    reaping = [env.start(lambda reaper=made(env): reap(reaper)) for _ in range(3)]  # type: ignore[misc]  # noqa: B008
    back = [data for each in reaping for data in each.finish("a reaper")]
    expect(sorted(back), sorted(items), "what three reapers say that they put back")
    expect((pending(env), processing(env)), (items, []), "both lists")


@noted("backup.late", "5", level="decided")
def late(env: Environment) -> None:
    """Who completes what was put back is told."""
    queue = made(env)
    queue.push(b"v")
    with (
        expect_error(ItemLostError, "the end of a block whose item was put back"),
        queue.take(timeout=PATIENCE),
    ):
        queue.requeue_stale(0)
    expect((pending(env), processing(env)), ([b"v"], []), "both lists")


@noted("backup.caps", "2, LTRIM")
def caps(env: Environment) -> None:
    """A queue of a certain length drops its oldest items as it is pushed to."""
    queue = made(env, maxlen=2)
    expect([queue.push(b"1"), queue.push(b"2", b"3"), queue.push(b"4")], [1, 2, 2], "lengths")
    expect(pending(env), [b"3", b"4"], "what waits")


@noted("backup.envelope", "5", level="decided")
def envelope(env: Environment) -> None:
    """With envelopes equal items are told apart."""
    queue = made(env, envelope=True)
    queue.push(b"v", b"v")
    first, second = claim(queue), claim(queue)
    expect((first.value, second.value), (b"v", b"v"), "values")
    queue.complete(first)
    expect(processing(env), [second.data], "what is in progress")


@check("backup.claim")
def a_large_item_is_claimed(env: Environment) -> None:
    claim_and_complete(env, env.kind("BackupQueue"))
