"""What a reliable queue tells of its messages, and of itself."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...judging.environment import Environment, exactly, expect
from ..state import datas
from . import module
from .queues import counts, made, popped


@module("reliable.inspect", "MQ.INSPECT")
def inspects(env: Environment) -> None:
    """Messages that wait are seen from a place on, also from the end."""
    queue = made(env, b"1", b"2", b"3", b"4")
    popped(queue)
    expect(datas(queue.inspect(1, 5)), [b"3", b"4"], "from the second on")
    expect(datas(queue.inspect(1, 1)), [b"3"], "one, from the second on")
    told = [(each.data, each.deliveries) for each in queue.inspect(-2, 1)]
    expect(told, [(b"3", 0)], "from the last but one, and deliveries")
    expect(counts(queue), (3, 1, 0, 0), "undelivered, delivered, delayed, dead")


@module("reliable.inspect-pending", "MQ.INSPECT")
def inspects_pending(env: Environment) -> None:
    """Messages in flight are seen with the time of their last delivery and the number of deliveries."""
    queue = made(env, b"1", b"2")
    popped(queue, 2)
    (first,) = exactly(1, queue.pending(0, 1), "messages in flight, of the first one")
    time: Any = env.redis.time()
    expect((first.message.data, first.message.deliveries), (b"1", 1), "the first that was delivered")
    expect(abs(first.since + first.idle - time[0]) < 60, True, "its times")
    expect(datas(each.message for each in queue.pending(-1, 5)), [b"2"], "the last that was delivered")


@module("reliable.info", "MQ.QINFO", level="decided")
def informs(env: Environment) -> None:
    """The last id and both lengths are told."""
    queue = made(env)
    *_, last = exactly(3, queue.push(b"1", b"2", b"3"), "ids of messages")
    popped(queue)
    info = queue.info()
    expect((info.last_id, info.undelivered, info.delivered), (last, 2, 1), "last id and lengths")
    queue.ack(*popped(queue, 2), *(each.message for each in queue.pending()))
    expect(queue.info().last_id, last, "the last id of an empty queue")
    found = asdict(queue.capabilities())
    is_module = found.pop("backend") == "module"
    expect(found, {name: is_module != name.startswith("heartbeat") for name in found}, "what it can do")
