"""The queue with an in-progress list."""

from __future__ import annotations

from itertools import product
from typing import Any

from pressure import ItemLostError, QueueEmptyError, ServerReplyError

from ...judging.environment import Environment, expect, expect_error
from ...judging.running import PATIENCE
from ..dying import every_death, moments_of
from ..large import claim_and_complete
from ..registry import check
from ..state import LONG, MishapError, claimed, during, server_time
from . import IN_PROGRESS, ITEMS, expect_counted, noted, patterns


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


def forget(env: Environment) -> None:
    """Removes the queue, but not the key that tells its kind."""
    env.redis.delete(*(env.key(f"jobs{suffix}") for suffix in ("", ":processing", ":claims")))


def claims_of(env: Environment) -> dict[bytes, float]:
    """The times of claims in milliseconds, by item."""
    found: Any = env.redis.zrange(env.key("jobs:claims"), 0, -1, withscores=True)
    return dict(found)


def age(env: Environment, *items: Any) -> None:
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


@check("backup.push")
def any_number_is_counted(env: Environment) -> None:
    queue = made(env)
    expect_counted(queue, lambda: forget(env))
    expect([claim(queue).data for _ in ITEMS], list(ITEMS), "what is claimed")
    expect((queue.claim_nowait(), queue.length()), (None, 0), "a claim with nothing there, and the length")


@check("backup.push")
def is_named_as_the_notes_on_lists_have_it(env: Environment) -> None:
    """Without a key of its own; on a server of its own, since all keys of the suite have a prefix."""
    if env.address.another is not None:
        with env.address.another() as address, Environment(address, env.client) as own:
            own.kind("BackupQueue", key=None).push(b"1", b"2")
            expect(
                own.redis.lrange("queue:jobs", 0, -1), [b"2", b"1"], "the list of a queue that is named jobs"
            )


@patterns("backup.claim", IN_PROGRESS)
def claims(env: Environment) -> None:
    """A claim moves an item from the pending list to the in-progress list."""
    queue = made(env)
    queue.push(b"only")
    expect(claim(queue).data, b"only", "what is claimed")
    expect((pending(env), processing(env)), ([], [b"only"]), "both lists")
    expect(queue.claim(block=False), None, "a claim with nothing there")


@check("backup.claim")
def a_claim_tells_when(env: Environment) -> None:
    queue = made(env)
    queue.push(*ITEMS)
    for count, item in enumerate(ITEMS, 1):
        with during(env, "the time of a claim") as times:
            expect(claim(queue).data, item, "what is claimed")
            times.append(claims_of(env)[item])
        expect((processing(env), len(claims_of(env))), (list(ITEMS[:count]), count), "what is in progress")
    queue.complete(ITEMS[1])
    expect(queue.discard(ITEMS[0]), True, "whether it was discarded")
    expect(queue.requeue(ITEMS[3]), True, "whether it was put back")
    expect(list(claims_of(env)), [ITEMS[2]], "items that have a time, when only one is in progress")


@check("backup.claim")
def a_large_item_is_claimed(env: Environment) -> None:
    claim_and_complete(env, env.kind("BackupQueue"))


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


@check("backup.left")
def tells_since_when(env: Environment) -> None:
    queue = made(env)
    expect(queue.in_progress(), [], "what is in progress of nothing")
    queue.push(*ITEMS)
    for _ in ITEMS:
        claim(queue)
    now = server_time(env)
    taken = {ITEMS[0]: now - 60_000, ITEMS[1]: now - 180_000, ITEMS[3]: now - 120_000}
    env.redis.delete(env.key("jobs:claims"))
    env.redis.zadd(env.key("jobs:claims"), taken)
    found = queue.in_progress()
    oldest_first = (ITEMS[1], ITEMS[3], ITEMS[0])
    wanted: list[tuple[bytes, float | None]] = [(each, taken[each] / 1000) for each in oldest_first]
    told = [(each.item.data, each.since) for each in found]
    expect(told, [*wanted, (ITEMS[2], None)], "what is in progress, and since when")
    late = (server_time(env) - now) / 1000
    for each, age_then in zip(found[:3], (180, 120, 60), strict=True):
        expect(
            age_then <= each.age <= age_then + late, True, f"{each.age} s, when it was {age_then} s before"
        )
    expect(found[3].age, None, "the age of an item without a time")


@patterns("backup.by-hand", IN_PROGRESS)
def by_hand(env: Environment) -> None:
    """By hand, items in progress go back to the pending list or are discarded."""
    queue = made(env)
    queue.push(b"1", b"2", b"3")
    first, second = claim(queue), claim(queue)
    expect((queue.discard(first), queue.discard(first)), (True, False), "whether it was discarded")
    expect((queue.requeue(second), queue.requeue(second)), (True, False), "whether it was requeued")
    expect((pending(env), processing(env)), ([b"2", b"3"], []), "both lists")


@check("backup.by-hand")
def only_items_are_put_back(env: Environment) -> None:
    queue = made(env)
    for operate, no_item in product((queue.complete, queue.requeue, queue.discard), ("v", 5, None)):
        with expect_error(TypeError, f"an operation on {no_item!r} in place of an item"):
            operate(no_item)


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
        forget(env)
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


@check("backup.never-lost")
def nothing_is_lost_where_it_cannot_go(env: Environment) -> None:
    queue = made(env)
    queue.push(*ITEMS[:2])
    items = [claim(queue) for _ in range(2)]
    age(env, *ITEMS[:2])
    env.redis.set(env.key("jobs"), "what is no list")
    for go_back, argument in ((queue.requeue, items[0]), (queue.requeue_stale, LONG)):
        with expect_error(ServerReplyError, "an item that is to go to what is no list"):
            go_back(argument)
        expect(processing(env), list(ITEMS[:2]), "what is in progress after it")


@noted("backup.waits", "2, LMOVE / BLMOVE")
def waits(env: Environment) -> None:
    """A claim may wait: BLMOVE."""
    queue = made(env)
    claiming = env.start_blocked(lambda: queue.claim(timeout=10))
    env.redis.lpush(env.key("jobs"), "v")
    expect(claiming.finish("a claim that waits").data, b"v", "what it claims")
    expect((processing(env), env.redis.zcard(env.key("jobs:claims"))), ([b"v"], 1), "list and times after it")
    expect(queue.claim(timeout=0.01), None, "a claim whose time is over")


@check("backup.waits")
def a_claim_that_waited_tells_when(env: Environment) -> None:
    queue = made(env)
    for item in ITEMS[:2]:
        claiming = env.start_blocked(lambda: queue.claim(timeout=10))
        with during(env, "the time of a claim that waited") as times:
            env.redis.lpush(env.key("jobs"), item, b"later")
            expect(claiming.finish("a claim that waits").data, item, "what it claims")
            times.append(claims_of(env)[item])
        env.redis.delete(env.key("jobs"))
    expect(processing(env), list(ITEMS[:2]), "what is in progress")
    with expect_error(QueueEmptyError, "a block without an item"), queue.take(timeout=0.02):
        pass


@check("backup.waits")
def a_refusal_ends_a_claim_that_waits(env: Environment) -> None:
    """The item that came stays where it waits."""
    queue = made(env)
    claiming = env.start_blocked(lambda: queue.claim(timeout=10))
    env.redis.set(env.key("jobs:processing"), "what is no list")
    env.redis.lpush(env.key("jobs"), "v")
    claiming.expect_error(ServerReplyError, "a claim of an item that cannot go to what is no list")
    expect(pending(env), [b"v"], "what waits")


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


@check("backup.caps")
def any_number_is_capped(env: Environment) -> None:
    for bound in (1, 2, 3):
        queue = made(env, maxlen=bound)
        for count in range(len(ITEMS) + 1):
            forget(env)
            expect(queue.push(*ITEMS[:count]), min(count, bound), f"length with {count} of {bound}")
            expect(pending(env), list(ITEMS[:count][-bound:]), f"what waits of {count} with {bound}")


@noted("backup.envelope", "5", level="decided")
def envelope(env: Environment) -> None:
    """With envelopes equal items are told apart."""
    queue = made(env, envelope=True)
    queue.push(b"v", b"v")
    first, second = claim(queue), claim(queue)
    expect((first.value, second.value), (b"v", b"v"), "values")
    queue.complete(first)
    expect(processing(env), [second.data], "what is in progress")
