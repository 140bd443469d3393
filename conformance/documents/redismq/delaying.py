"""Messages with a delay: retries, and what is due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from pressure import ServerReplyError

from ...judging.environment import Environment, exactly, expect, expect_error
from ...judging.running import PATIENCE
from ..registry import check
from ..state import LONG, datas, server_time
from . import module
from .queues import counts, made, pass_time, popped


@module("reliable.retry", "MQ.RECOVER", level="decided")
def retries(env: Environment) -> None:
    """A retry is delivered when it is due, and counted on."""
    queue = made(env, b"v")
    (message,) = popped(queue)
    expect((queue.retry(message, LONG), counts(queue)), (True, (0, 0, 1, 0)), "a message that is due later")
    expect(queue.pop(block=False), [], "what is there before it is due")
    pass_time(env, 2 * LONG)
    (again,) = popped(queue)
    expect((again.data, again.deliveries), (b"v", 2), "the message, and its deliveries")
    expect(queue.retry(message, 0), False, "a retry of what is not delivered any more")


@check("reliable.retry")
def what_cannot_be_delayed_stays_delivered(env: Environment) -> None:
    queue = made(env, b"v")
    (message,) = popped(queue)
    env.redis.set(env.key("jobs:delayed"), "what no client would write")
    for delay in (0, LONG):
        with expect_error(ServerReplyError, f"a retry after {delay} s"):
            queue.retry(message, delay)
        expect(datas(each.message for each in queue.pending()), [b"v"], "what is delivered")


@check("reliable.retry")
def tells_when_it_was_delayed(env: Environment) -> None:
    """What is delayed begins with the time in microseconds, which orders what is due at the same time."""
    queue = made(env, b"v")
    delays: tuple[Callable[[], object], ...]
    delays = (lambda: queue.push(b"a", b"b", delay=LONG), lambda: queue.retry(*popped(queue), LONG))
    for delay in delays:
        before = server_time(env)
        delay()
        members: Any = env.redis.zrange(env.key("jobs:delayed"), 0, -1)
        env.redis.delete(env.key("jobs:delayed"))
        for member in members:
            told = int(member[:16]) // 1000
            expect(
                before <= told <= server_time(env), True, f"whether {member} was delayed then: {before} ms"
            )


@check("reliable.retry")
def waits_longer_and_longer(env: Environment) -> None:
    """Without a delay of its own a retry waits 1, 2, 4... s by its deliveries, and an hour at most."""
    queue = made(env, b"v")
    for deliveries, wanted in ((1, 1), (2, 2), (3, 4), (12, 2048), (13, 3600), (70, 3600)):
        (message,) = popped(queue)
        now = server_time(env)
        queue.retry(replace(message, deliveries=deliveries))
        delayed: Any = env.redis.zrange(env.key("jobs:delayed"), 0, -1, withscores=True)
        ((_, due),) = delayed
        expect(0 <= due - now - 1000 * wanted < 60_000, True, f"{due - now} ms after {deliveries} deliveries")
        pass_time(env, 2 * LONG)


@module("reliable.due", "MQ.POP", level="decided")
def due(env: Environment) -> None:
    """What is due does not wait behind what was pushed before."""
    queue = made(env, *(b"%d" % number for number in range(9)))
    queue.push(b"due", delay=2 * LONG)
    expect(datas(popped(queue, 2)), [b"0", b"1"], "what is popped before anything is due")
    pass_time(env, 2.5 * LONG)
    seen = [data for _ in range(4) for data in datas(popped(queue))]
    expect(b"due" in seen, True, f"what is due is among {seen}")


FOREIGN: Final = {
    b"as it is": (b"as it is", 1), b"0" * 32 + b":4:after four": (b"after four", 5), b"1" * 32 + b":2,3:{}}odd note": (b"odd note", 3),
    b"2" * 32 + b":0,2:[]a list": (b"a list", 1), b"3" * 32 + b':0,10:{"id":"x"}with an id': (b"with an id", 1),
}  # fmt: skip
"""Delayed messages that another program may have written, their bytes, and the number of their next delivery."""


@check("reliable.due")
def others_may_delay(env: Environment) -> None:
    """What is delayed in another form is delivered; a note that is none is passed over."""
    queue = made(env)
    queue.push(b"ours", delay=LONG)
    env.redis.zadd(env.key("jobs:delayed"), dict(zip(FOREIGN, range(len(FOREIGN)), strict=True)))
    found: list[Any] = []
    for _ in FOREIGN:
        found += popped(queue)
    expect([(each.data, each.deliveries) for each in found], [*FOREIGN.values()], "messages, and deliveries")
    expect(found[-1].id.partition(b"@")[0], b"x", "the id that a note tells")
    expect(counts(queue), (0, len(FOREIGN), 1, 0), "undelivered, delivered, delayed, dead")


@check("reliable.due")
def what_is_due_is_moved(env: Environment) -> None:
    """More than one step moves; how much is told."""
    queue = made(env, b"first")
    values = [b"%d" % number for number in range(250)]
    queue.push(*values, delay=LONG)
    expect(queue.move_due(), 0, "how many are moved before they are due")
    pass_time(env, 2 * LONG)
    expect((queue.move_due(), queue.move_due()), (250, 0), "how many are moved, and then")
    expect(sorted(datas(popped(queue, 251))), sorted([b"first", *values]), "what is popped")


@check("reliable.due")
def comes_as_soon_as_it_is_due(env: Environment) -> None:
    """And not before, for who waits for a shorter time; on a busy machine that may take until then, but not each time."""
    queue, early = made(env), list[list[bytes]]()
    while [] not in early and len(early) < 5:
        queue.push(b"1", delay=0.5)
        early.append(datas(queue.pop(timeout=0.02)))
    expect([] in early, True, f"whether a pop ends before anything is due: {early}")
    queue.push(b"2", delay=0.5)
    pass_time(env, 0.5)
    found = [datas(queue.pop(block=False)) for _ in range(3)]
    expect(found, [[b"1"], [b"2"], []], "what is popped without waiting as soon as it is due")


@module("reliable.due-order", "MQ.POP", level="decided")
def in_order_of_time(env: Environment) -> None:
    """What is due comes in the order of its time."""
    queue = made(env, b"first")
    (message,) = popped(queue)
    queue.push(b"later", delay=3 * LONG)
    queue.push(b"a", b"b", delay=2 * LONG)
    queue.retry(message, LONG)
    pass_time(env, 2.5 * LONG)
    seen = [data for _ in range(4) for data in datas(queue.pop(block=False))]
    expect(seen, [b"first", b"a", b"b"], "what is due")


@module("reliable.due-starves-none", "MQ.POP", level="decided")
def starves_none(env: Environment) -> None:
    """Messages without a delay do not wait behind all that are due."""
    queue = made(env, *(b"waits" for _ in range(20)))
    queue.push(*(b"due" for _ in range(20)), delay=LONG)
    pass_time(env, LONG)
    seen = [data for count in (1, 1, 1, 1, 4) for data in datas(queue.pop(count, timeout=PATIENCE))]
    expect(seen.count(b"due") in (2, 3, 4, 5, 6), True, f"neither waits for all of the other: {seen}")


@module("reliable.cancel", "MQ.PUSH", level="decided")
def cancels(env: Environment) -> None:
    """A message that is delayed still can be cancelled."""
    queue = made(env)
    first, second = exactly(2, queue.push(b"1", b"2", delay=LONG), "ids of messages")
    expect((queue.cancel(first), queue.cancel(first)), (True, False), "cancelled, and again")
    pass_time(env, LONG)
    expect(datas(queue.pop(5, timeout=PATIENCE)), [b"2"], "what is delivered")
    expect(queue.cancel(second), False, "what was delivered is cancelled")
    expect(queue.cancel(b"no id"), False, "what nobody delayed is cancelled")
