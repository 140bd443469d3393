"""Commands that operations send, and what the replies to them say."""

from __future__ import annotations

from pressure.errors import ServerReplyError
from pressure.protocol.operation import Batch, Command, Reply, Wait


def blocking(name: bytes, *arguments: bytes, seconds: float, then: tuple[Command, ...] = ()) -> Wait:
    """A wait on one blocking command, whose last argument is its timeout."""
    return Wait(((name, *arguments, b"%.3f" % seconds), *then), seconds)


def attempt(lists: tuple[bytes, ...], seconds: float, looks: tuple[Command, ...]) -> Batch:
    """One more try to pop from the first of the lists that has something, with looks right after it.

    Without waiting only the first list is tried. The popped reply is ``[list, value]`` with waiting, a
    value without.
    """
    if seconds:
        return blocking(b"BRPOP", *lists, seconds=seconds, then=looks)
    return Batch(((b"RPOP", lists[0]), *looks))


def atomic(*commands: Command) -> tuple[Command, ...]:
    """The commands as one transaction. Its one result is the reply to EXEC; see ``executed``."""
    return ((b"MULTI",), *commands, (b"EXEC",))


def executed(replies: list[Reply], end: int = -1) -> list[Reply] | None:
    """The replies of a batch's transaction, or None when a watched key had changed and nothing was done.

    Args:
        replies: Those of the batch.
        end: Which of them is that of EXEC.

    Raises:
        ServerReplyError: The server refused the transaction as a whole, or a command in it when it came;
            nothing was done.
    """
    if isinstance(replies[0], ServerReplyError):
        return transaction_replies(replies, end)
    if isinstance(replies[end], ServerReplyError):
        check(replies)  # what EXEC says is that there was an error; the first one says which
    result: list[Reply] | None = replies[end]
    return result


def transaction_replies(replies: list[Reply], end: int = -1) -> list[Reply]:
    """What tells of a batch that is a transaction what became of its commands.

    Where MULTI is refused, those after it are carried out one by one, and EXEC is refused, too.
    """
    return replies[1:end] if isinstance(replies[0], ServerReplyError) else replies


def check(replies: list[Reply]) -> list[Reply]:
    """The replies, if none of them is an error.

    Raises:
        ServerReplyError: The first of them that is.
    """
    for reply in replies:
        if isinstance(reply, ServerReplyError):
            raise reply
    return replies
