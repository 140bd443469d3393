"""A reliable queue beside a model of it: operations drawn by lot, and what the queue tells after each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from ...judging.environment import Environment, Failure, expect
from ..state import LONG, MishapError, datas, server_time
from . import module

SEEDS: Final = range(2)

STEPS: Final = 100
"""Operations of a walk."""

MOST: Final = 3
"""How often a message of a walk may be delivered."""

LATER, NOW, EARLIER = 2, 1, 0
"""When a delayed message is due: in an hour, since it was retried, since an hour."""

Times = tuple[int, int]
"""Milliseconds of the server: not before, and not after."""


@dataclass(eq=False)
class Message:
    """A message of the model.

    Attributes:
        data: its bytes, which no other message has.
        origin: its first id; None if that is not known.
        deliveries: how often it was delivered.
        first: when it was delivered first; None if that is not known.
        last: when it was delivered last.
        due: when it is due, if it is delayed, and its place among those of the same time.
        delivered: what its last delivery returned.
        is_noted: whether it was retried, so that its first delivery is noted beside it.
    """

    data: bytes
    origin: bytes | None = None
    deliveries: int = 0
    first: Times | None = None
    last: Times = (0, 0)
    due: tuple[int, int] = (0, 0)
    delivered: Any = None
    is_noted: bool = False


@dataclass
class Model:
    """What a queue holds, in the order in which it is to come."""

    waiting: list[Message] = field(default_factory=list)
    delayed: list[Message] = field(default_factory=list)
    taken: list[Message] = field(default_factory=list)
    dead: list[Message] = field(default_factory=list)

    @property
    def due(self) -> list[Message]:
        """The delayed messages that are due."""
        return [each for each in self.delayed if each.due[0] != LATER]

    def delay(self, message: Message, when: int, place: int) -> None:
        """A message is due at a time, behind all others of that time."""
        message.due = (when, place)
        self.delayed = sorted([*self.delayed, message], key=lambda each: each.due)


class Walk:
    """A queue and its model, and what is done to both."""

    def __init__(self, env: Environment, seed: int) -> None:
        self.env, self.lot, self.model = env, random.Random(seed), Model()  # noqa: S311  (no secret)
        self.queue = env.kind("ReliableQueue", max_deliveries=MOST)
        self.made = self.places = 0
        self.is_module = self.queue.capabilities().backend == "module"
        self.trail: list[str] = []

    def step(self) -> None:
        """Does something, and looks at the queue now and then."""
        name = self.lot.choice(OPERATIONS)
        self.trail.append(name)
        getattr(self, name)()
        if self.lot.random() < 0.5:
            self.look()

    def some(self, there: list[Message]) -> list[Message]:
        """Any number of these, in any order."""
        return self.lot.sample(there, self.lot.randrange(len(there) + 1))

    @contextmanager
    def timed(self) -> Iterator[list[int]]:
        """The server's times before and after the block."""
        times = [server_time(self.env)]
        yield times
        times.append(server_time(self.env))

    # What is done

    def push(self) -> None:
        """Any number of messages."""
        some = self.made_up()
        ids = self.queue.push(*datas(some))
        for message, id_ in zip(some, ids, strict=True):
            message.origin = id_
            self.model.waiting.append(message)

    def push_later(self) -> None:
        """Some that are due in an hour."""
        some = self.made_up()
        ids = self.queue.push(*datas(some), delay=LONG)
        for message, id_ in zip(some, ids, strict=True):
            message.origin = id_
            self.delay(message, LATER)

    def made_up(self) -> list[Message]:
        """Any number of messages that no queue has."""
        some = [Message(b"%d" % (self.made + at) + b"." * at) for at in range(self.lot.randrange(4))]
        self.made += len(some)
        return some

    def delay(self, message: Message, when: int) -> None:
        """Behind all that are due at that time."""
        self.places += 1
        self.model.delay(message, when, self.places)

    def pass_time(self) -> None:
        """Some of those that are due in an hour are due since an hour."""
        key = self.env.key("jobs:delayed")
        members: Any = self.env.redis.zrange(key, 0, -1)
        for member, message in self.lot.sample(
            [*zip(members, [*self.model.delayed], strict=True)], len(members)
        ):
            if message.due[0] == LATER and self.lot.random() < 0.5:
                self.env.redis.zincrby(key, -2000 * LONG, member)
                self.model.delayed.remove(message)
                self.model.delay(message, EARLIER, message.due[1])

    def pop(self) -> None:
        """The first that are due and the first that wait; not half of the one while others of the other wait."""
        count, due, waiting = self.lot.randrange(1, 5), self.model.due, [*self.model.waiting]
        with self.timed() as times:
            found = self.queue.pop(count, block=False)
        of_due = sum(b"@" in each.id for each in found)
        least = min(count, len(due) + len(waiting))
        if self.env.flavour == "plain" and least:  # it learns later what is due
            least = 1
        expect(
            least <= len(found) <= count, True, f"{len(found)} are popped of {len(due)} and {len(waiting)}"
        )
        if len(found) - of_due < len(waiting):
            expect(
                of_due <= (count + 1) // 2, True, f"{of_due} of a pop of {count} are due while others wait"
            )
        for each in found:
            lane = due if b"@" in each.id else waiting
            message = lane.pop(0) if lane else Message(b"none was left")
            self.deliver(message, each, times)
            self.model.taken.append(message)
        self.model.waiting = waiting
        self.model.delayed = [each for each in self.model.delayed if each.due[0] == LATER or each in due]

    def deliver(self, message: Message, found: Any, times: list[int]) -> None:
        """Fails unless a message was delivered as it is known to be."""
        message.deliveries += 1
        message.last = (times[0], times[1])
        if message.deliveries == 1:
            message.first = message.last
        expect(
            (found.data, found.deliveries), (message.data, message.deliveries), "a message, and deliveries"
        )
        origin = found.id.partition(b"@")[0]
        expect(origin, message.origin or origin, "the beginning of its id")
        self.expect_within(found.first, message.first, "its first delivery")
        self.expect_within(found.at, message.last, "its last delivery")
        message.origin, message.delivered = origin, found

    def expect_within(self, seconds: float | None, times: Times | None, what: str) -> None:
        """Fails unless a time is within others, or not known if they are not."""
        is_within = (
            seconds is not None and times is not None and times[0] - 2 <= seconds * 1000 <= times[1] + 2
        )
        expect(
            is_within or (seconds is None and times is None),
            True,
            f"whether {what} was at {seconds} s, within {times}",
        )

    def ack(self) -> None:
        """Some that are taken, and others."""
        some = self.some(self.model.taken)
        ids = [each.delivered.id for each in some]
        expect(self.queue.ack(*ids, b"1-1", b"1-1@1-1"), ids, "what is acknowledged")
        expect(self.queue.ack(*ids), [], "what is acknowledged twice")
        self.model.taken = [each for each in self.model.taken if each not in some]

    def retry(self) -> None:
        """One that is taken; it dies if it was delivered often enough."""
        for message in self.some(self.model.taken)[:1]:
            self.model.taken.remove(message)
            when = self.lot.choice((NOW, LATER))
            delay = LONG if when == LATER else 0
            told = [self.queue.retry(message.delivered, delay, MishapError("no customer")) for _ in range(2)]
            expect(told, [True, False], "whether it is retried, and once more")
            message.is_noted = True
            if message.deliveries < MOST:
                self.delay(message, when)
            else:
                self.model.dead.append(message)

    def recover(self) -> None:
        """Up to a number, all being idle for no time at all."""
        if all(each.deliveries < MOST for each in self.model.taken):
            count = self.lot.randrange(1, 5)
            with self.timed() as times:
                found = self.queue.recover(0, count)
            expect(len(found), min(count, len(self.model.taken)), f"how many of {count} are recovered")
            by_data = {each.data: each for each in self.model.taken}
            for each in found:
                message = by_data.pop(each.data, Message(b"none of those"))
                if self.is_module and not message.is_noted:  # it keeps no time of a first delivery
                    message.first = None
                self.deliver(message, each, times)

    def heartbeat(self) -> None:
        """Of some that are taken. What was delivered once seems to have been so first by then."""
        some = self.some(self.model.taken)
        ids = [each.delivered.id for each in some]
        unknown = [] if self.is_module else [b"1-1"]
        expect(self.queue.heartbeat(*ids, *unknown), ids, "messages whose idle time begins anew")
        for each in some:
            if each.deliveries == 1 and each.first is not None:
                each.first = (each.first[0], server_time(self.env))

    def cancel(self) -> None:
        """One that is due in an hour; what was delivered before cannot be cancelled."""
        for message in self.some([each for each in self.model.delayed if each.due[0] == LATER])[:1]:
            is_new = message.deliveries == 0
            told = [self.queue.cancel(message.origin) for _ in range(2)]
            expect(told, [is_new, False], "whether it is cancelled, and once more")
            if is_new:
                self.model.delayed.remove(message)

    def move_due(self) -> None:
        """What is due waits behind all others, without its first id."""
        due = self.model.due
        expect(self.queue.move_due(), len(due), "how many are due")
        self.model.delayed = [each for each in self.model.delayed if each not in due]
        for message in due:
            message.origin = None
            self.model.waiting.append(message)

    def redrive(self) -> None:
        """The oldest of the dead, as new messages."""
        count = self.lot.randrange(1, 4)
        some = self.model.dead[:count]
        expect(self.queue.redrive(count), len(some), f"how many of {count} are put again")
        self.model.dead = self.model.dead[count:]
        self.model.waiting += [Message(each.data) for each in some]

    def end(self) -> None:
        """All is delivered and acknowledged, or dead; nothing is left of it."""
        while there := len(self.model.waiting) + len(self.model.delayed):
            members: Any = self.env.redis.zrange(self.env.key("jobs:delayed"), 0, -1)
            for member in members:
                self.env.redis.zincrby(self.env.key("jobs:delayed"), -9000 * LONG, member)
            for message in self.model.delayed:
                message.due = (EARLIER, message.due[1])
            self.pop()
            expect(
                len(self.model.waiting) + len(self.model.delayed) < there, True, "whether something is popped"
            )
        self.ack()
        expect(
            self.queue.ack(*(each.delivered.id for each in self.model.taken)) != [],
            bool(self.model.taken),
            "acks",
        )
        beside = [
            b"jobs%s:%s" % (lane, what)
            for lane in (b"", b":due")
            for what in (b"deliveries", b"beats", b"notes")
        ]
        left = [each for each in beside if self.env.redis.exists(self.env.key(each.decode()))]
        expect(left, [], "what is left beside messages that are acknowledged")

    # What is told

    def look(self) -> None:
        """Fails unless the queue tells what the model holds."""
        model, info = self.model, self.queue.info()
        seen = (info.undelivered, info.delivered, info.delayed, info.dead)
        there = (model.waiting, model.taken, model.delayed, model.dead)
        expect(seen, tuple(map(len, there)), "how many wait, are taken, are delayed, are dead")
        self.look_at(self.queue.inspect, datas(model.waiting), "what waits")
        taken = self.queue.pending(0, 99)
        found = sorted((each.message.data, each.message.deliveries) for each in taken)
        expect(
            found,
            sorted((each.data, each.deliveries) for each in model.taken),
            "what is taken, and deliveries",
        )
        now = server_time(self.env)
        for each in taken:
            (message,) = (other for other in model.taken if other.data == each.message.data)
            self.expect_within(each.since, (message.last[0], now), "its last delivery or heartbeat")
            self.expect_within(each.since + each.idle, (now - 100_000, now), "a moment ago")
        self.look_at(lambda *place: [each.message for each in self.queue.pending(*place)],
                     [each.message.data for each in taken], "what is taken")  # fmt: skip
        self.look_at_the_dead()

    def look_at(self, look: Any, wanted: list[bytes], what: str) -> None:
        """Fails unless a part of what is there is told, from any place on, also from the end."""
        start, count = self.lot.randrange(-len(wanted) - 1, len(wanted) + 2), self.lot.randrange(1, 4)
        first = start if start >= 0 else start + len(wanted)
        part = wanted[first : first + count] if first >= 0 else []
        expect(datas(look(start, count)), part, f"{what} from {start} on, {count} at most, of {len(wanted)}")

    def look_at_the_dead(self) -> None:
        """Fails unless the dead tell why, and when they came."""
        count = self.lot.randrange(1, 4)
        letters = self.queue.dead(count)
        told = [(each.value, each.error, each.text, each.deliveries, each.origin) for each in letters]
        dead = self.model.dead[:count]
        wanted = [(each.data, "MishapError", "no customer", each.deliveries, each.origin) for each in dead]
        expect(told, wanted, f"the oldest {count} of the dead")
        places = [tuple(map(int, each.message.id.split(b"-"))) for each in letters]
        expect(places, sorted(set(places)), "the ids of the dead, which grow")
        for letter, message in zip(letters, dead, strict=True):
            self.expect_within(letter.first, message.first, "its first delivery")
            self.expect_within(letter.last, message.last, "its last delivery")


OPERATIONS: Final = (
    *("push", "push_later", "pass_time", "pop", "pop", "ack", "retry", "retry"),
    *("recover", "heartbeat", "cancel", "move_due", "redrive"),
)
"""What is done, by its method; some more often."""


@module("reliable.in-any-order", "The Reliable Queue", level="decided")
def walks(env: Environment) -> None:
    """However operations follow one another, each does and tells what those before it have left."""
    for seed in SEEDS:
        walk = Walk(env, seed)
        try:
            for _ in range(STEPS):
                walk.step()
            walk.end()
        except Failure as failure:
            raise Failure(f"after {', '.join(walk.trail)}, drawn by {seed}: {failure}") from failure
        keys: Any = env.redis.keys(f"{env.prefix}*")
        env.redis.delete(*keys)
