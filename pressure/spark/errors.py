"""What goes wrong between Spark and a queue, beside the errors of ``pressure`` itself."""

from __future__ import annotations

from pressure.errors import PressureError

__all__ = ["NotDeliveredError", "OptionError", "PayloadError", "PipelineError", "RowsGoneError", "SetupError"]


class OptionError(ValueError, PressureError):
    """An option is not known, cannot be meant, or does not go with another; the text says which."""


class PipelineError(PressureError):
    """A query failed; the text is the cause, in one line."""


class SetupError(PressureError):
    """Something that Spark needs is missing on this machine; the text says what, and how to get it."""


class RowsGoneError(PressureError):
    """The rows between two offsets are not there any more: acknowledged, put back, or the queue deleted."""


class NotDeliveredError(PressureError):
    """A batch could not be put into the queue in time; what is staged of it stays where it is."""


class PayloadError(ValueError, PressureError):
    """A row is not in the format that was asked for; the text says which row."""
