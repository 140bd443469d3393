"""What is left out of Redis's suite, and which of its tests may fail, each with the reason.

To leave something out, add a row. A run of the whole suite reports the rows that it did not need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["MINIREDIS", "REDIS", "VERSION", "Cause", "Row", "Table"]

VERSION: Final = "7.0.15"
"""The version of Redis whose suite the tables are for."""


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
        causes: of failures in any file.
        rows: single tests.
    """

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

REDIS: Final = Table((), ANY_SERVER)

MINIREDIS: Final = Table((), ANY_SERVER)
