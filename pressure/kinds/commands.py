"""How the kinds ask a server where it runs no scripts, and how they read what it answers.

Rules:
    - A transaction looks first, with what it looks at watched, and is sent only if that holds; it is tried
      again when somebody else was faster, a moment later, and not for ever.
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

#: How often a transaction is tried while others keep changing what it looks at.
ATTEMPTS: Final = 100
#: Longest pause between two of these, in seconds.
LONGEST_PAUSE: Final = 0.02


def execute(*commands: Command) -> Operation[list[Reply]]:
    """Some commands in one round trip, none of which may be refused."""
    return check((yield Batch(commands)))


#: Given what was looked at, the commands that follow from it, and what to return beside their replies.
Decide: TypeAlias = Callable[[list[Reply]], tuple[Sequence[Command], T]]


def transaction(
    ctx: KindContext, watched: Sequence[bytes], looks: Sequence[Command], decide: Decide[T]
) -> Operation[tuple[T, list[Reply]]]:
    """Look, decide, and carry out, as one step; with no commands to carry out nothing is sent.

    Raises:
        QueueInUseError: Others kept changing what was looked at.
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
        yield Pause(random.uniform(0, LONGEST_PAUSE))  # noqa: S311, so that two do not meet again
    raise QueueInUseError(
        f"queue {ctx.keys}: other clients changed it in each of {ATTEMPTS} attempts; try again"
    )


def front(key: bytes, count: int) -> Operation[list[bytes]]:
    """The elements at the right end of a list, where those are that come next; the next one first."""
    (found,) = yield from execute((b"LRANGE", key, -count, -1))
    return list(reversed(found))


def now(time: Reply) -> int:
    """The server's time in milliseconds, from the reply to TIME."""
    seconds, microseconds = time
    return int(seconds) * 1000 + int(microseconds) // 1000


def block_ms(seconds: float) -> int:
    """A wait as it is sent, in milliseconds; never 0, which would be one for ever."""
    return max(1, int(seconds * 1000))


def pairs(reply: Reply) -> list[tuple[Reply, Reply]]:
    """Names and values, which RESP2 answers in one array, and RESP3 as pairs or as a map."""
    if isinstance(reply, dict):
        return list(reply.items())
    if reply and isinstance(reply[0], list):
        return [(name, value) for name, value in reply]
    return list(zip(reply[::2], reply[1::2], strict=True))


def seconds_since_first(first: Reply, time: Reply) -> float | None:
    """For how many seconds the first of a sorted set of times is past; None if there is none.

    Args:
        first: The reply to ZRANGE of its first member, with scores.
        time: The reply to TIME.
    """
    return (now(time) - float(pairs(first)[0][1])) / 1000 if first else None
