"""Every error that ``pressure`` raises.

They share the base ``PressureError``. Where the protocol names an error it is used here:
``QueueDoesNotExistError``, ``QueueAlreadyExistsError``, ``QueueClosedError``, ``QueueInUseError``,
``QueueFullError``. The full and empty ones are the standard library's ``queue.Full`` and ``queue.Empty``
too, and those of a broken connection the builtin ``ConnectionError``, so that code written for either
catches them.

Messages name the queue and, where a role is in the way, its holder.
"""

from __future__ import annotations

import queue
from collections.abc import Sequence
from typing import Final

from pressure.text import printable


class PressureError(Exception):
    """Base of every error of this package.

    Attributes:
        done: How many values had been put, when ``put_many`` raises it. Of an ``OutcomeUnknownError`` it is a
            lower bound: the server has confirmed so many, and may have stored more.
    """

    done: int = 0


class PressureWarning(RuntimeWarning):
    """The value was put or taken, but the server refused what comes after it; ``repair`` mends that.

    Attributes:
        taken: If warnings are turned into errors: the values, as bytes, that a get has taken from the queue.
    """

    taken: Sequence[bytes] = ()


class UnsafeCodecWarning(UserWarning):
    """``codec="pickle"`` lets every client that can put into the queue run code in its consumers."""


class ValueTooLongError(PressureError, ValueError):
    """A value is longer than 512 MiB, the most that Redis takes; nothing was sent."""


class QueueDoesNotExistError(PressureError):
    """The queue was never created, or it has been deleted, perhaps during the operation."""


class QueueAlreadyExistsError(PressureError):
    """The queue exists already, or one of its keys does."""


class QueueClosedError(PressureError):
    """The queue is closed, so nothing can be put; or closed and empty, so nothing can be got."""


class QueueInUseError(PressureError):
    """Another client holds the role that the operation needs, or has taken over the role of this client.

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
    """An item was no longer this client's when it was completed or extended: it may be done twice.

    Attributes:
        removed: For a ring: whether the item was still in the queue; then it has been removed.
    """

    def __init__(self, message: str, removed: bool = False) -> None:
        super().__init__(message)
        self.removed = removed


class MalformedQueueError(PressureError):
    """A key of the queue holds what no client of the protocol writes, such as a bound that is no number."""


class CodecError(PressureError):
    """The queue's codec cannot decode a value.

    Attributes:
        value: The value's bytes.
        taken: The bytes of all values that the call has taken from the queue, so that none is lost.
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
        """Name the queue in the message, and say more of errors whose own text does not help."""
        before, text = f"queue {queue_name}: ", str(self.args[0]).removeprefix(f"queue {queue_name}: ")
        more = next((hint for start, hint in _HINTS.items() if text.startswith(start)), "")
        self.args = (f"{before}{text.removesuffix(more)}{more}",)


#: How an error of the server begins, and what is added to it.
_HINTS: Final = {
    "WRONGTYPE": " (another program, or a queue of another kind, uses one of its keys)",
    "unknown command 'MQ.": " (this server does not have the module RedisMQ)",
}


class ClusterError(ServerReplyError):
    """The server is part of a cluster and does not keep all keys of this queue."""


class ConnectionFailedError(PressureError, ConnectionError):
    """The server cannot be reached, and nothing was changed by the operation."""


class OutcomeUnknownError(PressureError, ConnectionError):
    """The connection was lost after commands were sent: they may or may not have been carried out.

    The client may still hold a role, which ``repair`` frees, and a get may have lost a value. Nothing is sent
    again automatically.

    Attributes:
        taken: The values, as bytes, that a get had received before the connection was lost. They are no
            longer in the queue. The server may have removed more values than these.
    """

    def __init__(self, message: str, taken: Sequence[bytes] = ()) -> None:
        super().__init__(message)
        self.taken = list(taken)
