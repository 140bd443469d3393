"""The circular buffer with item locks."""

from __future__ import annotations

from typing import Any

from pressure import ItemLostError

from ..judging.environment import Environment, expect, expect_error
from .dying import moments_of
from .registry import check

LONG: float = 3600.0
"""Seconds; longer than any check takes."""


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


@check("ring.push", "ring.claim")
def claims(env: Environment) -> None:
    queue = made(env, b"1", b"2", b"3")
    expect(ring(env), [b"1", b"2", b"3"], "the buffer")
    item = queue.claim(LONG)
    expect((item.data, ring(env)), (b"1", [b"2", b"3", b"1"]), "what is claimed, and the buffer")
    expect(env.redis.get(lock(env, "1")), item.token, "the lock")
    left: Any = env.redis.pttl(lock(env, "1"))
    expect(0 < left <= 1000 * LONG, True, "the lock has a time to live")


@check("ring.locked")
def locked(env: Environment) -> None:
    queue = made(env, b"1", b"2")
    env.redis.set(lock(env, "1"), "theirs")
    expect(queue.claim(LONG), None, "a claim that meets a locked item")
    expect(ring(env), [b"2", b"1"], "the buffer after it")
    expect(env.redis.get(lock(env, "1")), b"theirs", "the lock after it")
    expect(queue.claim(LONG).data, b"2", "the next claim")


@check("ring.expires")
def expires(env: Environment) -> None:
    queue = made(env, b"v")
    first = queue.claim(0.03)
    env.until(lambda: not env.redis.exists(lock(env, "v")), "did the lock expire")
    again = queue.claim(LONG)
    expect(again.data, b"v", "what is claimed when the lock expired")
    expect(first.token != again.token, True, "each claim has a token of its own")


@check("ring.complete")
def completes(env: Environment) -> None:
    queue = made(env, b"1", b"2")
    with queue.take(LONG):
        expect(len(ring(env)), 2, "items while one is worked on")
    expect((ring(env), env.redis.exists(lock(env, "1"))), ([b"2"], 0), "buffer and lock")


@check("ring.stays")
def stays(env: Environment) -> None:
    done: list[bytes] = []

    def setup() -> None:
        env.redis.delete(env.key("jobs"), lock(env, "1"), lock(env, "2"))
        done.clear()
        made(env, b"1", b"2")

    def work(queue: Any) -> None:
        item = queue.claim_next(LONG)
        queue.extend(item, LONG)
        done.append(item.data)
        queue.complete(item)

    for at, act in moments_of("RingQueue", env, setup, work):
        left = ring(env)
        what = f"items that were not completed, or are there, at message {at} ({act})"
        expect(sorted({*left, *done}), [b"1", b"2"], what)
        expect(len(left), len(set(left)), "items, each once")


@check("ring.token")
def token(env: Environment) -> None:
    queue = made(env, b"v")
    item = queue.claim(LONG)
    env.redis.set(lock(env, "v"), "theirs")
    expect(queue.release(item), False, "to release another's lock")
    with expect_error(ItemLostError, "to extend another's lock"):
        queue.extend(item, LONG)
    with expect_error(ItemLostError, "to complete with another's lock"):
        queue.complete(item)
    expect(env.redis.get(lock(env, "v")), b"theirs", "the other's lock")


@check("ring.late")
def late(env: Environment) -> None:
    queue = made(env, b"v")
    with expect_error(ItemLostError, "the end of a block whose lock expired"), queue.take(LONG):
        env.redis.delete(lock(env, "v"))
    expect(ring(env), [], "the buffer: what was done is removed")


@check("ring.round")
def one_round(env: Environment) -> None:
    queue = made(env, b"1", b"2", b"3")
    env.redis.set(lock(env, "1"), "theirs")
    expect([queue.claim_next(LONG).data for _ in range(2)], [b"2", b"3"], "what is claimed")
    before = ring(env)
    expect((queue.claim_next(LONG), ring(env)), (None, before), "a claim when all are locked, and the buffer")
