"""Reliable queues, on whatever carries them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pressure import QueueAlreadyExistsError

from ..judging.environment import Environment, expect, expect_error
from .dying import every_death
from .registry import check

LONG: float = 3600.0
"""Seconds; longer than any check takes."""


class MishapError(Exception):
    """What goes wrong with a message."""


def made(env: Environment, *values: bytes, **options: Any) -> Any:
    """A queue that holds these."""
    queue = env.kind("ReliableQueue", **options)
    queue.push(*values)
    return queue


@contextmanager
def quiet() -> Iterator[None]:
    """Workers log what fails; here it is meant to."""
    log = logging.getLogger("pressure.worker")
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = False


def datas(messages: Any) -> list[bytes]:
    return [each.data for each in messages]


def counts(queue: Any) -> tuple[int, int, int, int]:
    """Undelivered, delivered, delayed, dead."""
    info = queue.info()
    return info.undelivered, info.delivered, info.delayed, info.dead


@check("reliable.push", "reliable.order", "reliable.pop", "reliable.pop-empty")
def in_order(env: Environment) -> None:
    queue = made(env)
    expect(queue.pop(block=False), [], "a pop with nothing there")
    ids = [*queue.push(b"1", b"2"), *queue.push(b"3")]
    numbers = [tuple(map(int, each.split(b"-"))) for each in ids]
    expect(numbers, sorted(set(numbers)), "ids grow")
    found = queue.pop(2)
    expect([(each.id, each.data) for each in found], list(zip(ids, (b"1", b"2"), strict=False)), "two popped")
    expect(datas(queue.pop(5)), [b"3"], "up to five of one")
    expect(queue.pop(block=False), [], "a pop with everything delivered")


@check("reliable.kept", "reliable.ack", "reliable.ack-tells")
def acknowledges(env: Environment) -> None:
    queue = made(env, b"1", b"2", b"3")
    first, second = queue.pop(2)
    expect(counts(queue), (1, 2, 0, 0), "undelivered, delivered, delayed, dead")
    expect(queue.ack(first), [first.id], "what was acknowledged")
    expect(queue.ack(first, second), [second.id], "what was acknowledged of two, one for the second time")
    expect(counts(queue), (1, 0, 0, 0), "undelivered, delivered, delayed, dead")
    if queue.capabilities().backend == "stream":
        expect(env.redis.xlen(env.key("jobs")), 1, "entries of the stream")


@check("reliable.recover", "reliable.recover-counts")
def recovers(env: Environment) -> None:
    queue = made(env, b"1", b"2", b"3")
    queue.pop(3)
    expect(queue.recover(LONG, 5), [], "what was delivered just now")
    expect(
        [(each.data, each.deliveries) for each in queue.recover(0, 2)], [(b"1", 2), (b"2", 2)], "recovered"
    )
    env.until(lambda: queue.pending()[0].idle > 0, "had time passed")
    again = sorted((each.data, each.deliveries) for each in queue.recover(0, 5))
    expect(again, [(b"1", 3), (b"2", 3), (b"3", 2)], "recovered with a second time")
    expect(queue.recover(LONG, 5), [], "what was recovered just now")


@check("reliable.inspect")
def inspects(env: Environment) -> None:
    queue = made(env, b"1", b"2", b"3", b"4")
    queue.pop()
    expect(datas(queue.inspect(1, 5)), [b"3", b"4"], "from the second on")
    expect(datas(queue.inspect(-2, 1)), [b"3"], "from the last but one")
    expect(counts(queue), (3, 1, 0, 0), "undelivered, delivered, delayed, dead")


@check("reliable.inspect-pending")
def inspects_pending(env: Environment) -> None:
    queue = made(env, b"1", b"2")
    queue.pop(2)
    (first,) = queue.pending(0, 1)
    time: Any = env.redis.time()
    expect((first.message.data, first.message.deliveries), (b"1", 1), "the first that was delivered")
    expect(abs(first.since + first.idle - time[0]) < 60, True, "its times")
    expect(datas(each.message for each in queue.pending(-1, 5)), [b"2"], "the last that was delivered")


@check("reliable.info")
def informs(env: Environment) -> None:
    queue = made(env)
    *_, last = queue.push(b"1", b"2")
    queue.pop()
    info = queue.info()
    expect((info.last_id, info.undelivered, info.delivered), (last, 1, 1), "last id and lengths")
    queue.ack(*queue.pop(), *(each.message for each in queue.pending()))
    expect(queue.info().last_id, last, "the last id of an empty queue")


@check("reliable.never-lost")
def dies(env: Environment) -> None:
    lanes = [f"{lane}{suffix}" for lane in ("", ":due") for suffix in ("", ":deliveries", ":beats", ":notes")]
    suffixes = (*lanes, ":delayed", ":dead", ":dead:notes")

    def setup() -> Any:
        env.redis.delete(*(env.key(f"jobs{suffix}") for suffix in suffixes))
        return made(env, b"1", b"2", b"3", b"4")

    def work(queue: Any) -> None:
        first, second, third = queue.pop(3)
        queue.retry(first, 0)
        queue.retry(second, LONG)
        queue.move_due()
        queue.recover(0, 5)
        queue.heartbeat(third)
        queue.ack(third)

    for survivor, done in every_death(env, "ReliableQueue", setup, work):
        survivor.move_due()
        info = survivor.info()
        delayed: Any = env.redis.zrange(env.key("jobs:delayed"), 0, -1)
        left = {*datas(survivor.recover(0, 9)), *datas(survivor.pop(9, block=False))}
        left |= {each[-1:] for each in delayed}  # the payload is the end of a delayed message
        expect(left >= {b"1", b"2", b"4"}, True, f"what is left of four messages, one acknowledged: {left}")
        expect(
            b"3" in left or info.undelivered + info.delivered + info.delayed == 3, True, "no message twice"
        )
        expect(done and b"3" in left, False, "an acknowledged message is left")


@check("reliable.worker")
def works(env: Environment) -> None:
    queue = made(env, b"bad", b"good")
    seen: list[tuple[bytes, int]] = []

    def handle(message: Any) -> None:
        seen.append((message.data, env.kind("ReliableQueue").info().delivered))
        if message.data == b"bad":
            raise MishapError

    with quiet():
        expect(queue.work(handle, min_idle=LONG, until_empty=True), 1, "messages that went well")
    expect(seen, [(b"bad", 1), (b"good", 2)], "messages, and how many are delivered while each is handled")
    expect(counts(queue), (0, 1, 0, 0), "undelivered, delivered, delayed, dead")
    with expect_error(MishapError, "a block that ends by an error"):
        queue.push(b"v")
        with queue.take():
            raise MishapError
    expect(counts(queue), (0, 2, 0, 0), "undelivered, delivered, delayed, dead")


@check("reliable.retry")
def retries(env: Environment) -> None:
    queue = made(env, b"v")
    (message,) = queue.pop()
    expect((queue.retry(message, LONG), counts(queue)), (True, (0, 0, 1, 0)), "a message that is due later")
    expect(queue.pop(block=False), [], "what is there before it is due")
    members: Any = env.redis.zrange(env.key("jobs:delayed"), 0, -1)
    env.redis.zincrby(env.key("jobs:delayed"), -2000 * LONG, members[0])
    (again,) = queue.pop(block=False)
    expect((again.data, again.deliveries), (b"v", 2), "the message, and its deliveries")
    expect(queue.retry(message, 0), False, "a retry of what is not delivered any more")


@check("reliable.dead")
def dead(env: Environment) -> None:
    queue = made(env, b"1", b"2", max_deliveries=1)
    first, _ = queue.pop(2)
    queue.retry(first, 0)
    env.until(lambda: bool(queue.pending()[0].idle > 0), "had time passed")
    expect((queue.recover(0, 5), counts(queue)), ([], (0, 0, 0, 2)), "what was delivered too often")
    letters = env.kind("ReliableQueue", "jobs:dead")
    expect(datas(letters.pop(5)), [b"1", b"2"], "the queue of the dead")


def pass_time(env: Environment, seconds: float) -> None:
    """Lets time pass for what is delayed."""
    members: Any = env.redis.zrange(env.key("jobs:delayed"), 0, -1)
    for member in members:
        env.redis.zincrby(env.key("jobs:delayed"), -1000 * seconds, member)


@check("reliable.due", "reliable.due-order")
def due(env: Environment) -> None:
    queue = made(env, *(b"%d" % number for number in range(9)))
    (message,) = queue.pop()
    queue.push(b"later", delay=3 * LONG)
    queue.push(b"a", b"b", delay=2 * LONG)
    queue.retry(message, LONG)
    expect(datas(queue.pop(2)), [b"1", b"2"], "what is popped before anything is due")
    pass_time(env, 2.5 * LONG)
    seen = [data for _ in range(7) for data in datas(queue.pop())]
    expect(
        [each for each in seen if each in (b"0", b"a", b"b")], [b"0", b"a", b"b"], f"what is due, of {seen}"
    )


@check("reliable.due-starves-none")
def starves_none(env: Environment) -> None:
    queue = made(env, *(b"waits" for _ in range(20)))
    queue.push(*(b"due" for _ in range(20)), delay=LONG)
    pass_time(env, LONG)
    seen = [data for count in (1, 1, 1, 1, 4) for data in datas(queue.pop(count))]
    expect(seen.count(b"due") in (2, 3, 4, 5, 6), True, f"neither waits for all of the other: {seen}")


@check("reliable.cancel")
def cancels(env: Environment) -> None:
    queue = made(env)
    first, second = queue.push(b"1", b"2", delay=LONG)
    expect((queue.cancel(first), queue.cancel(first)), (True, False), "cancelled, and again")
    pass_time(env, LONG)
    expect(datas(queue.pop(5)), [b"2"], "what is delivered")
    expect(queue.cancel(second), False, "what was delivered is cancelled")


@check("reliable.dead-why", "reliable.redrive")
def redrives(env: Environment) -> None:
    queue = made(env, b"1", b"2", max_deliveries=1)
    for message in queue.pop(2):
        queue.retry(message, 0, MishapError("no customer"))
    letters = queue.dead()
    told = [(each.value, each.error, each.text, each.deliveries) for each in letters]
    expect(told, [(each, "MishapError", "no customer", 1) for each in (b"1", b"2")], "why they are dead")
    expect((queue.redrive(1), counts(queue)), (1, (1, 0, 0, 1)), "one is put again")
    expect(
        [(each.data, each.deliveries) for each in queue.pop()], [(b"1", 1)], "the oldest, as a new message"
    )


@check("reliable.groups")
def groups(env: Environment) -> None:
    queue, audit = made(env, b"1"), env.kind("ReliableQueue", group="audit")
    env.redis.xgroup_create(env.key("jobs"), "audit", "0")
    queue.ack(*queue.pop())
    expect(datas(audit.pop()), [b"1"], "what another group gets")


@check("kinds.apart")
def apart(env: Environment) -> None:
    env.kind("RingQueue").push(b"1")
    with expect_error(QueueAlreadyExistsError, "a ring as a backup queue"):
        env.kind("BackupQueue").claim(block=False)
    with expect_error(QueueAlreadyExistsError, "a ring as a reliable queue"):
        env.kind("ReliableQueue").pop(block=False)
    expect(env.redis.llen(env.key("jobs")), 1, "items of the ring")


@check("reliable.several")
def several(env: Environment) -> None:
    first, second = made(env), env.kind("ReliableQueue", "more")
    second.push(b"late")
    first.push(b"early", b"next")
    found = first.pop_any(second, count=2) + first.pop_any(second, count=2)
    told = [(queue.keys.queue, message.data) for queue, message in found]
    names = [env.key(name).encode() for name in ("jobs", "more")]
    wanted = [(names[0], b"early"), (names[0], b"next"), (names[1], b"late")]
    expect(told, wanted, "what is popped of two queues")


@check("reliable.heartbeat")
def beats(env: Environment) -> None:
    queue = made(env, b"1", b"2")
    first, second = queue.pop(2)
    env.until(lambda: min(each.idle for each in queue.pending()) > 0.05, "had time passed")
    queue.heartbeat(second)
    expect(datas(queue.recover(0.05, 1)), [b"1"], "what is recovered when another is worked on")
    expect(len(queue.ack(first, second)), 2, "messages acknowledged")
