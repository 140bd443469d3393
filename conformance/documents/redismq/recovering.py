"""Recovering messages that were not acknowledged in time, and heartbeats."""

from __future__ import annotations

from contextlib import suppress
from itertools import count as numbers

from pressure import ServerReplyError

from ...judging.environment import Environment, exactly, expect, expect_error
from ...wire.gate import Instead, loading
from ..registry import check
from ..state import LONG, datas, server_time
from . import module
from .queues import expect_time, made, pass_moment, popped


@module("reliable.recover", "MQ.RECOVER")
def recovers(env: Environment) -> None:
    """What was delivered long ago is delivered again, up to a count."""
    queue = made(env, b"1", b"2", b"3")
    popped(queue, 3)
    expect(queue.recover(LONG, 5), [], "what was delivered just now")
    expect(datas(queue.recover(0, 2)), [b"1", b"2"], "up to two of three")
    expect((len(queue.recover(0)), len(queue.recover(0, 5))), (1, 3), "one of three, and up to five")


@check("reliable.recover")
def is_recovered_by_one(env: Environment) -> None:
    """The other comes in between any two messages of the one; a moment of idleness would pass by itself."""
    made(env, b"v")
    for moment in numbers(1):
        (one, gate), other = env.gated_kind("ReliableQueue"), env.kind("ReliableQueue")
        if moment == 1:
            (message,) = one.pop()
        found: list[bytes] = []
        env.redis.xclaim(env.key("jobs"), "workers", "pressure", 0, [message.id], idle=2000 * int(LONG))
        gate.arm(moment, lambda other=other, found=found: found.extend(datas(other.recover(LONG, 5))))  # type: ignore[misc]
        found += datas(one.recover(LONG, 5))
        expect(found, [b"v"], f"what two recover, the other at message {moment} of the one")
        if gate.messages < moment:
            break


@check("reliable.recover")
def others_pop_at_any_moment(env: Environment) -> None:
    for moment in range(1, 8):
        env.redis.delete(*(env.key(f"jobs{suffix}") for suffix in ("", ":deliveries", ":beats", ":notes")))
        other = made(env, *(b"%d" % number for number in range(5)))
        queue, gate = env.gated_kind("ReliableQueue")
        popped(queue)
        gate.arm(moment, lambda other=other: popped(other, 3) and None)  # type: ignore[misc]
        found = [(each.data, each.deliveries) for each in queue.recover(0, 1)]
        expect(found, [(b"0", 2)], f"what is recovered while another client pops before message {moment}")


@check("reliable.recover")
def what_was_recovered_is_returned(env: Environment) -> None:
    """Even if the server refuses what is to be done with another message, which is dead by then."""
    queue = made(env, b"dead", b"good", max_deliveries=2)
    popped(queue)
    exactly(1, queue.recover(0, 1), "messages that are recovered")
    popped(queue)
    env.redis.set(env.key("jobs:delayed"), "what no client would write")
    expect(
        [(each.data, each.deliveries) for each in queue.recover(0, 5)], [(b"good", 2)], "what is recovered"
    )
    with expect_error(ServerReplyError, "a recovery of what is dead alone"):
        queue.ack(*(each.message for each in queue.pending() if each.message.data == b"good"))
        queue.recover(0, 5)


@check("reliable.recover")
def what_was_recovered_in_parts_is_returned(env: Environment) -> None:
    """If the server refuses another part, whoever recovers gets the parts before it."""
    values = [b"%d" % number for number in range(20)]
    seen: list[int] = []
    for moment in numbers(1):
        with Environment(env.address, env.client) as own:
            own.of_kinds = env.of_kinds
            there = made(own, *values)
            popped(there, 20)
            pass_moment(own, there)
            queue, gate = own.gated_kind("ReliableQueue")
            gate.arm(moment, Instead(loading))
            with suppress(ServerReplyError):
                found = datas(queue.recover(0.05, 20))
                expect(found, values[: len(found)], f"what is recovered, message {moment} refused")
                seen.append(len(found))
            if gate.disarm() < moment:
                break
    told = f"messages recovered of 20, a later and later message refused: {seen}"
    expect((seen[-1], any(0 < number < 20 for number in seen)), (20, True), told)


@module("reliable.recover-counts", "MQ.RECOVER")
def counts_deliveries(env: Environment) -> None:
    """A recovered message has one more delivery, and its time since the last delivery begins anew."""
    queue = made(env, b"1", b"2")
    popped(queue, 2)
    pass_moment(env, queue)
    (again,) = exactly(1, queue.recover(0.02, 1), "messages that are recovered")
    expect(again.deliveries, 2, "deliveries")
    pending = exactly(2, queue.pending(), "messages in flight")
    recovered, other = (each.idle for each in sorted(pending, key=lambda each: each.message.data))
    expect(recovered < other, True, f"its time begins anew: {recovered} s, {other} s of the other")
    pass_moment(env, queue)
    expect(sorted(each.deliveries for each in queue.recover(0.02, 2)), [2, 3], "deliveries of both")


@module("reliable.heartbeat", "MQ.RECOVER", level="decided")
def beats(env: Environment) -> None:
    """What is being worked on is not recovered."""
    queue = made(env, b"1", b"2")
    first, second = popped(queue, 2)
    pass_moment(env, queue)
    queue.heartbeat(first)
    idle = {each.message.id: each.idle for each in queue.pending()}
    expect(set(idle), {first.id, second.id}, "messages in flight")
    expect(idle[first.id] < idle[second.id], True, f"a heartbeat makes a message's idle time shorter: {idle}")
    expect(len(queue.ack(first, second)), 2, "messages acknowledged")


@check("reliable.heartbeat")
def what_beats_is_passed_over(env: Environment) -> None:
    """The oldest have beaten just now, so the youngest is recovered; theirs counts as no delivery."""
    for seconds in (0.4, 1.5, 4.0):  # a busy machine may take as long between two steps
        queue = made(env, b"1", b"2", b"3")
        first, second, _ = popped(queue, 3)
        pass_moment(env, queue, seconds)
        queue.heartbeat(first, second)
        found = [(each.data, each.deliveries) for each in queue.recover(seconds, 1)]
        pending = [each.message for each in queue.pending()]
        queue.ack(*pending)
        if found == [(b"3", 2)]:
            break
    expect(found, [(b"3", 2)], "what is recovered")
    deliveries = {each.data: each.deliveries for each in pending}
    expect(deliveries, {b"1": 1, b"2": 1, b"3": 2}, "deliveries")


@check("reliable.heartbeat")
def the_first_delivery_is_remembered(env: Environment) -> None:
    """Whatever beats and is delivered again after it."""
    queue = made(env, b"1", b"2")
    before = server_time(env)
    (message, _) = popped(queue, 2)
    after = server_time(env)
    for deliveries in (2, 3, 4):
        pass_moment(env, queue)
        queue.heartbeat(message)
        (message, _) = exactly(2, queue.recover(0, 2), "messages that are recovered")
        expect((message.data, message.deliveries), (b"1", deliveries), "what is recovered first, deliveries")
        if queue.capabilities().backend == "stream":  # the module does not tell when it has delivered
            expect_time(message.first, before, after)


@check("reliable.heartbeat")
def beats_at_once(env: Environment) -> None:
    """Within the millisecond of the delivery, which some of many are."""
    queue = made(env, *(b"%d" % number for number in range(20)))
    for _ in range(20):
        (message,) = popped(queue)
        expect(queue.heartbeat(message), [message.id], "what has a heartbeat as soon as it is delivered")
