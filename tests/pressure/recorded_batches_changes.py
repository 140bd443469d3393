"""Ways in which ``recorded_batches`` changes a reply. To add one, add a function to ``CHANGES``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pressure.errors import ServerReplyError

__all__ = ["CHANGES", "Change", "refused_on"]

Change = Callable[[Any], Any]


def refused(_: Any) -> Any:
    return ServerReplyError("NOPERM refused")


def refused_on(_: Any) -> Any:
    """From here on all that it hears."""
    return ServerReplyError("NOPERM refused")


def another(reply: Any) -> Any:
    """A reply of the same command that could have been; the same if there is none."""
    if isinstance(reply, bytes) and reply not in SAID_ALWAYS:
        return b"7" if reply.isdigit() else b"somebody:1:00000000/1/1"
    if isinstance(reply, int):
        return 0 if reply else 2
    return b"5" if reply is None else reply


def nothing(reply: Any) -> Any:
    has_other = isinstance(reply, list) or (isinstance(reply, bytes) and reply not in SAID_ALWAYS)
    return None if has_other else reply


SAID_ALWAYS: Final = (b"OK", b"QUEUED")

CHANGES: Final[dict[str, Change]] = {
    "refused": refused,
    "refused on": refused_on,
    "another": another,
    "nothing": nothing,
}
