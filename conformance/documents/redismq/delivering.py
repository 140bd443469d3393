"""Pushing, popping and acknowledging messages, on whatever carries a reliable queue."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

from pressure import ServerReplyError
from pressure.kinds.kind import KindContext

from ...judging.environment import Environment, exactly, expect, expect_error
from ...judging.running import PATIENCE
from ..large import HUGE, LARGE, gist
from ..registry import check
from ..state import LONG, datas, server_time
from . import module
from .queues import counts, expect_time, made, pass_time, popped


@module("reliable.push", "MQ.PUSH")
def pushes(env: Environment) -> None:
    """Every message is given an id, like a stream's; they grow."""
    queue = made(env)
    ids = [*queue.push(b"1", b"2"), *queue.push(b"3")]
    numbers = [tuple(map(int, each.split(b"-"))) for each in ids]
    expect((numbers, len(numbers)), (sorted(set(numbers)), 3), "ids grow")


@module("reliable.order", "The Reliable Queue")
def in_order(env: Environment) -> None:
    """Messages are delivered in the order in which they were pushed."""
    queue = made(env, b"1", b"2")
    queue.push(b"3")
    expect([datas(popped(queue)) for _ in range(3)], [[b"1"], [b"2"], [b"3"]], "what is popped")


@module("reliable.pop", "MQ.POP")
def pops(env: Environment) -> None:
    """A pop gives ids and payloads, up to a count, of what was never delivered."""
    queue = made(env)
    ids = exactly(3, queue.push(b"1", b"2", b"3"), "ids of messages")
    wanted = dict(zip(ids, (b"1", b"2", b"3"), strict=True))
    first = popped(queue, 2)
    second = exactly(1, queue.pop(5, timeout=PATIENCE), "messages of a pop of up to five of one")
    expect({each.id: each.data for each in (*first, *second)}, wanted, "ids and payloads")


@check("reliable.pop")
def pops_what_it_waited_for(env: Environment) -> None:
    """Of one queue or of several: what comes meanwhile, with its time; and what is due, not before and when it is."""
    for queues in (1, 2):
        with unaided():
            queue, *others = (env.kind("ReliableQueue", f"{queues} {number}") for number in range(queues))
        pop = partial(pop_of, queue, *others)
        for timeout in (0.0004, 0.05):
            begin = time.monotonic()
            expect(pop(timeout=timeout), [], f"what comes within {timeout} s, of {queues}")
            waited = time.monotonic() - begin
            expect(
                timeout - 0.006 <= waited < PATIENCE,  # our client waits for no less than 5 ms
                True,
                f"a pop with a timeout of {timeout} s ends after {waited} s",
            )
        for source in (queue, *others):
            for _ in range(9):  # in part of a millisecond, which another program may write
                env.redis.zadd(source.keys.delayed, {b"0" * 32 + b":0:part": server_time(env) + 0.5})
                (found,) = exactly(
                    1, env.start(pop).finish("a pop until part of a millisecond is over"), "messages"
                )
            popping = env.start_blocked(pop)
            before = server_time(env)
            ids = source.push(b"v")
            (found,) = exactly(1, popping.finish("a pop that waits"), "messages of a pop that waited")
            told = (found.id, found.data, found.deliveries)
            expect(told, (ids[0], b"v", 1), f"what a pop of {queues} got that waited")
            expect_time(found.at, before, server_time(env))
            before = server_time(env)
            source.push(b"due", delay=0.05)
            popping = env.start(pop)
            (found,) = exactly(
                1, popping.finish("a pop that waits until a message is due"), "messages that are due"
            )
            expect(found.data, b"due", "what is due")
            expect_time(found.at, before + 50, server_time(env))


def pop_of(queue: Any, *others: Any, timeout: float | None = None) -> list[Any]:
    """What one queue or several give."""
    if not others:
        return list(queue.pop(timeout=timeout))
    return [message for _, message in queue.pop_any(*others, timeout=timeout)]


@contextmanager
def unaided() -> Iterator[None]:
    """Our clients made in the block look again only when they are told or have found out that something comes."""
    with mock.patch("pressure.kinds.kind.KindContext", partial(KindContext, slice=LONG)):
        yield


@check("reliable.pop")
def a_key_of_another_type_is_told(env: Environment) -> None:
    """Of either lane, by the server's own word; clients that look at one lane alone pop from it."""
    for name in ("jobs", "jobs:due"):
        queue = made(env, b"v")
        env.redis.set(env.key(name), "text")
        error = env.start(partial(queue.pop, block=False)).error(name)
        told = str(error or "WRONGTYPE")
        expect(("WRONGTYPE" in told, "ERR " in told), (True, False), f"whether {told!r} tells of {name}")
        env.redis.delete(env.key("jobs"), env.key("jobs:due"))


@check("reliable.pop")
def a_script_delivers_nothing_of_a_key_of_another_type(env: Environment) -> None:
    """On a stream it looks at the type before it takes what is due from the other lane."""
    if env.flavour == "plain" or env.of_kinds:
        return  # what is due is taken first, and a recovery gives it to another
    queue = made(env)
    queue.push(b"due", delay=LONG)
    pass_time(env, LONG)
    env.redis.set(env.key("jobs"), "text")
    with expect_error(ServerReplyError, "a pop of a text"):
        queue.pop(block=False)
    env.redis.delete(env.key("jobs"))
    expect(datas(queue.pop(block=False)), [b"due"], "what is popped when it is no text any more")


@check("reliable.pop")
def large_messages_are_delivered(env: Environment) -> None:
    queue = env.kind("ReliableQueue")
    queue.push(*LARGE[:2])
    found = popped(queue, 2)
    expect([gist(each.data) for each in found], list(map(gist, LARGE[:2])), "what is popped")
    expect(len(queue.ack(*found)), 2, "messages acknowledged")
    queue.push(HUGE + b".", HUGE)
    for wanted in (HUGE + b".", HUGE):
        expect([gist(each.data) for each in popped(queue)], [gist(wanted)], "what is popped, one at a time")


@module("reliable.pop-empty", "MQ.POP")
def pops_nothing(env: Environment) -> None:
    """With nothing to deliver a pop gives nothing."""
    queue = made(env)
    expect(queue.pop(block=False), [], "a pop with nothing there")
    queue.push(b"v")
    popped(queue)
    expect(queue.pop(block=False), [], "a pop with everything delivered")


@module("reliable.kept", "MQ.POP")
def keeps(env: Environment) -> None:
    """What was popped is kept until it is acknowledged."""
    queue = made(env, b"1", b"2", b"3")
    popped(queue, 2)
    expect(counts(queue), (1, 2, 0, 0), "undelivered, delivered, delayed, dead")
    expect(datas(each.message for each in queue.pending()), [b"1", b"2"], "what is kept")


@check("reliable.kept")
def a_block_takes_one(env: Environment) -> None:
    queue = made(env, b"1", b"2", b"3")
    for value, wanted in ((b"1", (2, 1, 0, 0)), (b"2", (1, 1, 0, 0))):
        with queue.take(timeout=PATIENCE) as message:
            expect((message.data, counts(queue)), (value, wanted), "what a block takes, and counts meanwhile")


@module("reliable.ack", "MQ.ACK")
def acknowledges(env: Environment) -> None:
    """An acknowledged message is gone, and so is its memory."""
    queue = made(env, b"1", b"2", b"3")
    queue.ack(*popped(queue, 2))
    expect(counts(queue), (1, 0, 0, 0), "undelivered, delivered, delayed, dead")
    if queue.capabilities().backend == "stream":
        expect(env.redis.xlen(env.key("jobs")), 1, "entries of the stream")


@module("reliable.ack-tells", "MQ.ACK")
def tells_what_is_acknowledged(env: Environment) -> None:
    """To acknowledge tells which messages were delivered still."""
    queue = made(env, b"1", b"2", b"3")
    first, second = popped(queue, 2)
    expect(queue.ack(first), [first.id], "what was acknowledged")
    expect(queue.ack(first, second), [second.id], "what was acknowledged of two, one for the second time")


@check("reliable.ack-tells")
def tells_what_is_refused(env: Environment) -> None:
    """What stands beside a queue of the module, and of no other, may be what no client would write."""
    queue = made(env, b"1")
    found = popped(queue)
    if queue.capabilities().backend == "module":
        env.redis.set(env.key("jobs:notes"), "what no client would write")
        with expect_error(ServerReplyError, "an acknowledgement that the server refuses in part"):
            queue.ack(*found)
