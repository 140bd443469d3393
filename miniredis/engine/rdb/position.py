"""Where data are in the history of a master, as a snapshot says."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["NO_NAME", "Position"]

NO_NAME: Final = b"0" * 40
"""The name of no history."""


class Position(NamedTuple):
    """Where the data of a server, or of a snapshot, are in a history: they have all its bytes up to there.

    Attributes:
        database: the index of the one that the stream is in.
        name: of the history.
        offset: in it.
    """

    database: int
    name: bytes
    offset: int
