"""Build the commands that operations send, and read the replies to them."""

from __future__ import annotations

from typing import Final

from pressure.errors import ServerReplyError
from pressure.protocol.operation import Batch, Command, Operation, Reply, Wait

#: Error codes of a node of a cluster that has executed nothing: keys have moved, or are being moved.
ELSEWHERE: Final = frozenset({"MOVED", "ASK", "TRYAGAIN"})


def blocking(name: bytes, *arguments: bytes, seconds: float, then: tuple[Command, ...] = ()) -> Wait:
    """A wait for one blocking command, whose last argument becomes its timeout; ``then`` follows it."""
    return Wait(((name, *arguments, b"%.3f" % seconds), *then), seconds)


def attempt(lists: tuple[bytes, ...], seconds: float, looks: tuple[Command, ...]) -> Batch:
    """One attempt to pop an element. In the same round trip ``looks`` read the state of the queue.

    If ``seconds`` is 0, only the first list is tried, without waiting, and the reply to the pop is a value.
    Otherwise the first list that has an element is popped, and the reply is ``[list, value]``.
    """
    if seconds:
        return blocking(b"BRPOP", *lists, seconds=seconds, then=looks)
    return Batch(((b"RPOP", lists[0]), *looks))


def atomic(*commands: Command) -> tuple[Command, ...]:
    """The commands between MULTI and EXEC. ``executed`` reads the replies."""
    return ((b"MULTI",), *commands, (b"EXEC",))


def together(*commands: Command) -> Operation[list[Reply]]:
    """The replies to commands that run in one transaction, so that all see the queue at the same moment.

    A server whose memory is full refuses any command in a transaction, also one that frees memory. There the
    commands run one after the other.

    Raises:
        ServerReplyError: The first error among the replies.
    """
    replies = yield Batch(atomic(*commands))
    if not is_full(replies):
        return check(executed(replies) or [])
    return check((yield Batch(commands)))


def is_full(replies: list[Reply]) -> bool:
    """Whether the server has refused a transaction since its memory is full."""
    return any(isinstance(reply, ServerReplyError) and reply.code == "OOM" for reply in replies)


def executed(replies: list[Reply], end: int = -1) -> list[Reply] | None:
    """The replies to the commands of a transaction; None if a watched key had changed.

    Args:
        replies: All replies to the batch.
        end: The index of the reply to EXEC.

    Raises:
        ServerReplyError: EXEC was refused, for example because a command was refused while it was queued;
            nothing was done.
    """
    if isinstance(replies[0], ServerReplyError):
        return transaction_replies(replies, end)
    if isinstance(replies[end], ServerReplyError):
        check(replies)  # EXEC only says that a command was refused; that command's own error comes first
    result: list[Reply] | None = replies[end]
    return result


def transaction_replies(replies: list[Reply], end: int = -1) -> list[Reply]:
    """The replies that say what became of the commands of a batch that is one transaction.

    If the server refuses MULTI, it executes the commands one by one, and then refuses EXEC.
    """
    return replies[1:end] if isinstance(replies[0], ServerReplyError) else replies


def check(replies: list[Reply]) -> list[Reply]:
    """The replies, if none of them is an error.

    Raises:
        ServerReplyError: The first error among them.
    """
    for reply in replies:
        if isinstance(reply, ServerReplyError):
            raise reply
    return replies
