"""The table ``STATUSES``: the exit statuses, what they mean, and the errors that lead to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pressure.cli.framing import FormatError
from pressure.cli.stop import Stop
from pressure.errors import (
    ConnectionFailedError,
    ItemLostError,
    OutcomeUnknownError,
    PressureError,
    PressureWarning,
    QueueAlreadyExistsError,
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
    QueueInUseError,
    ServerReplyError,
    ValueTooLongError,
)
from pressure.spark.errors import PipelineError, RowsGoneError, SetupError

DONE: Final = 0
NO: Final = 1
UNEXPECTED: Final = 70


class LostError(PressureError):
    """Messages were taken from the queue and could not be written.

    Attributes:
        messages: The messages; they are no longer in the queue.
    """

    def __init__(self, why: str, messages: list[bytes]) -> None:
        count = "a message was" if len(messages) == 1 else f"{len(messages)} messages were"
        super().__init__(f"{why}; {count} taken and could not be written")
        self.messages = messages


class FilterError(PressureError):
    """The command of a pipe failed."""


class CannotRunError(PressureError):
    """The command of a pipe exists but cannot be run."""


class NotFoundError(PressureError):
    """The command of a pipe does not exist."""


@dataclass(frozen=True, slots=True)
class Status:
    """One exit status: its number, its meaning, and the errors that lead to it."""

    code: int
    meaning: str
    errors: tuple[type[Exception], ...] = ()


STATUSES: Final = (
    Status(
        DONE,
        "done, or the answer is yes; also when the reader of the output, such as head, has ended, and no "
        "message was lost",
    ),
    Status(NO, "the answer is no, doctor found a problem, or repair left something as it is"),
    Status(2, "wrong usage", (ValueError,)),
    Status(3, "the queue does not exist", (QueueDoesNotExistError,)),
    Status(4, "the server cannot be reached; nothing was changed", (ConnectionFailedError,)),
    Status(5, "the queue exists already", (QueueAlreadyExistsError,)),
    Status(6, "the queue is closed", (QueueClosedError,)),
    Status(7, "another client held the role until the timeout", (QueueInUseError,)),
    Status(8, "the queue was full until the timeout", (QueueFullError,)),
    Status(9, "the queue is empty, or was until the timeout", (QueueEmptyError,)),
    Status(
        10,
        "the connection was lost: the last operation may or may not have been done",
        (OutcomeUnknownError,),
    ),
    Status(11, "the server refused a command", (ServerReplyError,)),
    Status(
        12,
        "input or output failed, input is not in its format, or a message is too long",
        (FormatError, OSError, ValueTooLongError),
    ),
    Status(13, "the command of a pipe failed; its message went back to the queue", (FilterError,)),
    Status(14, "messages were taken and could not be written; standard error has them", (LostError,)),
    Status(15, "a key of the queue has a value that no client writes; see pressure doctor", (PressureError,)),
    Status(
        16,
        "another client got the message before it was acknowledged: it may be done twice",
        (ItemLostError,),
    ),
    Status(17, "Spark, or something that Spark needs, is missing", (SetupError,)),
    Status(
        18,
        "a query in Spark failed for another reason, or the rows for it are gone",
        (PipelineError, RowsGoneError),
    ),
    Status(UNEXPECTED, "an unexpected error; please report it", (Exception,)),
    Status(126, "the command of a pipe cannot be run", (CannotRunError,)),
    Status(127, "the command of a pipe was not found", (NotFoundError,)),
    Status(130, "stopped by SIGINT, after the role was given back; a second signal kills at once"),
    Status(143, "stopped by SIGTERM, after the role was given back"),
)

_CODES: Final = {error: status.code for status in STATUSES for error in status.errors}


#: The statuses for errors that Spark passes on as text.
_BY_NAME: Final = {
    error.__name__: code
    for error, code in _CODES.items()
    if issubclass(error, PressureError) and error is not PressureError
}


def lost_messages(error: BaseException) -> list[bytes]:
    """The messages that were taken from the queue and are lost when the command ends with this error."""
    if isinstance(error, LostError):
        return error.messages
    return list(error.taken) if isinstance(error, OutcomeUnknownError | PressureWarning) else []


def status_of(error: BaseException) -> int:
    """The exit status for an error: that of its nearest class in the table."""
    if isinstance(error, Stop):
        return error.status
    if isinstance(error, KeyboardInterrupt):
        return 130
    if isinstance(error, PipelineError) and error.cause in _BY_NAME:
        return _BY_NAME[error.cause]
    return next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)


def statuses_as_text() -> str:
    """The table as text, for the help."""
    return "\n".join(f"  {status.code:<4} {status.meaning}" for status in STATUSES)
