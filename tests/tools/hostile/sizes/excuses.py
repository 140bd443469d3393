"""What miniredis is excused from, at most ten rows, each with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

__all__ = ["EXCUSES", "MOST", "Excuse", "excuse_for"]

MOST: Final = 10


@dataclass(frozen=True, slots=True)
class Excuse:
    """Growths that are excused.

    Attributes:
        commands: by the names COMMAND INFO gives them.
        what: the name of the growth behind the command's, with ``*`` for anything.
        reason: why that is so, and does no harm.
        times: as many times as long as Redis it may take, if it grows alike; None if it may grow faster.
    """

    commands: frozenset[str]
    what: str
    reason: str
    times: int | None

    def covers(self, command: str, what: str) -> bool:
        """Whether it is about a growth."""
        return command in self.commands and fnmatchcase(what, self.what)

    def allows(self, wrong: str) -> bool:
        """Whether it excuses what is wrong with a growth."""
        if self.times is None:
            return True
        factor = TIMES(wrong)
        return factor is not None and int(factor[1]) <= self.times


TIMES: Final = re.compile(r"(\d+) times as much: [^;]*").fullmatch
"""A verdict on time alone, without a faster growth."""

EXCUSES: Final[tuple[Excuse, ...]] = (
    Excuse(
        frozenset(
            "geopos geohash geosearch geosearchstore georadius georadius_ro georadiusbymember "
            "georadiusbymember_ro".split()
        ),
        "*",
        "linear as in Redis: each place is a dozen operations on doubles, 3 to 6 us in Python",
        100,
    ),
    Excuse(
        frozenset({"pfadd"}),
        "element*",
        "linear as in Redis: MurmurHash64A takes 2 us for an element in Python, and 0.4 us for each 8 bytes",
        80,
    ),
    Excuse(
        frozenset({"dump"}),
        "key, a*",
        "linear as in Redis: elements are packed for each DUMP, 1 to 5 us each; Redis keeps them packed",
        400,
    ),
    Excuse(
        frozenset({"bitfield", "bitfield_ro"}),
        "[GS]ET encoding repeated*",
        "linear as in Redis: each operation is read and done in 4 us in Python",
        40,
    ),
    Excuse(
        frozenset({"zlexcount"}),
        "key, a sorted set*",
        "members of different scores have no order by name: what Redis finds among them is found by walking",
        None,
    ),
    Excuse(
        frozenset({"zrangebylex", "zrevrangebylex"}),
        "LIMIT offset*",
        "likewise, over members of different scores",
        None,
    ),
    Excuse(
        frozenset({"scan", "randomkey", "hscan", "sscan", "zscan"}),
        "*, [akm]*",  # values: "keys", "a hash", "members of one score"; not "cursor: magnitude, squared"
        "the first one indexes the keys or elements, 0.2 us for each; from then on the index is kept",
        None,
    ),
    Excuse(
        frozenset({"ltrim"}),
        "*, *a list*",
        "each element is freed by itself, 25 to 35 ns; Redis frees hundreds with their node",
        None,
    ),
    Excuse(
        frozenset({"config|get", "keys", "scan", "hscan", "sscan", "zscan"}),
        "*: a class",
        "linear as in Redis: the members of a class are read once for all texts, 75 ns each",
        40,
    ),
    Excuse(
        frozenset({"flushdb", "flushall", "unlink"}),
        "*, *",  # "ASYNC, keys" and "key, a hash"
        "keys and elements are freed at once, 25 ns each: Python has no thread that could do so at the same time",
        None,
    ),
)


def excuse_for(command: str, what: str, excuses: Iterable[Excuse] = EXCUSES) -> Excuse | None:
    """The row about a growth, if there is one."""
    return next((excuse for excuse in excuses if excuse.covers(command, what)), None)
