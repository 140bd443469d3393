"""Values for the arguments of stream commands: ids that meet, mostly, and few names."""

from __future__ import annotations

from typing import Final

from .common import KEYS

__all__ = ["OF_STREAMS"]

ODD_IDS: Final = (
    "0-0", "0-1", "2", "3", "9", "-", "+", "$", ">", "(1-1", "1-", "-1", "1-x", "x", "", "5-5", "1-*",
    "0-18446744073709551615", "18446744073709551615", "18446744073709551616", "1-18446744073709551616",
    "18446744073709551615-18446744073709551615", "01-01", " 1-1", "1--1",
)  # fmt: skip
NEW_IDS: Final = (*("1-*", "2-*", "3-*", "3-*", "4-*") * 15, "1-1", "2-1", "3-1", *ODD_IDS)
IDS: Final = (*("1-0", "1-1", "2-0", "2-1", "3-0", "3-1", "3-2", "4-0", "4-1") * 20, *ODD_IDS)
PLACES: Final = (*("0", "0", "$", "$", "$", "1-0", "2-0", "3-0", "3-1") * 20, *ODD_IDS)
PLACES_OF_GROUPS: Final = (*(">",) * 200, *("0",) * 60, "1-0", "2-0", *ODD_IDS)
BOUNDS: Final = (
    *("-", "+", "0", "1", "2") * 8, "1-1", "2-1", "3", "(1", "(1-1", "(2-0", "(0", "(-", "(+", "(", "x", "",
    *("(1-0", "(2-0", "(3-0", "(4-0") * 4, "(0-0",
    "18446744073709551615-18446744073709551615", "(18446744073709551615-18446744073709551615",
)  # fmt: skip
GROUPS: Final = (*("g",) * 20, "h", "h", "h", "", "x" * 30)
CONSUMERS: Final = ("c", "c", "c", "d", "d", "", "e\r\nf")
TIMEOUTS: Final = (*("0",) * 12, "100000", "-1", "x", "", "9223372036854775807")
KEYS_OF_ALL: Final = (*KEYS, *KEYS, "s", "s", "t")
HUGE: Final = "9223372036854775807"

OF_STREAMS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "stream": {
        "consumer": CONSUMERS,
        "consumername": CONSUMERS,
        "end": BOUNDS,
        "entries_added": ("0", "1", "3", "5", "100", "-1", "x", HUGE),
        "entries_read": ("0", "1", "2", "3", "-1", "-2", "x", HUGE),
        "field": ("f", "f", "g", "5", ""),
        "group": GROUPS,
        "groupname": GROUPS,
        "id": IDS,
        "key": (*("s",) * 24, "t", "t", "t", "t", "a", "a", "l", "l"),
        "last-id": IDS,
        "max_deleted_entry_id": IDS,
        "min-idle-time": (*("0",) * 10, "100000000", "-1", "x", "", HUGE),
        "ms": ("0", "100000000", "-1", "x", HUGE, "-9223372036854775808"),
        "start": BOUNDS,
        "threshold": ("0", "1", "2", "3", "4", "5", "2-1", "3", "100", "-1", "x", "", "1-1", "9"),
    },
    "generic": dict.fromkeys(("key", "newkey", "source", "destination"), KEYS_OF_ALL),
    "xadd": {"id": NEW_IDS},
    "xgroup|create": {"id": PLACES},
    "xgroup|setid": {"id": PLACES},
    "xread": {"id": PLACES, "milliseconds": TIMEOUTS},
    "xreadgroup": {"id": PLACES_OF_GROUPS, "milliseconds": TIMEOUTS},
}
"""By the group or the name of a command, then by the name of the argument."""
