"""The circular buffer with item locks."""

from __future__ import annotations

from typing import Any

from pressure import ItemLostError, QueueAlreadyExistsError

from ...judging.environment import Environment, expect, expect_error
from ..dying import moments_of
from ..large import claim_and_complete
from ..registry import check
from ..state import LONG, claimed
from . import IN_PROGRESS, RING, patterns


def made(env: Environment, *values: bytes) -> Any:
    """A buffer that holds these."""
    queue = env.kind("RingQueue")
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


@patterns("kinds.apart", IN_PROGRESS, level="decided")
def apart(env: Environment) -> None:
    """A queue of one kind is refused to clients of another."""
    env.kind("RingQueue").push(b"1")
    with expect_error(QueueAlreadyExistsError, "a ring as a backup queue"):
        env.kind("BackupQueue").claim(block=False)
    with expect_error(QueueAlreadyExistsError, "a ring as a reliable queue"):
        env.kind("ReliableQueue").pop(block=False)
    expect(env.redis.llen(env.key("jobs")), 1, "items of the ring")
