"""Polling: how operations wait that share one connection, so that each has its turn.

``pool`` says when operations share one.
"""

from __future__ import annotations

from typing import Final

from pressure.errors import ConnectionFailedError, ServerReplyError
from pressure.protocol.commands import atomic
from pressure.protocol.operation import Batch, Command, Reply, Wait

#: Seconds between two polls of an operation on the shared connection, times the number of operations there:
#: together they poll 50 times a second. No pause between polls is longer than what is left of the wait.
POLL_INTERVAL: Final = 0.02


def as_poll(step: Wait) -> Batch:
    """A batch that does not block, in place of a wait. ``replies_to_wait`` converts its replies.

    In a transaction a command such as BRPOP answers at once. Outside one even its shortest timeout would take
    as long as the server's timer, up to a tenth of a second.
    """
    first, *others = step.commands
    if _ends_with_seconds(first):
        return Batch((*atomic((*first[:-1], b"0.001")), *others), taken=step.taken)
    place = first.index(b"BLOCK")
    return Batch(((*first[:place], *first[place + 2 :]), *others), taken=step.taken)


def replies_to_wait(step: Wait, replies: list[Reply]) -> list[Reply]:
    """The replies to a wait, made from the replies to its poll."""
    if not _ends_with_seconds(step.commands[0]):
        return replies
    begun, queued, done, *others = replies
    if isinstance(queued, ServerReplyError) or isinstance(begun, ServerReplyError):
        return [queued, *others]  # it was refused; or MULTI was, and the server ran it by itself
    return [done[0] if isinstance(done, list) else done, *others]


def _ends_with_seconds(command: Command) -> bool:
    """Whether the last argument is a timeout in seconds, as with BRPOP; others have BLOCK before it."""
    return isinstance(command[0], bytes) and command[0].startswith(b"B")


def too_few_connections(limit: int) -> ConnectionFailedError:
    """The error for an operation that watches keys while it waits on the shared connection.

    Other operations would end its watch. This happens without scripts only.
    """
    return ConnectionFailedError(
        f"all connections of this queue object are in use (max_connections={limit}), and without scripts a "
        "wait needs one of its own; allow more, or use scripts"
    )
