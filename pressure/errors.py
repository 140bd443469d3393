"""Every error that ``pressure`` raises.

Their base class is ``PressureError``. The protocol names five of them: ``QueueDoesNotExistError``,
``QueueAlreadyExistsError``, ``QueueClosedError``, ``QueueInUseError`` and ``QueueFullError``.
``QueueFullError`` and ``QueueEmptyError`` are also the standard library's ``queue.Full`` and ``queue.Empty``.
The errors of a broken connection are also the builtin ``ConnectionError``. So code written for the standard
library catches them.

Messages name the queue and, if the operation needs a role that another client holds, its holder.
"""

from __future__ import annotations

import queue
from collections.abc import Sequence
from typing import Final

from pressure.text import printable


class PressureError(Exception):
    """Base of every error of this package.

    Attributes:
        done: How many values ``put_many`` or ``redrive`` had put when it raised the error. In an
            ``OutcomeUnknownError`` it is a lower bound: the server has confirmed this many, and may have
            stored more.
    """

    done: int = 0


class PressureWarning(RuntimeWarning):
    """The value was put or taken, but the server refused a command that follows; ``repair`` corrects that.

    Attributes:
        taken: The values, as bytes, that a get has taken; set if warnings are turned into errors.
    """

    taken: Sequence[bytes] = ()


class UnsafeCodecWarning(UserWarning):
    """``codec="pickle"`` lets every client that can put into the queue run code in its consumers."""


class ValueTooLongError(PressureError, ValueError):
    """A value is longer than 512 MiB, the longest that Redis accepts; nothing was sent."""


class QueueDoesNotExistError(PressureError):
    """The queue was never created, or it has been deleted, perhaps during the operation."""


class QueueAlreadyExistsError(PressureError):
    """The queue exists already, or one of its keys does."""


class QueueClosedError(PressureError):
    """A put found the queue closed, or a get found it closed and empty."""


class QueueInUseError(PressureError):
    """Another client holds the role that the operation needs, or has freed the role of this client.

    Attributes:
        role: ``"producer"`` or ``"consumer"``.
        holder: The holder's id; None if it has not written one.
    """

    def __init__(self, message: str, role: str = "", holder: bytes | None = None) -> None:
        super().__init__(message)
        self.role = role
        self.holder = holder


class QueueFullError(PressureError, queue.Full):
    """The queue was full until the timeout."""


class QueueEmptyError(PressureError, queue.Empty):
    """The queue was empty until the timeout."""


class ItemLostError(PressureError):
    """Another client has taken or completed this item meanwhile, so it may be processed twice.

    Attributes:
        removed: For a ring: whether this call removed the item, which was still in the queue.
    """

    def __init__(self, message: str, removed: bool = False) -> None:
        super().__init__(message)
        self.removed = removed


class MalformedQueueError(PressureError):
    """A key of the queue has a value that no client writes, such as a bound that is not a number."""


class CodecError(PressureError):
    """The queue's codec cannot decode a value.

    Attributes:
        value: The value's bytes.
        taken: The bytes of all values that the call has taken from the queue, so that you can save them.
    """

    def __init__(self, message: str, value: bytes, taken: list[bytes]) -> None:
        super().__init__(message)
        self.value = value
        self.taken = taken


class ServerReplyError(PressureError):
    """The server refused a command.

    Attributes:
        code: The first word of the server's answer, such as ``WRONGTYPE`` or ``OOM``.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))
        self.code = message.partition(" ")[0].rstrip(":")

    def explain(self, queue_name: str) -> None:
        """Add the queue's name to the message, and a hint if the server's text alone does not help."""
        before, text = f"queue {queue_name}: ", str(self.args[0]).removeprefix(f"queue {queue_name}: ")
        more = next((hint for start, hint in _HINTS.items() if text.startswith(start)), "")
        self.args = (f"{before}{text.removesuffix(more)}{more}",)


#: The beginning of a server error, and the hint that is added to it.
_HINTS: Final = {
    "NOPERM": " (the guide REDIS.md lists the rights that a user of a queue needs)",
    "WRONGTYPE": " (another program, or a queue of another kind, uses one of its keys)",
    "unknown command 'MQ.": " (this server does not have the module RedisMQ)",
}


class ClusterError(ServerReplyError):
    """The server is a node of a cluster and does not serve all keys of this queue."""


class ConnectionFailedError(PressureError, ConnectionError):
    """The server cannot be reached, and nothing was changed by the operation."""


class OutcomeUnknownError(PressureError, ConnectionError):
    """The connection was lost after commands were sent: the server may or may not have executed them.

    A get may have lost a value. The commands are not sent again. If the operation still holds a role, the
    role is freed like that of a dead client.

    Attributes:
        taken: The values, as bytes, that a get had received before the connection was lost. They are no
            longer in the queue. The server may have removed more values than these.
    """

    def __init__(self, message: str, taken: Sequence[bytes] = ()) -> None:
        super().__init__(message)
        self.taken = list(taken)
