"""Clients that die between any two messages of any operation: no item is lost, and few are processed twice.

A client is cut off at each of its messages in turn, once before the message and once before its reply arrives.
Then another client processes the rest. An item that the dead client was completing may be gone; the other client
processes every other item, once.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis

from conformance.clients.flavours import FLAVOURS
from conformance.documents.dying import moments_of
from conformance.judging.environment import Environment
from conformance.targets import Address
from pressure import ItemLostError
from tests.cases import exhaustive

from .conftest import SETTINGS

LONG = 3600.0
ITEMS = (b"1", b"2", b"3")


@dataclass(frozen=True)
class Death:
    """What is done by who dies.

    Attributes:
        kind: Of the queue.
        work: Is given a queue of ``ITEMS`` and what ``begin`` returned.
        begin: Is given a queue and does what is done before, unharmed.
        gone: The items that ``work`` may be done with.
        new: The items that it may add.
        options: Of the queue.
    """

    kind: str
    work: Callable[[Any, Any], object]
    begin: Callable[[Any], Any] = lambda _: None
    gone: frozenset[bytes] = frozenset()
    new: frozenset[bytes] = frozenset()
    options: Any = None


def block(*arguments: Any) -> Callable[[Any, Any], None]:
    def work(queue: Any, _: Any) -> None:
        with queue.take(*arguments):
            pass

    return work


FIRST, NEW = frozenset({b"1"}), frozenset({b"new"})

DEATHS = {
    "backup: push": Death("BackupQueue", lambda q, _: q.push(b"new"), new=NEW),
    "backup: push with maxlen": Death("BackupQueue", lambda q, _: q.push(b"new"), new=NEW, options={"maxlen": 9}),
    "backup: claim": Death("BackupQueue", lambda q, _: q.claim(block=False)),
    "backup: claim all": Death("BackupQueue", lambda q, _: [q.claim(block=False) for _ in range(4)]),
    "backup: complete": Death("BackupQueue", lambda q, i: q.complete(i), lambda q: q.claim(), FIRST),
    "backup: requeue": Death("BackupQueue", lambda q, i: q.requeue(i), lambda q: q.claim()),
    "backup: discard": Death("BackupQueue", lambda q, i: q.discard(i), lambda q: q.claim(), FIRST),
    "backup: stale": Death("BackupQueue", lambda q, _: q.requeue_stale(0), lambda q: (q.claim(), q.claim())),
    "backup: take": Death("BackupQueue", block(), gone=FIRST),
    "ring: push": Death("RingQueue", lambda q, _: q.push(b"new"), new=NEW),
    "ring: claim": Death("RingQueue", lambda q, _: q.claim(LONG)),
    "ring: claim next": Death("RingQueue", lambda q, _: q.claim_next(LONG), lambda q: (q.claim(LONG), q.claim(LONG))),
    "ring: complete": Death("RingQueue", lambda q, i: q.complete(i), lambda q: q.claim(LONG), FIRST),
    "ring: extend": Death("RingQueue", lambda q, i: q.extend(i, LONG), lambda q: q.claim(LONG)),
    "ring: release": Death("RingQueue", lambda q, i: q.release(i), lambda q: q.claim(LONG)),
    "ring: take": Death("RingQueue", block(LONG), gone=FIRST),
    "reliable: push": Death("ReliableQueue", lambda q, _: q.push(b"new"), new=NEW),
    "reliable: push many": Death("ReliableQueue", lambda q, _: q.push(b"new", b"more"), new=NEW | {b"more"}),
    "reliable: push later": Death("ReliableQueue", lambda q, _: q.push(b"new", delay=0.001), new=NEW),
    "reliable: pop": Death("ReliableQueue", lambda q, _: q.pop(2)),
    "reliable: ack": Death("ReliableQueue", lambda q, m: q.ack(*m), lambda q: q.pop(), FIRST),
    "reliable: retry": Death("ReliableQueue", lambda q, m: q.retry(m[0], 0), lambda q: q.pop()),
    "reliable: retry of a dead message": Death("ReliableQueue", lambda q, m: q.retry(m[0], 0), lambda q: q.pop(), options={"max_deliveries": 1}),
    "reliable: move_due": Death("ReliableQueue", lambda q, _: q.move_due(), lambda q: [q.retry(m, 0) for m in q.pop(3)]),
    "reliable: recover": Death("ReliableQueue", lambda q, _: q.recover(0, 3), lambda q: q.pop(3)),
    "reliable: recover dead messages": Death("ReliableQueue", lambda q, _: q.recover(0, 3), lambda q: q.pop(3), options={"max_deliveries": 1}),
    "reliable: heartbeat": Death("ReliableQueue", lambda q, m: q.heartbeat(*m), lambda q: q.pop(2)),
    "reliable: take": Death("ReliableQueue", block(), gone=FIRST),
    "reliable: work": Death("ReliableQueue", lambda q, _: q.work(lambda _: None, until_empty=True), gone=frozenset(ITEMS)),
}  # fmt: skip


def rest_of_backup(env: Environment) -> Iterator[bytes]:
    queue = env.kind("BackupQueue")
    queue.requeue_stale(0)
    while (item := queue.claim(block=False)) is not None:
        yield item.data
        queue.complete(item)


def rest_of_ring(env: Environment) -> Iterator[bytes]:
    for lock in env.redis.keys(env.key("jobs:lock:*")):
        env.redis.delete(lock)  # as time does
    queue = env.kind("RingQueue")
    while (item := queue.claim(LONG)) is not None:
        yield item.data
        queue.complete(item)


def rest_of_reliable(env: Environment) -> Iterator[bytes]:
    delayed: Any = env.redis.zrange(env.key("jobs:delayed"), 0, -1)
    for member in delayed:
        env.redis.zadd(env.key("jobs:delayed"), {member: 0})
    env.redis.delete(env.key("jobs:beats"))  # as time does
    queue, dead = env.kind("ReliableQueue"), env.kind("ReliableQueue", "jobs:dead")
    queue.move_due()
    for each in (queue, dead):
        for message in [*each.recover(0, 9), *each.pop(9, block=False)]:
            yield message.data
            each.ack(message)


REST = {"BackupQueue": rest_of_backup, "RingQueue": rest_of_ring, "ReliableQueue": rest_of_reliable}


DAILY = ("miniredis, sync", "redis-server, plain batches")
"""The default run has each death in one of them, by turns."""


MANY_STEPS = {"reliable: take", "reliable: work", "reliable: recover dead messages"}
"""Deaths at dozens of steps, where plain batches are sent."""

CASES = [
    exhaustive(setting, death, when=setting != DAILY[at % 2] or ("plain" in setting and death in MANY_STEPS))
    for setting in SETTINGS
    if "sync" in setting.split() or "plain" in setting  # what carries the messages makes no difference here
    for at, death in enumerate(DEATHS)
]


@pytest.fixture
def env(server_address: Address, setting: str) -> Iterator[Environment]:
    with Environment(server_address, FLAVOURS[SETTINGS[setting][1]]) as made:
        yield made


@pytest.mark.parametrize(("setting", "death"), CASES, indirect=["setting"])
def test_a_client_that_dies_at_any_step_loses_no_item(env: Environment, death: str, setting: str) -> None:
    what = DEATHS[death]
    options = what.options or {}
    begun: list[Any] = []

    def setup() -> None:
        if keys := env.redis.keys(f"{env.prefix}*"):
            env.redis.delete(*keys)
        queue = env.kind(what.kind, **options)
        queue.push(*ITEMS)
        begun.append(what.begin(queue))

    def work(queue: Any) -> None:
        with contextlib.suppress(ItemLostError):
            what.work(queue, begun[-1])

    deaths = 0
    for at, act in moments_of(what.kind, env, setup, work, **options):
        deaths += 1
        done = Counter(REST[what.kind](env))
        told = f"message {at} ({act}): {done}"
        assert set(ITEMS) - what.gone <= set(done) <= set(ITEMS) | what.new, told
        buried = "plain" in setting and options.get(
            "max_deliveries"
        )  # dead and delayed, for want of one step
        assert max(done.values(), default=1) <= (2 if buried else 1), told
    assert deaths >= 4


def test_a_claim_that_dies_while_it_waits_leaves_its_item_in_progress(env: Environment) -> None:
    """The message gets through, and the item comes, but the answer does not."""
    queue, gate = env.gated_kind("BackupQueue")
    queue.claim(block=False)  # what scripts there are have been sent
    gate.arm(3, "lose-reply")  # what kind the keys are of is asked first
    claiming = env.start(lambda: queue.claim(timeout=10))
    env.until_blocked(1)
    env.redis.lpush(env.key("jobs"), "v")
    assert claiming.error("a claim whose reply is lost") is not None
    assert env.redis.lrange(env.key("jobs:processing"), 0, -1) == [b"v"]
    assert list(rest_of_backup(env)) == [b"v"]


def test_the_check_notices_a_lost_item(raw: redis.Redis, env: Environment) -> None:
    """The rest is told as it is: an item that is nowhere is not there."""
    env.kind("BackupQueue").push(b"1")
    raw.lpop(env.key("jobs"))
    assert list(rest_of_backup(env)) == []
