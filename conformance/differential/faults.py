"""Faults of real servers: requests that are not sent, since one of them would crash or answer by luck.

Each version has its own; an entry of ``OF_VERSIONS`` says what the fault is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["has_fault"]


class Fault(NamedTuple):
    """Requests that a version cannot take.

    Attributes:
        words: in small letters; a request that has all of them, each as often, is meant.
        reason: what the real server does.
        in_transaction: only in a transaction.
        least: only with so many words.
    """

    words: Counter[str]
    reason: str
    in_transaction: bool = False
    least: int = 0


def having(words: str, reason: str, *, in_transaction: bool = False) -> Fault:
    return Fault(Counter(words.split(" ")), reason, in_transaction)


MOST: Final = 2**63 - 1
BEYOND: Final = "the deadline wraps below 0: the key does not expire, until a cycle of expiry deletes it"
CRASHES: Final = "crashes some time later"
INFINITE: Final = ("inf", "+inf", "-inf", "infinity")

OF_6: Final = (
    having("client kill id 0", "closes the connections of all clients"),
    Fault(Counter(("error({err = 'my error'})",)), "the function that handles errors fails"),
)
OF_7_2: Final = having("hello auth", "cuts the reply of EXEC short", in_transaction=True)
OVERLAPPING: Final = having(
    "client tracking bcast prefix prefix", "replies twice, an error and OK, if prefixes overlap"
)
OF_8: Final = (
    OF_7_2,
    OVERLAPPING,
    *(having(f"{name} {MOST}", BEYOND) for name in ("restore", "restore-asking")),
)
OF_VALKEY: Final = Fault(
    Counter(("client", "pause")), "pauses all clients, also the one that would end it", least=5
)
OF_VERSIONS: Final[dict[str, tuple[Fault, ...]]] = {
    "6.0": (
        *OF_6,
        having(f"srandmember {-(2**63)}", "replies with so many members, until it has no memory"),
        having(f"setrange {MOST}", "the sum of offset and length wraps: it crashes"),
        having(f"sort limit {MOST}", "the sum of offset and count wraps: it crashes"),
        *(having(f"{words} {MOST}", BEYOND) for words in ("set px", "psetex", "restore")),
        *(having(f"hincrbyfloat {number}", "leaves an empty hash") for number in INFINITE),
    ),
    "6.2": (
        *OF_6,
        OVERLAPPING,
    ),
    "7.0": (OVERLAPPING,),
    "7.2": (OF_7_2, OVERLAPPING),
    "7.4": (
        having("function flush async", CRASHES),
        having(f"pexpireat {MOST}", "EXPIRETIME rounds it up beyond 64 bits"),
        *OF_8,
    ),
    "8.0": (having("function flush async", CRASHES), *OF_8),
    "valkey-8.1": (*OF_8, OF_VALKEY),
    "valkey-9.1": (
        OF_VALKEY,
        Fault(Counter({"": 1 << 16}), "a node of a list counts so many empty elements as none"),
    ),
}


def has_fault(version: str, words: Sequence[str], *, in_transaction: bool) -> bool:
    """Whether a real server of a version has a fault that a request would show.

    Args:
        version: its name.
        words: of the request.
        in_transaction: whether the request is in one.
    """
    said = Counter(word.lower() for word in words)
    return any(
        fault.words <= said and len(words) >= fault.least and (in_transaction or not fault.in_transaction)
        for fault in OF_VERSIONS.get(version, ())
    )
