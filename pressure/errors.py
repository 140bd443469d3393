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

from pressure.text import printable


class PressureError(Exception):
    """Base of every error of this package.

    Attributes:
        done: How many values had been put, when ``put_many`` raises it.
    """

    done: int = 0


class PressureWarning(RuntimeWarning):
    """The operation was done, but something after it was not; the text says what to repair.

    Attributes:
        taken: Where warnings are made errors, the bytes of what a get had taken from the queue.
    """

    taken: Sequence[bytes] = ()


class UnsafeCodecWarning(UserWarning):
    """Whoever can put into the queue can have its consumers run code."""


class ValueTooLongError(PressureError, ValueError):
    """A value is longer than any Redis takes; nothing was sent."""


class QueueDoesNotExistError(PressureError):
    """The queue was never created, or it was deleted, perhaps during the operation."""


class QueueAlreadyExistsError(PressureError):
    """The queue, or something that has one of its keys, is already there."""


class QueueClosedError(PressureError):
    """The queue is closed: nothing can be put, and for a get nothing is left."""


class QueueInUseError(PressureError):
    """Another client holds the role that the operation needs.

    Attributes:
        role: ``"producer"`` or ``"consumer"``.
        holder: The identifier that the holder left, or None when it left none.
    """

    def __init__(self, message: str, role: str = "", holder: bytes | None = None) -> None:
        super().__init__(message)
        self.role = role
        self.holder = holder


class QueueFullError(PressureError, queue.Full):
    """There was no room in the queue in the time allowed."""


class QueueEmptyError(PressureError, queue.Empty):
    """There was nothing in the queue in the time allowed."""


class ItemLostError(PressureError):
    """What was to be completed or kept was not ours any more: it may be done twice, or has been.

    Attributes:
        removed: Whether it was in the queue still, and is now removed.
    """

    def __init__(self, message: str, removed: bool = False) -> None:
        super().__init__(message)
        self.removed = removed


class MalformedQueueError(PressureError):
    """A key of the queue has something in it that no client of the protocol writes."""


class CodecError(PressureError):
    """A value does not stand for anything in the queue's codec.

    Attributes:
        value: Its bytes.
        taken: The bytes of all values that the call had taken from the queue, so that none is lost.
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
        """Name the queue in the message."""
        self.args = (f"queue {queue_name}: {self.args[0]}",)


class ClusterError(ServerReplyError):
    """The server is part of a cluster and does not keep all keys of this queue."""


class ConnectionFailedError(PressureError, ConnectionError):
    """The server cannot be reached, and nothing was changed by the operation."""


class OutcomeUnknownError(PressureError, ConnectionError):
    """The connection broke after commands were sent: they may or may not have been carried out.

    A role may be left taken and, for a get, a value may be gone. Nothing is tried again silently.

    Attributes:
        taken: The bytes of the values that a get had received before the connection broke: nobody else has
            them. More may be gone.
    """

    def __init__(self, message: str, taken: Sequence[bytes] = ()) -> None:
        super().__init__(message)
        self.taken = list(taken)
