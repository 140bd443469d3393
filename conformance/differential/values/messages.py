"""Values for the arguments of commands by which clients hear of what others do."""

from __future__ import annotations

from typing import Final

__all__ = ["ASKED_FOR_EVENTS", "OF_MESSAGES", "TRACKING"]

CHANNELS: Final = (
    *("news", "more") * 4, "a", "", "__keyspace@0__:a", "__keyevent@0__:del", "__keyevent@0__:lpush",
    "__redis__:invalidate", "__redis__:invalidate", "a\x00b", "n*",
)  # fmt: skip

PATTERNS: Final = (
    *("__key*", "__keyevent@0__:*", "news") * 3, "*", "n*", "?ews", "[mn]*", "", "__keyspace@1__:*",
    "a[", "\\n*",
)  # fmt: skip

OF_MESSAGES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "pubsub": {"channel": CHANNELS, "pattern": PATTERNS, "shardchannel": CHANNELS[:11]},
}
"""By group or command, then by the name of the argument."""

SELF: Final = "<id:0>"
OTHER: Final = "<id:1>"

TRACKING: Final = (
    *(("ON",),) * 4, *(("OFF",),) * 2, ("on", "NOLOOP"), ("ON", "BCAST"), ("ON", "BCAST", "NOLOOP"),
    ("ON", "BCAST", "PREFIX", "a"), ("ON", "PREFIX", "b", "PREFIX", "l", "BCAST"), ("ON", "PREFIX", "a"),
    ("ON", "BCAST", "PREFIX", "a", "PREFIX", ""), ("ON", "OPTIN"), ("ON", "OPTIN", "NOLOOP"),
    ("ON", "OPTOUT"), ("ON", "OPTIN", "OPTOUT"), ("ON", "BCAST", "OPTIN"), ("ON", "REDIRECT", SELF),
    *(("ON", "REDIRECT", OTHER),) * 3, ("ON", "REDIRECT", "<id:2>", "NOLOOP"),
    ("ON", "BCAST", "REDIRECT", OTHER), ("ON", "REDIRECT", OTHER, "REDIRECT", OTHER), ("ON", "REDIRECT", "0"),
    ("ON", "REDIRECT", "x"), ("ON", "REDIRECT"), ("maybe",), ("ON", "maybe"), ("OFF", "PREFIX", "x"), (),
)  # fmt: skip
"""Argument lists of CLIENT TRACKING."""

ASKED_FOR_EVENTS: Final = tuple(
    ("notify-keyspace-events", letters)
    for letters in (
        *("KEA", "EAmn", "KEA", "EA") * 2, "Kg$lm", "Ehszt", "Kn", "", "A", "q", "KEAmn", "g$lshzxetdK",
    )
)  # fmt: skip
"""What CONFIG SET is told of keyspace events."""
