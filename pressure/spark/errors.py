"""The errors that only ``pressure.spark`` raises."""

from __future__ import annotations

from pressure.errors import PressureError

__all__ = [
    "NotDeliveredError",
    "OptionError",
    "PayloadError",
    "PipelineError",
    "RowsGoneError",
    "ServerRollbackError",
    "SetupError",
]


class OptionError(ValueError, PressureError):
    """An option is unknown, has a wrong value, or excludes another; the text says which."""


class PipelineError(PressureError):
    """A query of ``pressure pipeline`` failed; the text is the cause in one line.

    Attributes:
        cause: The name of the class of the error that ended the query; "" if it is not known.
        details: All that Spark says about it.
    """

    def __init__(self, text: str, cause: str = "", details: str = "") -> None:
        super().__init__(text)
        self.cause = cause
        self.details = details


class SetupError(PressureError):
    """Something that Spark needs is missing on this machine; the text says what, and how to install it."""


class RowsGoneError(PressureError):
    """Rows that a query needs are gone: they were acknowledged, put back or dropped; the text says which."""


class ServerRollbackError(RowsGoneError):
    """The server has lost changes that Spark holds as done, as after a power loss; the text says which."""


class NotDeliveredError(PressureError):
    """A batch could not be written in time. Its rows stay staged for the same query or writer."""


class PayloadError(ValueError, PressureError):
    """A row or a column does not fit the option ``format``; the text says which one."""
