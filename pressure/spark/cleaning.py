"""List the keys that Spark has left on a server, and drop those that nothing needs any more.

Rules:
    - Only copies and staged rows are dropped, and only if no command has touched them for some time. Rows of
      a batch that was decided are kept: the next run of their query puts them.
    - Claimed rows, the state of streams and the markers of writers are never dropped: they say what was done.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from pressure.errors import ServerReplyError
from pressure.protocol.commands import check
from pressure.protocol.operation import Batch, Operation, Reply
from pressure.protocol.scanning import keys_under
from pressure.spark.places import ROOT

_SHAPE: Final = re.compile(
    rb"(owner|source|pending):(?P<one>.*)"
    rb"|(malformed|sink|stage|stages|slices):(?P<id>[^:]*):(?P<two>.*)"
    rb"|(snapshot):[0-9a-f]*(?::[0-9a-f]{32})?:(?P<three>.*)",
    re.DOTALL,
)
_DROPPED: Final = frozenset({"stage", "stages", "slices", "snapshot"})
_TOGETHER: Final = 500


@dataclass(frozen=True, slots=True)
class Left:
    """A key that Spark has left.

    Attributes:
        key: The key.
        what: What it is for; see ``places``.
        queue: The main key of its queue.
        bytes: How much memory it takes.
        idle: For how many seconds no command has touched it; None if the server does not say.
    """

    key: bytes
    what: str
    queue: bytes
    bytes: int
    idle: int | None


def left_by_spark() -> Operation[list[Left]]:
    """All keys that Spark has left, sorted. Scans every key of the database (SCAN)."""
    found: list[Left] = []
    for some in _parts((yield from keys_under(ROOT))):
        commands = [
            (*words, ROOT + rest)
            for rest in some
            for words in ((b"MEMORY", b"USAGE"), (b"OBJECT", b"IDLETIME"))
        ]
        replies = yield Batch(tuple(commands))
        found += [
            _left(rest, *replies[2 * at : 2 * at + 2])
            for at, rest in enumerate(some)
            if _SHAPE.fullmatch(rest)
        ]
    return found


def _left(rest: bytes, size: Reply, idle: Reply) -> Left:
    shape = _SHAPE.fullmatch(rest)
    assert shape is not None
    what = next(shape[at] for at in (1, 3, 6) if shape[at])
    queue = next(shape[name] for name in ("one", "two", "three") if shape[name] is not None)
    bytes_ = 0 if isinstance(size, ServerReplyError) else int(size or 0)
    return Left(
        ROOT + rest, what.decode(), queue, bytes_, None if isinstance(idle, ServerReplyError) else idle
    )


def clean(found: Collection[Left], older: float) -> Operation[list[Left]]:
    """Drop what nothing needs and was not touched for so many seconds; returns what was dropped."""
    markers = [each.key for each in found if each.what == "sink"]
    decided = set[bytes]()
    for some in _parts(markers):
        replies = check((yield Batch(tuple((b"HGET", key, b"lists") for key in some))))
        decided.update(name for reply in replies if reply for name in reply.split())
    dropped = [
        each
        for each in found
        if each.what in _DROPPED
        and each.idle is not None
        and each.idle >= older
        and not (each.what == "stage" and each.key.split(b":")[2] in decided)
    ]
    for left in _parts([each.key for each in dropped]):
        check(
            (yield Batch(tuple((b"UNLINK", key) for key in left)))
        )  # one a command: they may be in other slots
    return dropped


def _parts(values: Sequence[bytes]) -> list[Sequence[bytes]]:
    return [values[start : start + _TOGETHER] for start in range(0, len(values), _TOGETHER)]
