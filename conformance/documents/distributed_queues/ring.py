"""The circular buffer with item locks."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import Any

from pressure import ItemLostError, QueueEmptyError

from ...judging.environment import Environment, expect, expect_error
from ..dying import moments_of
from ..large import claim_and_complete
from ..registry import check
from ..state import LONG, MishapError, claimed
from . import ITEMS, RING, expect_counted, patterns


def made(env: Environment, *values: bytes, **options: Any) -> Any:
    """A buffer that holds these."""
    queue = env.kind("RingQueue", **options)
    queue.push(*values)
    return queue


def ring(env: Environment) -> list[bytes]:
    """The items, the one at the front first."""
    found: Any = env.redis.lrange(env.key("jobs"), 0, -1)
    return list(found[::-1])


def lock(env: Environment, item: str) -> str:
    return env.key(f"jobs:lock:{item}")


@patterns("ring.push", RING)
def pushes(env: Environment) -> None:
    """An item is pushed onto the left, behind all others."""
    queue = made(env, b"1", b"2")
    queue.push(b"3")
    expect(ring(env), [b"1", b"2", b"3"], "the buffer")


@patterns("ring.claim", RING)
def claims(env: Environment) -> None:
    """A claim moves the item at the front to the back, and locks it."""
    queue = made(env, b"1", b"2", b"3")
    before = ring(env)
    item = claimed(queue.claim(LONG))
    expect((item.data, ring(env)), (before[0], [*before[1:], before[0]]), "what is claimed, and the buffer")
    held = item.data.decode()
    expect(env.redis.get(lock(env, held)), item.token, "the lock")
    left: Any = env.redis.pttl(lock(env, held))
    expect(900 * LONG < left <= 1000 * LONG, True, f"the lock has its time to live, and not {left} ms")


@patterns("ring.locked", RING)
def locked(env: Environment) -> None:
    """If the lock cannot be acquired nothing is retrieved."""
    queue = made(env, b"1", b"2")
    env.redis.set(lock(env, "1"), "theirs")
    expect(queue.claim(LONG), None, "a claim that meets a locked item")
    expect(ring(env), [b"2", b"1"], "the buffer after it")
    expect(env.redis.get(lock(env, "1")), b"theirs", "the lock after it")
    expect(claimed(queue.claim(LONG)).data, b"2", "the next claim")


@patterns("ring.expires", RING)
def expires(env: Environment) -> None:
    """A lock expires, and then any consumer can claim the item."""
    queue = made(env, b"v")
    first = claimed(queue.claim(0.03))
    env.until(lambda: not env.redis.exists(lock(env, "v")), "did the lock expire")
    again = claimed(queue.claim(LONG))
    expect(again.data, b"v", "what is claimed when the lock expired")
    expect(first.token != again.token, True, "each claim has a token of its own")


@patterns("ring.complete", RING)
def completes(env: Environment) -> None:
    """A completed item leaves the buffer, and its lock is released."""
    queue = made(env, b"1", b"2")
    with queue.take(LONG):
        expect(len(ring(env)), 2, "items while one is worked on")
    expect((ring(env), env.redis.exists(lock(env, "1"))), ([b"2"], 0), "buffer and lock")


@patterns("ring.stays", RING)
def stays(env: Environment) -> None:
    """Wherever a client dies, an item that was not completed is in the buffer."""
    done: list[bytes] = []

    def setup() -> None:
        env.redis.delete(env.key("jobs"), lock(env, "1"), lock(env, "2"))
        done.clear()
        made(env, b"1", b"2")

    def work(queue: Any) -> None:
        item = claimed(queue.claim_next(LONG))
        queue.extend(item, LONG)
        done.append(item.data)
        queue.complete(item)

    for at, act in moments_of("RingQueue", env, setup, work):
        left = ring(env)
        what = f"items that were not completed, or are there, at message {at} ({act})"
        expect(sorted({*left, *done}), [b"1", b"2"], what)
        expect(len(left), len(set(left)), "items, each once")


@patterns("ring.token", RING, level="decided")
def token(env: Environment) -> None:
    """A lock is released and extended by whoever has it, and nobody else."""
    queue = made(env, b"v")
    item = claimed(queue.claim(LONG))
    env.redis.set(lock(env, "v"), "theirs")
    expect(queue.release(item), False, "to release another's lock")
    with expect_error(ItemLostError, "to extend another's lock"):
        queue.extend(item, LONG)
    with expect_error(ItemLostError, "to complete with another's lock"):
        queue.complete(item)
    expect(env.redis.get(lock(env, "v")), b"theirs", "the other's lock")


@patterns("ring.late", RING, level="decided")
def late(env: Environment) -> None:
    """Who completes after the lock expired is told."""
    queue = made(env, b"v")
    with expect_error(ItemLostError, "the end of a block whose lock expired"), queue.take(LONG):
        env.redis.delete(lock(env, "v"))
    expect(ring(env), [], "the buffer: what was done is removed")


@patterns("ring.round", RING, level="decided")
def one_round(env: Environment) -> None:
    """To walk on to the next item that is not locked ends after one round."""
    queue = made(env, b"1", b"2", b"3")
    env.redis.set(lock(env, "1"), "theirs")
    expect([claimed(queue.claim_next(LONG)).data for _ in range(2)], [b"2", b"3"], "what is claimed")
    before = ring(env)
    expect((queue.claim_next(LONG), ring(env)), (None, before), "a claim when all are locked, and the buffer")


@check("ring.claim")
def a_large_item_is_locked(env: Environment) -> None:
    claim_and_complete(env, env.kind("RingQueue"), 3600.0)


@check("ring.push")
def any_number_is_counted(env: Environment) -> None:
    queue = made(env)
    expect_counted(queue, lambda: env.redis.delete(env.key("jobs")))
    expect(told(queue), [(each, False) for each in ITEMS], "items, none of them locked")


def told(queue: Any) -> list[tuple[bytes, bool]]:
    """Each item, and whether it is locked."""
    return [(item.data, is_locked) for item, is_locked in queue.items()]


@check("ring.claim")
def an_empty_buffer_has_nothing_to_claim(env: Environment) -> None:
    queue = made(env)
    expect((queue.claim(LONG), queue.claim_next(LONG)), (None, None), "claims of nothing")
    with expect_error(QueueEmptyError, "a block without an item"), queue.take(LONG):
        pass
    expect(ring(env), [], "the buffer after it")


@check("ring.locked")
def any_may_be_locked(env: Environment) -> None:
    """Every set of locks: a claim looks at the front alone, the next claim at each item once."""
    queue = made(env)
    for theirs in (some for count in range(len(ITEMS) + 1) for some in combinations(ITEMS, count)):
        free = [each for each in ITEMS if each not in theirs]
        for claim, found, looks in (
            (queue.claim, ITEMS[0] if ITEMS[0] in free else None, 1),
            (queue.claim_next, free[0] if free else None, len(ITEMS)),
        ):
            refill(env, queue, theirs)
            item = claim(LONG)
            expect(item and item.data, found, f"what is claimed when {theirs} are locked")
            turned = ITEMS.index(found) + 1 if found else looks
            expect(ring(env), [*ITEMS[turned:], *ITEMS[:turned]], f"the buffer when {theirs} are locked")
            expect((found, False) in told(queue), False, "whether what was claimed is not locked")


def refill(env: Environment, queue: Any, locked: tuple[bytes, ...]) -> None:
    """The buffer has all items again, and another client has locked some."""
    env.redis.delete(env.key("jobs"), *(lock(env, each.decode()) for each in ITEMS))
    queue.push(*ITEMS)
    for each in locked:
        env.redis.set(lock(env, each.decode()), "theirs")
    expect(told(queue), [(each, each in locked) for each in ITEMS], "items, and which are locked")


@check("ring.locked")
def a_block_walks_on(env: Environment) -> None:
    queue = made(env, *ITEMS)
    env.redis.set(lock(env, "first"), "theirs")
    with queue.take(LONG) as item:
        expect(item.data, b"second", "the item of a block when the first is locked")
    expect(ring(env), [b"third", b"fourth", b"first"], "the buffer after the block")


@check("ring.expires")
def a_lock_lasts_a_millisecond_or_longer(env: Environment) -> None:
    queue = made(env, b"v")
    item = claimed(queue.claim(LONG))
    for lock_ttl in (0, 0.0004, -1):
        for claim in (queue.claim, queue.claim_next, queue.take, partial(queue.extend, item)):
            with expect_error(ValueError, f"a lock of {lock_ttl} s"):
                claim(lock_ttl)
    queue.extend(item, 0.001)
    for claim in (queue.claim, queue.claim_next):
        until_unlocked(env)
        expect(claimed(claim(0.001)).data, b"v", "what is claimed for a millisecond")
    until_unlocked(env)
    with suppress(ItemLostError), queue.take(0.001) as item:
        expect(item.data, b"v", "the item of a block of a millisecond")


def until_unlocked(env: Environment) -> None:
    env.until(lambda: not env.redis.exists(lock(env, "v")), "was a lock of a millisecond gone")


@check("ring.expires")
def locks_have_their_time(env: Environment) -> None:
    for walks in (False, True):
        env.redis.delete(env.key("jobs"), lock(env, "v"))
        queue = made(env, b"v")
        item = claimed((queue.claim_next if walks else queue.claim)(LONG))
        expect_time_left(env, LONG)
        queue.extend(item, 2 * LONG)
        expect_time_left(env, 2 * LONG)
        expect((queue.release(item), env.redis.exists(lock(env, "v"))), (True, 0), "a lock that is released")
        expect((queue.release(item), told(queue)), (False, [(b"v", False)]), "and once more, and the items")
        again = claimed(queue.claim(LONG))
        expect((again.data, queue.claim_next(LONG)), (b"v", None), "what is claimed then, and then")
        with expect_error(MishapError, "a block that ends by an error"):
            queue.release(again)
            with queue.take(2 * LONG):
                raise MishapError
        expect(told(queue), [(b"v", True)], "an item whose block ended by an error")
        expect_time_left(env, 2 * LONG)


def expect_time_left(env: Environment, seconds: float) -> None:
    """Fails unless the lock of v has so long to live, but for what a slow machine needs."""
    left: Any = env.redis.pttl(lock(env, "v"))
    expect(1000 * seconds - 300_000 < left <= 1000 * seconds, True, f"{left} ms are left of {seconds} s")


@check("ring.complete")
def only_an_item_is_completed(env: Environment) -> None:
    queue = made(env, b"v")
    for operate in (queue.complete, queue.release, lambda item: queue.extend(item, LONG)):
        with expect_error(TypeError, "an operation on bytes in place of an item"):
            operate(b"v")
    expect(ring(env), [b"v"], "the buffer")


@check("ring.complete")
def one_of_equal_items_is_completed(env: Environment) -> None:
    queue = made(env, b"v", b"w", b"v", b"v")
    item = claimed(queue.claim(LONG))
    env.redis.set(lock(env, "w"), "theirs")
    queue.complete(item)
    expect(ring(env), [b"w", b"v", b"v"], "the buffer")
    expect(told(queue), [(b"w", True), (b"v", False), (b"v", False)], "items, and which are locked")


@check("ring.late")
def is_told_what_became_of_the_item(env: Environment) -> None:
    queue = made(env, b"v")
    item = claimed(queue.claim_next(LONG))
    env.redis.set(lock(env, "v"), "theirs")
    for removed in (True, False):
        error = env.start(lambda: queue.complete(item)).error(
            "a completion of what another client has locked"
        )
        seen = isinstance(error, ItemLostError) and error.removed
        expect((type(error), seen, ring(env)), (ItemLostError, removed, []), "the error, and the buffer")
        expect("done twice" in str(error), removed, f"whether the error tells that: {error}")
        expect(env.redis.get(lock(env, "v")), b"theirs", "the other's lock")


@check("ring.stays")
def an_item_that_goes_meanwhile_is_not_claimed(env: Environment) -> None:
    """The other client completes the item between any two messages of a claim."""
    for moment in range(1, 9):
        env.redis.delete(env.key("jobs"), lock(env, "first"), lock(env, "second"))
        made(env, b"first", b"second")
        queue, gate = env.gated_kind("RingQueue")

        def take_away() -> None:
            env.redis.lrem(env.key("jobs"), 1, "first")

        gate.arm(moment, take_away)
        item = queue.claim_next(LONG)
        if gate.messages < moment:
            break
        found = [each for each in (b"first", b"second") if env.redis.exists(lock(env, each.decode()))]
        expect(found, [] if item is None else [item.data], "locks, and what was claimed")
        if item is not None and item.data == b"first":
            with expect_error(ItemLostError, "the completion of what is gone"):
                env.redis.delete(lock(env, "first"))
                queue.complete(item)


@check("ring.token")
def locks_may_be_elsewhere(env: Environment) -> None:
    queue = made(env, *ITEMS[:2], locks=env.key("held/"))
    item = claimed(queue.claim(LONG))
    expect(env.redis.get(env.key("held/first")), item.token, "the lock, where it was asked to be")
    queue.complete(item)
    expect((env.redis.exists(env.key("held/first")), ring(env)), (0, [b"second"]), "the lock, and the buffer")
