"""Reliable queues, on whatever carries them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import count as numbers
from typing import Any, Final
from unittest import mock

from pressure import PressureError, QueueAlreadyExistsError, ServerReplyError
from pressure.kinds.kind import KindContext

from ...judging.capabilities import has_no_reliable_queues
from ...judging.environment import PATIENCE, Environment, exactly, expect, expect_error
from ...wire.gate import Act, Instead, loading
from ..dying import every_death
from ..large import HUGE, LARGE, gist
from ..registry import CHECKS, Check, check
from ..state import LONG, MishapError, datas, server_time
from . import module


def made(env: Environment, *values: bytes, **options: Any) -> Any:
    """A queue that holds these."""
    queue = env.kind("ReliableQueue", **options)
    queue.push(*values)
    return queue


def popped(queue: Any, count: int = 1) -> Any:
    """So many messages, popped at once; fails if there are more or fewer, and does not wait for ever."""
    return exactly(count, queue.pop(count, timeout=PATIENCE), "messages that a pop delivers")


def counts(queue: Any) -> tuple[int, int, int, int]:
    """Undelivered, delivered, delayed, dead."""
    info = queue.info()
    return info.undelivered, info.delivered, info.delayed, info.dead


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


def expect_time(seconds: float, first: int, last: int) -> None:
    """Fails unless a time is within these milliseconds of the server."""
    is_within = first - 2 <= seconds * 1000 <= last + 2
    expect(is_within, True, f"whether a message was delivered at {seconds} s, from {first} ms to {last} ms")


@contextmanager
def unaided() -> Iterator[None]:
    """Our clients made in the block look again only when they are told or have found out that something comes."""
    with mock.patch("pressure.kinds.kind.KindContext", partial(KindContext, slice=LONG)):
        yield


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


def pass_moment(env: Environment, queue: Any) -> None:
    """Waits until everything was delivered a moment ago."""
    env.until(lambda: all(each.idle > 0.05 for each in queue.pending()), "had time passed")


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


@module("reliable.never-lost", "The Reliable Queue")
def dies(env: Environment) -> None:
    """Wherever a client dies, a message comes, or is done with."""
    lanes = [f"{lane}{suffix}" for lane in ("", ":due") for suffix in ("", ":deliveries", ":beats", ":notes")]
    suffixes = (*lanes, ":delayed", ":dead", ":dead:notes")

    def setup() -> Any:
        env.redis.delete(*(env.key(f"jobs{suffix}") for suffix in suffixes))
        return made(env, b"1", b"2", b"3", b"4")

    def work(queue: Any) -> None:
        first, second, third = popped(queue, 3)
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


@module("reliable.worker", "MQ.ACK", level="decided")
def works(env: Environment) -> None:
    """A worker acknowledges when it is done, not before."""
    queue = made(env, b"bad", b"good")
    seen: list[tuple[bytes, int]] = []

    def handle(message: Any) -> None:
        seen.append((message.data, env.kind("ReliableQueue").info().delivered))
        if message.data == b"bad":
            raise MishapError

    with mock.patch.object(logging.getLogger("pressure.worker"), "disabled", True):  # what fails is meant to
        expect(queue.work(handle, min_idle=LONG, until_empty=True), 1, "messages that went well")
    expect(seen, [(b"bad", 1), (b"good", 2)], "messages, and how many are delivered while each is handled")
    expect(counts(queue), (0, 1, 0, 0), "undelivered, delivered, delayed, dead")
    with expect_error(MishapError, "a block that ends by an error"):
        queue.push(b"v")
        with queue.take(timeout=PATIENCE):
            raise MishapError
    expect(counts(queue), (0, 2, 0, 0), "undelivered, delivered, delayed, dead")


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


@module("reliable.dead", "MQ.RECOVER", level="decided")
def dead(env: Environment) -> None:
    """What is delivered too often goes to a queue of its own."""
    queue = made(env, b"1", b"2", max_deliveries=1)
    first, _ = popped(queue, 2)
    queue.retry(first, 0)
    env.until(lambda: all(each.idle > 0 for each in queue.pending()), "had time passed")
    expect((queue.recover(0, 5), counts(queue)), ([], (0, 0, 0, 2)), "what was delivered too often")
    letters = env.kind("ReliableQueue", "jobs:dead")
    told = [(each.data, each.deliveries) for each in letters.pop(5, timeout=PATIENCE)]
    expect(told, [(b"1", 1), (b"2", 1)], "the queue of the dead, and deliveries")


def pass_time(env: Environment, seconds: float) -> None:
    """Lets time pass for what is delayed."""
    members: Any = env.redis.zrange(env.key("jobs:delayed"), 0, -1)
    for member in members:
        env.redis.zincrby(env.key("jobs:delayed"), -1000 * seconds, member)


@module("reliable.due", "MQ.POP", level="decided")
def due(env: Environment) -> None:
    """What is due does not wait behind what was pushed before."""
    queue = made(env, *(b"%d" % number for number in range(9)))
    queue.push(b"due", delay=2 * LONG)
    expect(datas(popped(queue, 2)), [b"0", b"1"], "what is popped before anything is due")
    pass_time(env, 2.5 * LONG)
    seen = [data for _ in range(4) for data in datas(popped(queue))]
    expect(b"due" in seen, True, f"what is due is among {seen}")


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


@module("reliable.dead-why", "MQ.RECOVER", level="decided")
def tells_why(env: Environment) -> None:
    """What is dead tells why, and how often it came."""
    queue = dead_of(env, b"1", b"2", b"3")
    for taken in range(4):  # those that were popped from the queue of the dead come first
        told = [(each.value, each.error, each.text, each.deliveries) for each in queue.dead()]
        wanted = [(each, "MishapError", "no customer", 1) for each in (b"1", b"2", b"3")]
        expect(told, wanted, f"why they are dead, {taken} of which were popped")
        env.kind("ReliableQueue", "jobs:dead").pop(block=False)


@check("reliable.dead-why")
def tells_why_at_some_length(env: Environment) -> None:
    for length in (999, 1000, 1001):
        queue = env.kind("ReliableQueue", f"jobs {length}", max_deliveries=1)
        queue.push(b"v")
        queue.retry(*popped(queue), 0, MishapError("." * length))
        (letter,) = queue.dead()
        expect(letter.text, "." * min(length, 1000), f"what is left of {length} characters")


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


@module("reliable.redrive", "MQ.PUSH", level="decided")
def redrives(env: Environment) -> None:
    """What is dead can be put into the queue again."""
    queue = dead_of(env, b"1", b"2")
    expect((queue.redrive(1), counts(queue)), (1, (1, 0, 0, 1)), "one is put again")
    again = [(each.data, each.deliveries) for each in popped(queue)]
    expect(again, [(b"1", 1)], "the oldest, as a new message")


def dead_of(env: Environment, *values: bytes) -> Any:
    """A queue whose messages have all been given up."""
    queue = made(env, *values, max_deliveries=1)
    for message in popped(queue, len(values)):
        queue.retry(message, 0, MishapError("no customer"))
    return queue


@module("reliable.groups", "MQ.ACK", level="decided")
def groups(env: Environment) -> None:
    """What one group acknowledges stays for the others."""
    queue, audit = made(env, b"1"), env.kind("ReliableQueue", group="audit")
    env.redis.xgroup_create(env.key("jobs"), "audit", "0")
    queue.ack(*popped(queue))
    if "lag" in env.redis.xinfo_groups(env.key("jobs"))[0]:  # since 7.0
        told = [each.info().undelivered for each in (queue, audit)]
        expect(told, [0, 1], "messages that wait for one group, and for the other")
    expect(datas(popped(audit)), [b"1"], "what another group gets")


@check("reliable.groups")
def the_dead_of_another_group_stay(env: Environment) -> None:
    queue = dead_of(env, b"1", b"2")
    env.redis.xgroup_create(env.key("jobs:dead"), "audit", "0")
    expect((queue.redrive(2), counts(queue)[0]), (2, 2), "what is put again")
    letters = env.kind("ReliableQueue", "jobs:dead", group="audit")
    expect(datas(popped(letters, 2)), [b"1", b"2"], "the dead that another group gets")


@check("reliable.groups")
def what_another_group_works_on_stays(env: Environment) -> None:
    """Until the last group has acknowledged it, whichever that is."""
    for is_first in (True, False):
        name = f"jobs {is_first}"
        queues = [made_as(env, name, group) for group in ("pressure", "audit")]
        queues[0].push(b"1", b"2")
        messages = [popped(queue, 2) for queue in queues]
        first, last = (0, 1) if is_first else (1, 0)
        queues[first].ack(*messages[first])
        again = [(each.data, each.deliveries) for each in queues[last].recover(0, 5)]
        expect(again, [(b"1", 2), (b"2", 2)], "what a group recovers that another has acknowledged")
        queues[last].ack(*messages[last])
        expect(env.redis.xlen(env.key(name)), 0, "entries that all groups have acknowledged")


def made_as(env: Environment, name: str, group: str) -> Any:
    """A queue of a group, which is there."""
    env.redis.xgroup_create(env.key(name), group, "0", mkstream=True)
    return env.kind("ReliableQueue", name, group=group)


@module("reliable.several", "MQ.POP", level="decided")
def several(env: Environment) -> None:
    """Of several queues the first that has something is popped."""
    first, second = made(env), env.kind("ReliableQueue", "more")
    second.push(b"late")
    first.push(b"early", b"next")
    found = [each for _ in range(2) for each in first.pop_any(second, count=2, timeout=PATIENCE)]
    told = [(queue.keys.queue, message.data) for queue, message in found]
    names = [env.key(name).encode() for name in ("jobs", "more")]
    wanted = [(names[0], b"early"), (names[0], b"next"), (names[1], b"late")]
    expect(told, wanted, "what is popped of two queues")


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
    queue = made(env, b"1", b"2", b"3")
    first, second, _ = popped(queue, 3)
    pass_moment(env, queue)
    queue.heartbeat(first, second)
    found = queue.recover(0.05, 1)
    expect([(each.data, each.deliveries) for each in found], [(b"3", 2)], "what is recovered")
    deliveries = {each.message.data: each.message.deliveries for each in queue.pending()}
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


FOREIGN: Final = {
    b"as it is": (b"as it is", 1), b"0" * 32 + b":4:after four": (b"after four", 5), b"1" * 32 + b":2,3:{}}odd note": (b"odd note", 3),
    b"2" * 32 + b":0,2:[]a list": (b"a list", 1), b"3" * 32 + b':0,10:{"id":"x"}with an id': (b"with an id", 1),
}  # fmt: skip
"""Delayed messages that another program may have written, their bytes, and the number of their next delivery."""


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


ANY: Final[dict[str, Callable[[Any, Any, Any], object]]] = {
    "pop": lambda queue, _, __: datas(queue.pop(5, block=False)),
    "pop_any": lambda queue, other, _: datas(each for _, each in queue.pop_any(other, count=9, block=False)),
    "push": lambda queue, *_: queue.push(b"a", b"b"),
    "push later": lambda queue, *_: queue.push(b"a", b"b", delay=LONG),
    "retry": lambda queue, _, message: queue.retry(message, LONG),
    "recover": lambda queue, *_: queue.recover(0, 5),
    "heartbeat": lambda queue, _, message: queue.heartbeat(message),
    "ack": lambda queue, _, message: queue.ack(message),
    "move_due": lambda queue, *_: queue.move_due(),
    "redrive": lambda queue, *_: queue.redrive(2),
}
"""What is done to a queue, to another one and with a message that is delivered, by its name."""


@check("reliable.never-lost")
def is_refused_at_any_moment(env: Environment) -> None:
    """No message is lost, and no error is raised that is none of a queue."""
    for name in ANY:
        at_each_message(env, name, Instead(loading))


@check("reliable.never-lost")
def a_lost_connection_tells_what_was_delivered(env: Environment) -> None:
    for name in ("pop", "pop_any"):
        at_each_message(env, name, "lose-message")


def at_each_message(env: Environment, name: str, act: Act) -> None:
    """Something happens at each message of an operation, with keys of its own each time."""
    for moment in numbers(1):
        with Environment(env.address, env.client) as own:
            own.of_kinds = env.of_kinds
            if is_over_at(own, moment, act, name):
                break


def is_over_at(env: Environment, moment: int, act: Act, name: str) -> bool:
    """Whether an operation is over before something happens at a message; fails if it does not end as it should."""
    dead_of(env, b"5", b"6")
    one, other = made(env, b"1", b"2"), env.kind("ReliableQueue", "other")
    one.push(b"4", b"3", delay=LONG)
    pass_time(env, LONG)
    (message,) = popped(one)
    other.push(b"7")
    queue, gate = env.gated_kind("ReliableQueue")
    second = env.kind("ReliableQueue", "other", url=gate.url)
    gate.arm(moment, act)
    got: Any = []
    told: BaseException | str = "nothing"
    try:
        got = ANY[name](queue, second, message)
    except PressureError as error:
        got, told = list(getattr(error, "taken", ())), error
    sent, several = gate.disarm(), (one, other, env.kind("ReliableQueue", "jobs:dead"))
    there = [each.message for queue in several for each in queue.pending()]
    what = f"{name}, {act} at message {moment}, {told!r} raised"
    if act == "lose-message":
        expect(
            sorted(got),
            sorted(each.data for each in there if each.id != message.id),
            f"what is told of {what}",
        )
    total = len({each.data for each in there}) + sum(
        sum(counts(each)) - counts(each)[1] for each in several[:2]
    )
    expect(total >= (6 if name == "ack" else 7), True, f"{total} messages are left of 7 after {what}")
    return sent < moment


@check("reliable.heartbeat")
def beats_at_once(env: Environment) -> None:
    """Within the millisecond of the delivery, which some of many are."""
    queue = made(env, *(b"%d" % number for number in range(20)))
    for _ in range(20):
        (message,) = popped(queue)
        expect(queue.heartbeat(message), [message.id], "what has a heartbeat as soon as it is delivered")


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


@check("reliable.worker")
def works_on_what_is_idle_first(env: Environment) -> None:
    queue = made(env, b"1", b"2", b"3", b"4")
    popped(queue, 2)
    seen: list[tuple[bytes, int]] = []
    env.until(lambda: all(each.idle > 0 for each in queue.pending()), "had time passed")

    def handle(message: Any) -> None:
        seen.append((message.data, message.deliveries))

    done = [queue.work(handle, min_idle=0, max_messages=most, until_empty=True) for most in (1, 2, 5)]
    wanted = [(b"1", 2), (b"2", 2), (b"3", 1), (b"4", 1)]
    expect((seen, done), (wanted, [1, 2, 1]), "messages, and how many went well")


WRONG: Final[tuple[tuple[str, tuple[object, ...], Mapping[str, object]], ...]] = (
    *((f"{name}", ("1-1", 1), {}) for name in ("ack", "heartbeat", "push")),
    *((f"{name}", (no_id,), {}) for name in ("cancel", "retry") for no_id in ("1-1", bytearray(b"1-1"))),
    ("retry", (b"1-1",), {}), ("work", (None,), {}), ("pop", ("1",), {}), ("recover", ("1",), {}), ("redrive", ("1",), {}),
    *((name, (0,), {}) for name in ("pop", "pop_nowait", "dead", "redrive")),
    *((name, (0, 0), {}) for name in ("recover", "inspect", "pending")), ("recover", (-1,), {}), ("pop_any", (), {"count": 0}),
    *(("work", (print,), {"heartbeat": beat, "min_idle": 2}) for beat in (0, -1, 2, 3)),
)  # fmt: skip
"""Methods and arguments that they refuse."""


@check("reliable.worker")
def wrong_arguments_are_refused(env: Environment) -> None:
    """Before anything is done; and a heartbeat that comes before a message is idle is right."""
    queue = made(env, b"v")
    for name, arguments, options in WRONG:
        error = env.start(partial(getattr(queue, name), *arguments, **options)).error(name)
        expect(
            isinstance(error, TypeError | ValueError), True, f"{name} of {arguments}, {options}: {error!r}"
        )
    expect(counts(queue), (1, 0, 0, 0), "undelivered, delivered, delayed, dead")
    done = [
        queue.work(lambda _: None, heartbeat=beat, min_idle=2, until_empty=True)
        for beat in (0.5, 1, 1.9, None)
    ]
    expect(done, [1, 0, 0, 0], "messages that went well")


@check("reliable.worker")
def beats_while_it_works(env: Environment) -> None:
    queue, other = made(env, b"v"), env.kind("ReliableQueue")

    def handle(_: Any) -> None:
        (before,) = other.pending()
        env.until(lambda: other.pending()[0].since > before.since, "was there a heartbeat")

    expect(queue.work(handle, heartbeat=0.01, min_idle=LONG, until_empty=True), 1, "messages that went well")


@check("reliable.worker")
def does_not_count_what_another_acknowledged(env: Environment) -> None:
    queue = made(env, b"1", b"2", b"3")

    def handle(message: Any) -> None:
        if message.data == b"2":
            env.kind("ReliableQueue").ack(message)

    with mock.patch.object(logging.getLogger("pressure.worker"), "disabled", True):  # it is warned of
        expect(queue.work(handle, until_empty=True), 2, "messages that went well, but for one done twice")


@check("reliable.several")
def several_are_of_one_kind(env: Environment) -> None:
    queue = made(env)
    env.kind("BackupQueue", "other").push(b"v")
    with expect_error(QueueAlreadyExistsError, "a pop of a queue of another kind"):
        queue.pop_any(env.kind("ReliableQueue", "other"), block=False)
    with expect_error(TypeError, "a pop of what is no queue"):
        queue.pop_any(b"other", block=False)
    for count in range(1, 4):
        queues = [env.kind("ReliableQueue", f"several {count} {number}") for number in range(3)]
        for number, each in enumerate(queues):
            each.push(*(b"%d" % number,) * 2)
        found = queues[0].pop_any(*queues[1:], count=2 * count, block=False)
        told = [(queue.keys.queue, message.data) for queue, message in found]
        wanted = [(each.keys.queue, b"%d" % number) for number, each in enumerate(queues) for _ in range(2)]
        expect(told, wanted[: 2 * count], f"what is popped of three queues, {2 * count} at most")


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


STREAMS_ONLY: Final = {
    "reliable.groups": "a queue of the module has no groups",
}
"""The clauses that are not asked of queues on the commands of RedisMQ, each with the reason."""


def on_the_module(judge: Check) -> Check:
    """The same, on the commands of RedisMQ where the server has them: what carries a queue makes no difference."""

    def judged(env: Environment) -> None:
        if not has_no_reliable_queues(env):
            env.of_kinds["ReliableQueue"] = {"backend": "module"}
            judge(env)

    return judged


for _id, _checks in CHECKS.items():
    if _id.startswith("reliable.") and _id not in STREAMS_ONLY:
        _checks += [on_the_module(each) for each in _checks if each is not is_recovered_by_one]
