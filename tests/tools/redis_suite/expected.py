"""What is left out of Redis's suite, and which of its tests may fail, each with the reason.

To leave something out, add a row. A run of the whole suite reports the rows that it did not need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["MINIREDIS", "REDIS", "VERSION", "Cause", "Row", "Table", "Tag"]

VERSION: Final = "7.0.15"
"""The version of Redis whose suite the tables are for."""


@dataclass(frozen=True, slots=True)
class Tag:
    """One of the suite's own tags. Tests and groups of tests that have it are not run.

    Attributes:
        tag: its name.
        reason: why they are not run.
        file: the file that has them; empty for every file.
    """

    tag: str
    reason: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that a server does not have: every test that fails because of it is expected to.

    Attributes:
        text: a part of the failure's message that says so.
        reason: why the server does not have it.
    """

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Row:
    """Tests of one file that are expected to fail, or must not run.

    Attributes:
        file: as the suite names it, such as ``unit/type/list``.
        tests: their whole names.
        reason: why.
        runs: whether they are run; False where they would hang, or make other tests fail.
    """

    file: str
    tests: tuple[str, ...]
    reason: str
    runs: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """What is expected of a server.

    Attributes:
        tags: of tests that are not run.
        causes: of failures in any file.
        rows: single tests.
    """

    tags: tuple[Tag, ...]
    causes: tuple[Cause, ...]
    rows: tuple[Row, ...]


ANY_SERVER: Final = (
    Row(
        "unit/type/set",
        ("SRANDMEMBER with a dict containing long chain",),
        "asks for the process id of a server that the suite started; its end, which resets directives, is "
        "not reached then",
        runs=False,
    ),
)

REDIS: Final = Table((), (), ANY_SERVER)

NOT_THERE: Final = (
    Row(
        "unit/type/incr",
        ("INCR can modify objects in-place",),
        "numbers in Python cannot be changed in place",
    ),
    Row(
        "unit/querybuf",
        ("query buffer resized correctly", "query buffer resized correctly when not idle"),
        "miniredis has no query buffer for each client",
    ),
    Row(
        "unit/lazyfree",
        ("lazy free a stream with all types of metadata", "lazy free a stream with deleted cgroup"),
        "miniredis frees values at once, so INFO has no lazyfreed_objects",
    ),
    Row(
        "unit/tracking",
        ("Tracking invalidation message of eviction keys should be before response",),
        "miniredis has no limit on memory, and evicts nothing",
    ),
)

MINIREDIS: Final = Table(
    (Tag("needs:config-maxmemory", "miniredis has no limit on memory, and evicts nothing"),),
    (
        Cause("(possibly related to argument 'maxmemory')", "miniredis has no limit on memory"),
        Cause(
            "wrong number of arguments for 'reload'. Try DEBUG HELP",
            "miniredis reloads what it has in memory: NOSAVE, NOFLUSH and MERGE are about a file",
        ),
        Cause(
            "wrong number of arguments for 'pause-cron'. Try DEBUG HELP",
            "miniredis has no work that it does once in a while",
        ),
        Cause(
            "wrong number of arguments for 'set-disable-deny-scripts'. Try DEBUG HELP",
            "the group lets scripts run DEBUG, which miniredis always refuses",
        ),
        Cause(
            "wrong number of arguments for 'replybuffer'. Try DEBUG HELP",
            "miniredis has no reply buffer of a fixed size",
        ),
    ),
    (*ANY_SERVER, *NOT_THERE),
)
