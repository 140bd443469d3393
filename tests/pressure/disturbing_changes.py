"""Ways in which ``disturbing`` changes a reply. To add one, add a function to ``CHANGES``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pressure.errors import ServerReplyError

__all__ = ["CHANGES", "Change", "refused_on"]

Change = Callable[[bytes, Any], Any]
"""From the name of a command and its reply to the reply that the client gets; the same if no other could have been."""


def refused(_: bytes, reply: Any) -> Any:
    """Not of MULTI, nor of what is queued behind it: the server would then answer all that follows otherwise."""
    return reply if reply in SAID_ALWAYS else ServerReplyError("NOPERM refused")


def refused_on(_: bytes, __: Any) -> Any:
    """From here on each reply is a refusal."""
    return ServerReplyError("NOPERM refused")


def another(name: bytes, reply: Any) -> Any:
    """A reply of the same command that could have been."""
    if isinstance(reply, bytes) and reply not in SAID_ALWAYS:
        return b"7" if reply.isdigit() else b"somebody:1:00000000/1/1"
    if isinstance(reply, int):
        return 0 if reply else 2
    return b"5" if reply is None and name in MAY_FIND_NOTHING - LISTS else reply


def nothing(name: bytes, reply: Any) -> Any:
    """What the command answers when there is nothing, or a watched key was changed."""
    return None if name in MAY_FIND_NOTHING else reply


SAID_ALWAYS: Final = (b"OK", b"QUEUED")

LISTS: Final = {b"BRPOP", b"EXEC"}
"""Commands that answer a list, or nothing."""

MAY_FIND_NOTHING: Final = {b"GET", b"LINDEX", b"RPOP", b"LMOVE", b"BLMOVE", b"BRPOPLPUSH", *LISTS}

CHANGES: Final[dict[str, Change]] = {
    "refused": refused,
    "refused on": refused_on,
    "another": another,
    "nothing": nothing,
}
