"""Values for the arguments of commands of hashes and sets."""

from __future__ import annotations

from typing import Final

__all__ = ["OF_HASHES_AND_SETS"]

FIELDS: Final = (*("f", "g") * 6, "h", "1", "", "x" * 65, "a\x00b")
VALUES: Final = (*("", "5", "10") * 3, "-3", "1.5", "a", "x" * 65, " 1", "9223372036854775807", "a\x00b")
MEMBERS: Final = (
    *("1", "2", "3", "-5", "10") * 3, *("a", "b") * 2, "", "01", "9223372036854775807", "9223372036854775808",
)  # fmt: skip

OF_HASHES_AND_SETS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "hash": {"field": FIELDS, "value": VALUES},
    "set": {"member": MEMBERS},
}
