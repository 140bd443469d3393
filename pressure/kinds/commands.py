"""Commands and transactions for servers that run no scripts, and functions that read replies.

Rules:
    - A transaction watches keys (WATCH), reads them, and sends MULTI and EXEC. If another client has changed
      a watched key, it starts again after a random pause, at most ``ATTEMPTS`` times.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar

from pressure.errors import QueueInUseError
from pressure.kinds.kind import KindContext
from pressure.protocol.commands import atomic, check, executed
from pressure.protocol.operation import Batch, Command, Operation, Pause, Reply

T = TypeVar("T")

#: How often a transaction is tried while other clients change the watched keys.
ATTEMPTS: Final = 100
#: Longest pause between two attempts, in seconds.
LONGEST_PAUSE: Final = 0.02


def execute(*commands: Command) -> Operation[list[Reply]]:
    """The replies to some commands, sent in one round trip; raises the first error among them."""
    return check((yield Batch(commands)))


#: Takes the replies to the reads; returns the commands to send, and a result to return with their replies.
Decide: TypeAlias = Callable[[list[Reply]], tuple[Sequence[Command], T]]


def transaction(
    ctx: KindContext, watched: Sequence[bytes], looks: Sequence[Command], decide: Decide[T]
) -> Operation[tuple[T, list[Reply]]]:
    """Read, decide and write in one atomic step; if ``decide`` returns no commands, nothing is written.

    Raises:
        QueueInUseError: Other clients changed a watched key in each attempt.
    """
    for _ in range(ATTEMPTS):
        _, *seen = check((yield Batch(((b"WATCH", *watched), *looks))))
        commands, result = decide(seen)
        if not commands:
            yield Batch(((b"UNWATCH",),))
            return result, []
        done = executed((yield Batch(atomic(*commands))))
        if done is not None:
            return result, check(done)
        yield Pause(random.uniform(0, LONGEST_PAUSE))  # noqa: S311, to spread competing clients
    raise QueueInUseError(
        f"queue {ctx.keys}: other clients changed it in each of {ATTEMPTS} attempts; try again"
    )


def front(key: bytes, count: int) -> Operation[list[bytes]]:
    """The next elements of a queue in a list, which are at its right end; the next one first."""
    (found,) = yield from execute((b"LRANGE", key, -count, -1))
    return list(reversed(found))


def now(time: Reply) -> int:
    """The server's time in milliseconds, from the reply to TIME."""
    seconds, microseconds = time
    return int(seconds) * 1000 + int(microseconds) // 1000


def block_ms(seconds: float) -> int:
    """Seconds as a BLOCK argument in milliseconds; at least 1, since 0 would mean no limit."""
    return max(1, int(seconds * 1000))


def pairs(reply: Reply) -> list[tuple[Reply, Reply]]:
    """Names and values from a reply: one flat array (RESP2), pairs or a map (RESP3)."""
    if isinstance(reply, dict):
        return list(reply.items())
    if reply and isinstance(reply[0], list):
        return [(name, value) for name, value in reply]
    return list(zip(reply[::2], reply[1::2], strict=True))


def seconds_since_first(first: Reply, time: Reply) -> float | None:
    """How many seconds ago the earliest time in a sorted set was; None if the set is empty.

    Args:
        first: The reply to ZRANGE of the set's first member, with scores in milliseconds.
        time: The reply to TIME.
    """
    return (now(time) - float(pairs(first)[0][1])) / 1000 if first else None
