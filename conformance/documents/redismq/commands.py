"""The commands of RedisMQ: replies as they are, on servers that have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import redis

from ...judging.environment import Environment, expect, expect_error
from ..lists.talk import WRONG_TYPE, Talk, exchanges_of
from ..registry import check
from . import commands

exchange = exchanges_of(commands)

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


@commands("mq.type", "The Reliable Queue")
def type_of_its_own(env: Environment) -> None:
    """A queue is a type of its own, at the key that COMMAND GETKEYS finds in a command."""
    talk = Talk(env)
    talk.ask("MQ.PUSH t v")
    expect(
        talk.ask("TYPE t") in (b"+none\r\n", b"+list\r\n", b"+stream\r\n", b"+string\r\n"),
        False,
        "TYPE is Redis's",
    )
    talk.expect("LLEN t", WRONG_TYPE)
    talk.ask("RPUSH k v")
    for line in ("MQ.ACK k 1-1", "MQ.RECOVER k 1 0"):
        talk.expect(line, WRONG_TYPE)
    key = talk.ask("COMMAND GETKEYS MQ.PUSH t v")
    for line in ("MQ.POP 1 t", "MQ.ACK t 1-1", "MQ.RECOVER t 1 0", "MQ.INSPECT t 0 1", "MQ.QINFO t"):
        talk.expect(f"COMMAND GETKEYS {line}", key)
    expect(key.startswith(b"*1\r\n"), True, "MQ.PUSH has one key")
    more = talk.ask("COMMAND GETKEYS MQ.POP 1 t KEYS 2 u v")
    expect(more.startswith(b"*3\r\n"), True, "MQ.POP has a key, and those after KEYS")


@commands("mq.push.creates", "MQ.PUSH")
def push_creates(env: Environment) -> None:
    """A push to a missing key creates the queue."""
    queue = Queue(env)
    expect(env.redis.exists(queue.key), 0, "EXISTS before")
    queue.ask("PUSH", "v")
    expect((env.redis.exists(queue.key), queue.lengths()), (1, (1, 0)), "EXISTS and lengths after it")


@commands("mq.push.ids", "MQ.PUSH")
def push_ids(env: Environment) -> None:
    """Each element is given an id like a stream's, in the order of the arguments."""
    queue = Queue(env)
    ids = [*queue.ask("PUSH", "1", "2"), *queue.ask("PUSH", "3")]
    numbers = [tuple(map(int, each.split(b"-"))) for each in ids]
    expect((numbers, len(numbers)), (sorted(set(numbers)), 3), "ids grow")
    wanted = {each: b"%d" % at for at, each in enumerate(ids, 1)}
    expect(dict(queue.ask("INSPECT", 0, 9)), wanted, "which id is whose")


@commands("mq.fifo", "The Reliable Queue")
def first_in_first_out(env: Environment) -> None:
    """What is pushed first is popped first."""
    queue = Queue(env)
    for payloads in (("1", "2"), ("3",)):
        queue.ask("PUSH", *payloads)
    expect([payload for _ in range(3) for _, payload in queue.pop()], [b"1", b"2", b"3"], "what is popped")


@commands("mq.pop.reply", "MQ.POP")
def pop_reply(env: Environment) -> None:
    """A pop answers an array of so many elements, each its id and its payload."""
    queue = Queue(env)
    wanted = sorted([each, b"payload"] for each in queue.ask("PUSH", *["payload"] * 3))
    first, second = queue.pop(2), queue.pop(9)
    expect((len(first), len(second)), (2, 1), "elements of a pop of two, and of nine where one is left")
    expect(sorted(first + second), wanted, "ids and payloads")


@commands("mq.two-lists", "The Reliable Queue")
def two_lists(env: Environment) -> None:
    """What is popped goes from the undelivered to the delivered."""
    queue = Queue(env)
    queue.ask("PUSH", "1", "2", "3")
    expect(queue.lengths(), (3, 0), "undelivered and delivered before")
    popped = queue.pop(2)
    expect(queue.lengths(), (1, 2), "undelivered and delivered after it")
    expect({each[0] for each in queue.pending()}, {id_ for id_, _ in popped}, "ids of the delivered")


exchange(
    "mq.push.wrong-type", "MQ.PUSH", "A key that holds something else is an error.",
    "RPUSH k v => 1", "MQ.PUSH k v => -WRONGTYPE", "LLEN k => 1",
)  # fmt: skip
exchange(
    "mq.pop.wrong-type", "MQ.POP", "A key that holds something else is an error.",
    "RPUSH k v => 1", "MQ.POP 1 k => -WRONGTYPE", "LLEN k => 1",
)  # fmt: skip
exchange(
    "mq.pop.missing", "MQ.POP", "Of a missing key a pop answers null.",
    "MQ.POP 1 none => nil", "MQ.POP 2 none => nil", "EXISTS none => 0",
)  # fmt: skip
exchange(
    "mq.pop.nothing", "MQ.POP", "With nothing undelivered a pop answers null.",
    "MQ.PUSH k v", "MQ.POP 1 k", "MQ.POP 1 k => nil", level="decided",
)  # fmt: skip


REFUSED: Final = (
    *(f"MQ.POP {count} k" for count in ("0", "-1", "many", "1.5")),
    *(f"MQ.POP 1 k KEYS {keys}".rstrip() for keys in ("", "0", "-1", "many", "0 k", "1", "2 l", "3 l m", "1 l m")),
    *(f"MQ.POP 1 k {end}" for end in ("BLOCK", "BLOCK -1", "BLOCK soon", "SOON", "SOON 1", "BLOCK 1 BLOCK")),
    *(f"MQ.RECOVER k {words}" for words in ("0 1", "-1 1", "many 1", "1 -1", "1 long")),
    *(f"MQ.INSPECT k {words}" for words in ("0 0", "0 -1", "0 many", "many 1", "SOON 0 1", "PENDING 0 0")),
    *(f"MQ.ACK k {id_}" for id_ in ("1", "1-", "-1", "1-1-1", "01-1", "1-01", "a-1", "1-1 b", "18446744073709551616-0")),
)  # fmt: skip
"""Requests that are errors."""


@commands("mq.pop.count-bad", "MQ.POP", level="decided")
def pop_count_bad(env: Environment) -> None:
    """A count or a number of keys below 1, or no number, is an error and pops nothing."""
    talk = Talk(env)
    talk.ask("MQ.PUSH k v")
    for line in REFUSED:
        expect(talk.ask(line)[:1], b"-", f"what {line} answers")
    for line in (
        "MQ.PUSH k",
        "MQ.POP 1",
        "MQ.ACK k",
        "MQ.RECOVER k 1",
        "MQ.INSPECT k 0",
        "MQ.QINFO",
        "MQ.QINFO k k",
    ):
        expect(
            b"wrong number of arguments" in talk.ask(line),
            True,
            f"whether {line} has too few arguments, or too many",
        )
    expect(Queue(env, "k").lengths(), (1, 0), "undelivered and delivered")


@commands("mq.pop.keys", "MQ.POP", level="decided")
def pops_by_priority(env: Environment) -> None:
    """With KEYS the first key goes first, and each element names its key."""
    first, second = Queue(env, "first"), Queue(env, "second")
    (late,) = second.ask("PUSH", "late")
    (early,) = first.ask("PUSH", "early")
    found = first.pop(5, "KEYS", 1, second.key)
    names = [each.key.encode() for each in (first, second)]
    expect(found, [[names[0], early, b"early"], [names[1], late, b"late"]], "what is popped of two")
    first.ask("PUSH", "more")
    second.ask("PUSH", "stays")
    is_changed = changes(env, second, lambda: first.pop(1, "KEYS", 1, second.key))
    expect(is_changed, False, "whether a transaction fails that watches a queue of which nothing is popped")


def changes(env: Environment, queue: Queue, work: Callable[[], object]) -> bool:
    """Whether a transaction that watches a queue fails after some work."""
    watcher = env.connect()
    watcher.command("WATCH", queue.key)
    work()
    watcher.command("MULTI")
    return watcher.command("EXEC") != b"*0\r\n"


@check("mq.pop.keys")
def takes_no_other_word_for_a_key(env: Environment) -> None:
    """On a server of its own: the number of keys, and what follows them, may be names of queues."""
    if env.address.another is None:
        return
    with env.address.another() as address, Environment(address, env.client) as own:
        server = own.connect()
        for name in ("1", "BLOCK"):
            server.command("MQ.PUSH", name, "v")
        for words in (("KEYS", "1", "l"), ("KEYS", "1", "l", "BLOCK", "1")):
            expect(server.command("MQ.POP", "5", "k", *words), b"$-1\r\n", f"what MQ.POP 5 k {words} pops")


@check("mq.pop.keys")
def the_count_is_that_of_all_keys(env: Environment) -> None:
    first, second = Queue(env, "first"), Queue(env, "second")
    for queue in (first, second):
        queue.ask("PUSH", "1", "2")
    found = first.pop(3, "KEYS", 1, second.key)
    wanted = [(first.key.encode(), b"1"), (first.key.encode(), b"2"), (second.key.encode(), b"1")]
    expect([(key, data) for key, _, data in found], wanted, "three messages of two keys with two each")


@commands("mq.pop.block", "MQ.POP", level="decided")
def waits_its_turn(env: Environment) -> None:
    """With BLOCK a pop waits, and who waits longest is served first."""
    queue = Queue(env)
    waiting = [env.connect(), env.connect()]
    for at, each in enumerate(waiting, 1):
        each.send("MQ.POP", "1", queue.key, "BLOCK", "0")
        env.until_blocked(at)
    queue.ask("PUSH", "1", "2")
    got = [each.reply().rpartition(b"\r\n")[0].rpartition(b"\n")[2] for each in waiting]
    expect(got, [b"1", b"2"], "what two got who waited, the first first")


@commands("mq.pop.timed-out", "MQ.POP", level="decided")
def waits_no_longer(env: Environment) -> None:
    """When the time of BLOCK is over the reply is null."""
    expect(Queue(env).pop(1, "BLOCK", 10), None, "a wait that is over")


@commands("mq.ack.removes", "MQ.ACK")
def ack_removes(env: Environment) -> None:
    """What is acknowledged leaves the delivered."""
    queue = Queue(env)
    first, *others = queue.ask("PUSH", "1", "2", "3")
    queue.pop(3)
    queue.ask("ACK", *others)
    expect([each[0] for each in queue.pending()], [first], "what is delivered still")
    is_changed = [changes(env, queue, lambda: queue.ask("ACK", first)) for _ in range(2)]
    expect(
        is_changed, [True, False], "whether a transaction fails that watches what is acknowledged, and again"
    )
    expect(queue.lengths(), (0, 0), "undelivered and delivered")


@commands("mq.ack.reply", "MQ.ACK")
def ack_reply(env: Environment) -> None:
    """The reply has the ids that were removed, and no others."""
    queue = Queue(env)
    first, second, third = queue.ask("PUSH", "1", "2", "3")
    queue.pop(3)
    expect(queue.ask("ACK", second, third), [second, third], "the ids that were acknowledged")
    expect(queue.ask("ACK", first, second, "1-1"), [first], "the ids of three, two of which are gone")


@commands("mq.memory", "The Reliable Queue")
def memory_is_freed(env: Environment) -> None:
    """What is acknowledged takes no memory any more."""
    queue = Queue(env)
    ids = queue.ask("PUSH", "1", *["x" * 10_000] * 100)
    full = queue.memory()
    queue.pop(101)
    queue.ask("ACK", *ids[1:])
    left = queue.memory()
    expect(left < full / 20, True, f"memory is freed: {full} bytes before, {left} after")


@commands("mq.ack.nothing", "MQ.ACK", level="decided")
def acknowledges_nothing(env: Environment) -> None:
    """MQ.ACK and MQ.RECOVER answer null for a missing key, and an empty array with nothing delivered."""
    queue = Queue(env)
    expect((queue.ask("ACK", "1-1"), queue.ask("RECOVER", 1, 0)), (None, None), "replies of a missing key")
    ids = queue.ask("PUSH", "v", "w")
    expect((queue.ask("ACK", "1-1", *ids), queue.ask("RECOVER", 1, 0)), ([], []), "with nothing delivered")
    expect(queue.lengths(), (2, 0), "undelivered and delivered")


def delivered(env: Environment) -> tuple[Queue, list[bytes]]:
    """A queue of three that were delivered a while ago, and their ids."""
    queue = Queue(env)
    ids = queue.ask("PUSH", "1", "2", "3")
    queue.pop(3)
    env.until(lambda: min(each[3] for each in queue.pending()) > 0, "had time passed")
    return queue, ids


@commands("mq.recover.elapsed", "MQ.RECOVER")
def recovers_what_is_old(env: Environment) -> None:
    """MQ.RECOVER delivers again what was delivered at least so long ago, and nothing else."""
    queue, ids = delivered(env)
    expect(queue.ask("RECOVER", 9, LONG), [], "what was delivered an hour ago")
    expect({id_ for id_, _ in queue.ask("RECOVER", 9, 1)}, {*ids}, "what was delivered a millisecond ago")


@commands("mq.recover.count", "MQ.RECOVER")
def recovers_so_many(env: Environment) -> None:
    """MQ.RECOVER answers up to so many elements, each its id and its payload."""
    queue, ids = delivered(env)
    expect(queue.ask("RECOVER", 2, 1), [[ids[0], b"1"], [ids[1], b"2"]], "two recovered")


@commands("mq.recover.deliveries", "MQ.RECOVER")
def recovery_counts(env: Environment) -> None:
    """A recovered element has one more delivery."""
    queue, _ = delivered(env)
    for deliveries in (2, 3):
        queue.ask("RECOVER", 3, 0)
        expect([each[4] for each in queue.pending()], [deliveries] * 3, "deliveries")


@commands("mq.recover.timestamp", "MQ.RECOVER")
def recovery_is_now(env: Environment) -> None:
    """The last delivery of a recovered element is at the server's time now."""
    queue, _ = delivered(env)
    before = times(env)
    ((id_, _),) = queue.ask("RECOVER", 1, 1)
    after = times(env)
    seen = {each[0]: each[2] for each in queue.pending()}
    expect(before <= seen[id_] <= after, True, f"{seen[id_]} is from {before} to {after}")
    expect(sum(each < before for each in seen.values()), 2, "times of the others, which are as they were")


@commands("mq.recover.moves", "MQ.RECOVER")
def recovered_moves(env: Environment) -> None:
    """A recovered element goes to the end of the delivered, which stay ordered by last delivery."""
    queue, (first, second, third) = delivered(env)
    queue.ask("RECOVER", 1, 1)
    expect([each[0] for each in queue.pending()], [second, third, first], "the delivered")
    expect(
        [each[2] for each in queue.pending()], sorted(each[2] for each in queue.pending()), "last deliveries"
    )


@commands("mq.inspect.undelivered", "MQ.INSPECT")
def inspects(env: Environment) -> None:
    """The undelivered are told from a place on, each its id and payload."""
    queue = Queue(env)
    wanted = [[each, b"%d" % at] for at, each in enumerate(queue.ask("PUSH", "1", "2", "3"), 1)]
    expect(
        (queue.ask("INSPECT", 0, 2), queue.ask("INSPECT", 1, 9)),
        (wanted[:2], wanted[1:]),
        "two, and the others",
    )
    expect(queue.lengths(), (3, 0), "undelivered and delivered")


@commands("mq.inspect.negative", "MQ.INSPECT")
def inspects_from_the_end(env: Environment) -> None:
    """A negative start counts from the end."""
    queue = Queue(env)
    queue.ask("PUSH", "1", "2", "3")
    for start, wanted in ((-2, [b"2", b"3"]), (-1, [b"3"])):
        expect([payload for _, payload in queue.ask("INSPECT", start, 2)], wanted, f"two from {start} on")


@commands("mq.inspect.missing", "MQ.INSPECT", level="decided")
def inspects_nothing(env: Environment) -> None:
    """A missing key is an error; a place past the end is empty."""
    queue = Queue(env)
    with expect_error(redis.ResponseError, "to inspect a missing key"):
        queue.ask("INSPECT", 0, 1)
    queue.ask("PUSH", "v")
    expect(queue.ask("INSPECT", 1, 1), [], "past the end")


@commands("mq.inspect.pending", "MQ.INSPECT")
def inspects_pending(env: Environment) -> None:
    """With PENDING the delivered: id, payload, last delivery, elapsed, deliveries."""
    queue = Queue(env)
    ids = queue.ask("PUSH", "1", "2")
    begin = times(env)
    queue.pop(2)
    end = times(env)
    env.until(lambda: times(env) > end + 9, "was it some milliseconds later")
    asked = times(env)
    for at, (id_, payload, last, elapsed, deliveries) in enumerate(queue.pending()):
        expect((id_, payload, deliveries), (ids[at], b"%d" % (at + 1), 1), "id, payload, deliveries")
        expect(begin <= last <= end, True, f"the time of the last delivery, {last}")
        expect(asked - end <= elapsed <= times(env) - begin, True, f"milliseconds since, {elapsed}")


@commands("mq.info", "MQ.QINFO", level="decided")
def informs(env: Environment) -> None:
    """The last id and both lengths are told."""
    queue = Queue(env)
    *_, last = queue.ask("PUSH", "1", "2", "3")
    queue.pop(2)
    words = [b"last-id", last, b"undelivered-queue-length", 1, b"delivered-queue-length", 2]
    expect(queue.ask("QINFO"), words, "last id and lengths")
