"""What comes of an operation in whose middle something happens, and what may come of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count as numbers
from typing import Any, Final

from pressure import MalformedQueueError, PressureError, PressureWarning, QueueDoesNotExistError

from ...judging.environment import Environment, Failure, expect
from ...wire.gate import Act, Gate
from ..state import CONSUMER, COUNTERS, LISTS, LONG, PRODUCER, SUFFIXES, MishapError, length, our_own, text

THERE: Final = [b"a", b"bb"]
"""What waits before each operation."""


MORE: Final = (b"c", b"dd", b"")
"""What is put."""


def put(queue: Any) -> list[bytes]:
    queue.put(MORE[0])
    return []


def put_many(queue: Any) -> list[bytes]:
    queue.put_many(MORE)
    return []


def close(queue: Any) -> list[bytes]:
    queue.shutdown()
    return []


def receive(queue: Any, *, ends: str = "well") -> list[bytes]:
    with queue.receive() as message:
        if ends == "by an error":
            raise MishapError
        if ends == "rejected":
            message.reject()
    return [] if ends == "rejected" else [message.data]


@dataclass(frozen=True)
class Operation:
    """What is done to a queue.

    Attributes:
        work: does it, and returns what it got.
        role: the role that it takes.
        puts: what it puts.
        takes: how many messages it takes for good.
    """

    work: Callable[[Any], list[bytes]]
    role: str
    puts: tuple[bytes, ...] = ()
    takes: int = 0


OPERATIONS: Final = {
    "put": Operation(put, "producer", MORE[:1]),
    "put_many": Operation(put_many, "producer", MORE),
    "close": Operation(close, "producer"),
    "get": Operation(lambda queue: [queue.get()], "consumer", takes=1),
    "get_many": Operation(lambda queue: list(queue.get_many(5)), "consumer", takes=2),
    "receive": Operation(receive, "consumer", takes=1),
    "reject": Operation(partial(receive, ends="rejected"), "consumer", takes=1),
    "fail": Operation(partial(receive, ends="by an error"), "consumer"),
}


KEYS: Final = {
    "producer": ("", ":bound", ":closed", ":not_full", ":producer", PRODUCER, *COUNTERS[:2]),
    "consumer": ("", ":bound", ":closed", ":not_full", ":consumer", CONSUMER, *COUNTERS[2:], ":unacked", ":rejected"),
}  # fmt: skip
"""The keys that a client touches in a role."""


@dataclass(frozen=True)
class Attempt:
    """An operation that is over.

    Attributes:
        got: what it got.
        stored: how many values it has put, as far as it says.
        error: what it raised.
        told: what the error and warnings say, with notes.
        looks: whether a look at the queue is told, after others have changed what the operation may have watched.
    """

    got: list[bytes]
    stored: int
    error: Exception | None
    told: str
    looks: bool = True


def attempted(operation: Operation, queue: Any) -> Attempt:
    """What came of an operation.

    Raises:
        Exception: it raised something that no operation may.
    """
    got, stored = list[bytes](), len(operation.puts)
    error: Exception | None = None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", PressureWarning)
        try:
            got = operation.work(queue)
        except PressureError as raised:
            stored, error = raised.done, raised
        except MishapError as raised:
            error = raised
    told = (*(each.message for each in seen), error or "", *getattr(error, "__notes__", ()))
    return Attempt(got, stored, error, "\n".join(map(str, told)))


def attempts(
    env: Environment, operation: Operation, act: Act, bound: int = 0, **settings: object
) -> Iterator[tuple[int, Attempt]]:
    """An operation after another; something happens at a later message of each."""
    with Gate(env.address) as gate:
        for moment in numbers(1):
            env.redis.delete(*map(env.queue_key, SUFFIXES), *map(env.queue_key, LISTS))
            with our_own(env, "jobs", url=gate.url, prefix=env.prefix, **settings) as queue:
                queue.create(bound)
                queue.put_many(THERE)
                gate.arm(moment, act)
                attempt, sent = attempted(operation, queue), gate.disarm()
                yield moment, replace(attempt, looks=looks(env, queue))
                if sent < moment:
                    return


def looks(env: Environment, queue: Any) -> bool:
    """Whether a look at a queue is told after others have changed all its keys."""
    for suffix in SUFFIXES:
        env.redis.expire(env.queue_key(suffix), int(LONG))
        env.redis.persist(env.queue_key(suffix))
    try:
        queue.stats()
    except (MalformedQueueError, QueueDoesNotExistError):
        return True
    except Exception:  # no look ends by another
        return False
    return True


def expect_lawful(
    env: Environment,
    operation: Operation,
    attempt: Attempt,
    spoiled: str | None,
    *,
    is_freed: bool = False,
    fills: bool = False,
) -> None:
    """Fails if a message is lost or doubled, if a role is kept, or if something is wrong that is not told.

    What is spoiled that names the holder looks as if another client had freed the role: from then on this one writes
    nothing more. What fills the queue leaves no token.
    """
    lists = ("", ":unacked", ":rejected")
    for suffix in {PRODUCER, CONSUMER, ":not_full"} - {spoiled, f"{spoiled}_free"}:
        is_taken = fills and suffix == ":not_full" and attempt.stored == len(operation.puts)
        expect(length(env, suffix), int(not is_taken), f"elements of {suffix}")
    if spoiled not in lists:
        waiting, unacked, rejected = (elements(env, suffix) for suffix in lists)
        flow = [*attempt.got, *rejected, *unacked, *waiting]
        expect(flow, [*THERE, *operation.puts[: attempt.stored]], "all messages, the oldest first")
    if attempt.error is None and operation.takes and spoiled != ":unacked":
        expect(
            length(env, ":unacked"), 0, "messages that are not acknowledged after an operation that was done"
        )
    if spoiled is None:
        expect("could not be given back" in attempt.told, False, "whether a role is told of that is free")
    is_freed = is_freed or spoiled in {":producer", ":consumer"}
    if attempt.error is None and not is_freed and (operation.puts or operation.takes):
        is_told = "refused to count" in attempt.told
        taken = len(attempt.got) or operation.takes  # some of several, if more were refused
        wrong = [suffix for suffix in COUNTERS if not is_right(env, operation, taken, suffix)]
        expect(
            is_told,
            bool(wrong) or (is_told and spoiled is not None),
            f"whether it is told that {wrong} are wrong",
        )


def elements(env: Environment, suffix: str) -> list[bytes]:
    """Those of a list, from its right end."""
    found: Any = env.redis.lrange(env.queue_key(suffix), 0, -1)
    return list(reversed(found))


def is_right(env: Environment, operation: Operation, taken: int, suffix: str) -> bool:
    """Whether a counter is right after an operation that was done."""
    put = (*THERE, *operation.puts)
    counted = put if suffix in COUNTERS[:2] else put[:taken]
    number = len(counted) if suffix.endswith("_messages") else sum(map(len, counted))
    return is_spoiled(env, suffix) is False and int(text(env, suffix) or 0) == number


def spoil(env: Environment, suffix: str) -> None:
    """Makes a key something that no client would write."""
    env.redis.delete(env.queue_key(suffix))
    env.redis.hset(env.queue_key(suffix), "field", "value")


def is_spoiled(env: Environment, suffix: str) -> bool:
    return env.redis.type(env.queue_key(suffix)) == b"hash"


@contextmanager
def described(where: str, attempt: Attempt) -> Iterator[None]:
    """Says where a block fails."""
    try:
        yield
    except Failure as failure:
        raise Failure(f"{where}: {failure}; {attempt}") from failure
