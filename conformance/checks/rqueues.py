"""The commands of RedisMQ: replies as they are, on servers that have them."""

from __future__ import annotations

from typing import Any

import redis

from ..judging.environment import Environment, expect, expect_error
from .lists import NULL, WRONG_TYPE, Talk, number
from .registry import check

LONG: int = 3_600_000
"""Milliseconds; longer than any check takes."""


class Queue:
    """A queue by its plain commands; replies are those of redis-py, in bytes."""

    def __init__(self, env: Environment, name: str = "q") -> None:
        self.env = env
        self.key = env.key(name)

    def _send(self, *words: str | int) -> Any:
        client: Any = self.env.redis
        return client.execute_command(*words)

    def ask(self, name: str, *words: str | int) -> Any:
        """The reply to a command whose key comes first."""
        return self._send(f"MQ.{name}", self.key, *words)

    def pop(self, count: int = 1, *words: str | int) -> Any:
        """What is popped."""
        return self._send("MQ.POP", count, self.key, *words)

    def lengths(self) -> tuple[int, int]:
        """Undelivered and delivered."""
        found = self.ask("QINFO")
        told = dict(zip(found[::2], found[1::2], strict=True))
        return told[b"undelivered-queue-length"], told[b"delivered-queue-length"]

    def memory(self) -> int:
        """Bytes, counted and not estimated."""
        found: int = self._send("MEMORY", "USAGE", self.key, "SAMPLES", 0)
        return found

    def pending(self) -> list[Any]:
        """What is delivered."""
        found: list[Any] = self.ask("INSPECT", "PENDING", 0, 100)
        return found


def times(env: Environment) -> int:
    """The server's time in milliseconds."""
    seconds, microseconds = env.redis.time()
    return int(seconds * 1000 + microseconds // 1000)


@check("mq.type", "mq.push.creates", "mq.push.ids", "mq.fifo", "mq.pop.reply", "mq.two-lists")
def in_and_out(env: Environment) -> None:
    queue = Queue(env)
    ids = [*queue.ask("PUSH", "1", "2"), *queue.ask("PUSH", "3")]
    numbers = [tuple(map(int, each.split(b"-"))) for each in ids]
    expect(numbers, sorted(set(numbers)), "ids grow")
    kind: Any = env.redis.type(queue.key)
    expect(kind in (b"none", b"list", b"stream", b"string"), False, "TYPE is one that Redis has")
    expect(queue.lengths(), (3, 0), "undelivered and delivered before")
    expect(queue.pop(2), [[ids[0], b"1"], [ids[1], b"2"]], "two popped")
    expect(queue.lengths(), (1, 2), "undelivered and delivered after it")
    expect(queue.pop(9), [[ids[2], b"3"]], "up to nine of one")


@check("mq.push.wrong-type", "mq.pop.wrong-type")
def wrong_type(env: Environment) -> None:
    talk = Talk(env)
    talk.ask("RPUSH k v")
    for line in ("MQ.PUSH k v", "MQ.POP 1 k", "MQ.ACK k 1-1", "MQ.RECOVER k 1 0"):
        talk.expect(line, WRONG_TYPE)
    talk.expect("LLEN k", number(1))
    talk.ask("MQ.PUSH t v")
    talk.expect("LLEN t", WRONG_TYPE)


@check("mq.pop.missing", "mq.pop.nothing", "mq.pop.count-bad")
def nothing_to_pop(env: Environment) -> None:
    talk = Talk(env)
    talk.expect("MQ.POP 1 none", NULL)
    talk.ask("MQ.PUSH k v")
    for count in ("0", "-1", "many"):
        expect(talk.ask(f"MQ.POP {count} k")[:1], b"-", f"a pop of {count}")
    expect(talk.ask("MQ.POP 1 k")[:1], b"*", "a pop of what is left")
    talk.expect("MQ.POP 1 k", NULL)


@check("mq.pop.keys")
def pops_by_priority(env: Environment) -> None:
    first, second = Queue(env, "first"), Queue(env, "second")
    (late,) = second.ask("PUSH", "late")
    (early,) = first.ask("PUSH", "early")
    found = first.pop(5, "KEYS", 1, second.key)
    names = [each.key.encode() for each in (first, second)]
    expect(found, [[names[0], early, b"early"], [names[1], late, b"late"]], "what is popped of two")


@check("mq.pop.block")
def waits_its_turn(env: Environment) -> None:
    queue = Queue(env)
    waiting = [env.connect(), env.connect()]
    for at, each in enumerate(waiting, 1):
        each.send("MQ.POP", "1", queue.key, "BLOCK", "0")
        env.until_blocked(at)
    queue.ask("PUSH", "1", "2")
    got = [each.reply().rpartition(b"\r\n")[0].rpartition(b"\n")[2] for each in waiting]
    expect(got, [b"1", b"2"], "what two got who waited, the first first")


@check("mq.pop.timed-out")
def waits_no_longer(env: Environment) -> None:
    expect(Queue(env).pop(1, "BLOCK", 10), None, "a wait that is over")


@check("mq.ack.removes", "mq.ack.reply", "mq.memory")
def acknowledges(env: Environment) -> None:
    queue = Queue(env)
    large = "x" * 10_000
    ids = queue.ask("PUSH", "1", *[large] * 100)
    full = queue.memory()
    queue.pop(101)
    expect(queue.ask("ACK", *ids[1:]), ids[1:], "the ids that were acknowledged")
    expect([each[0] for each in queue.pending()], ids[:1], "what is delivered still")
    left = queue.memory()
    expect(left < full / 20, True, f"memory is freed: {full} bytes before, {left} after")
    expect(queue.ask("ACK", ids[0], ids[1], "1-1"), ids[:1], "the ids of three, two of which are gone")
    expect(queue.lengths(), (0, 0), "undelivered and delivered")


@check("mq.ack.nothing")
def acknowledges_nothing(env: Environment) -> None:
    queue = Queue(env)
    expect((queue.ask("ACK", "1-1"), queue.ask("RECOVER", 1, 0)), (None, None), "replies of a missing key")
    queue.ask("PUSH", "v")
    expect((queue.ask("ACK", "1-1"), queue.ask("RECOVER", 1, 0)), ([], []), "with nothing delivered")


@check(
    "mq.recover.elapsed",
    "mq.recover.count",
    "mq.recover.deliveries",
    "mq.recover.timestamp",
    "mq.recover.moves",
)
def recovers(env: Environment) -> None:
    queue = Queue(env)
    ids = queue.ask("PUSH", "1", "2", "3")
    queue.pop(3)
    expect(queue.ask("RECOVER", 9, LONG), [], "what was delivered an hour ago")
    env.until(lambda: min(each[3] for each in queue.pending()) > 0, "had time passed")
    begin = times(env)
    expect(queue.ask("RECOVER", 2, 1), [[ids[0], b"1"], [ids[1], b"2"]], "two recovered")
    end, found = times(env), queue.pending()
    expect(
        [(each[0], each[4]) for each in found],
        [(ids[2], 1), (ids[0], 2), (ids[1], 2)],
        "order and deliveries",
    )
    expect([begin <= each[2] <= end for each in found], [False, True, True], "which were delivered now")
    expect([each[2] for each in found], sorted(each[2] for each in found), "last deliveries, in order")


@check("mq.inspect.undelivered", "mq.inspect.negative", "mq.inspect.missing")
def inspects(env: Environment) -> None:
    queue = Queue(env)
    with expect_error(redis.ResponseError, "to inspect a missing key"):
        queue.ask("INSPECT", 0, 1)
    ids = queue.ask("PUSH", "1", "2", "3")
    wanted = [[each, b"%d" % at] for at, each in enumerate(ids, 1)]
    expect(queue.ask("INSPECT", 0, 2), wanted[:2], "the first two")
    expect(queue.ask("INSPECT", -2, 2), wanted[1:], "the last two")
    expect(
        (queue.ask("INSPECT", 3, 1), queue.lengths()), ([], (3, 0)), "past the end, and what is there still"
    )


@check("mq.inspect.pending")
def inspects_pending(env: Environment) -> None:
    queue = Queue(env)
    ids = queue.ask("PUSH", "1", "2")
    begin = times(env)
    queue.pop(2)
    end = times(env)
    for at, (id_, payload, last, elapsed, deliveries) in enumerate(queue.pending()):
        expect((id_, payload, deliveries), (ids[at], b"%d" % (at + 1), 1), "id, payload, deliveries")
        expect(begin <= last <= end, True, f"the time of the last delivery, {last}")
        expect(0 <= elapsed <= times(env) - begin, True, f"milliseconds since, {elapsed}")


@check("mq.info")
def informs(env: Environment) -> None:
    queue = Queue(env)
    *_, last = queue.ask("PUSH", "1", "2", "3")
    queue.pop(2)
    words = [b"last-id", last, b"undelivered-queue-length", 1, b"delivered-queue-length", 2]
    expect(queue.ask("QINFO"), words, "last id and lengths")
