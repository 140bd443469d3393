"""Values for the arguments of commands of sorted sets, and of places in them."""

from __future__ import annotations

from typing import Final

from .common import ELEMENTS, PLACES

__all__ = ["OF_SORTED_SETS"]

SCORES: Final = (
    *("0", "1", "2", "1", "0") * 3, "-1", "1.5", "0.1", "0.2", "-0", "inf", "-inf", "1e17", "1e300", "5e-324",
    "0x10", "x", "nan", "", " 1",
)  # fmt: skip
WEIGHTS: Final = ("1", "1", "2", "0.1", "-1", "0", "inf", "-inf", "1e300", "x", "nan")

SCORE_ENDS: Final = (
    *("-inf", "+inf", "0", "1", "2", "(0", "(1", "-1") * 3, "(inf", "(-inf", "1.5", "(", "", "x", "nan", "(x",
    " 1", "( 1", "1 ", "1\x00x", "1e400", "0x1p1",
)  # fmt: skip
MEMBER_ENDS: Final = (
    *("-", "+", "[a", "(a", "[b", "(b") * 3, "[", "(", "[1", "(1", "a", "", "-x", "+\x00x", "[\xff",
)  # fmt: skip

DEGREES: Final = (
    *("0", "1", "2.5", "-1", "45", "-80") * 3, "85.05112878", "85.06", "180", "-180", "181", "x", "inf",
)  # fmt: skip
LENGTHS: Final = (
    *("1", "100", "1000", "100000", "20000000") * 3, "0", "-1", "x", "inf", "1e300", "0.001", "-0",
)  # fmt: skip

OF_SORTED_SETS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "sorted-set": {
        "max": SCORE_ENDS * 2 + MEMBER_ENDS * 2 + PLACES,
        "member": ELEMENTS,
        "min": SCORE_ENDS * 2 + MEMBER_ENDS * 2 + PLACES,
        "offset": ("0", "0", "0", "1", "1", "-1", "-1", "2", "5", "x", "9223372036854775807"),
        "score": SCORES,
        "start": PLACES * 2 + SCORE_ENDS + MEMBER_ENDS,
        "stop": PLACES * 2 + SCORE_ENDS + MEMBER_ENDS,
        "weight": WEIGHTS,
    },
    "geo": {
        "height": LENGTHS,
        "latitude": DEGREES,
        "longitude": DEGREES,
        "member": ELEMENTS,
        "member1": ELEMENTS,
        "member2": ELEMENTS,
        "radius": LENGTHS,
        "width": LENGTHS,
    },
}
