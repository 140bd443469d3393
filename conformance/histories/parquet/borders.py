"""Judges a piece of a large queue's history by the rules for whole ones.

A piece begins with puts that were carried into it, with gets of those of their values that are gone, and
with a look at those that were received before; it ends with gets of what is left, if it comes later. When
these took place is not said: the former some time after the put and before the piece, the latter after it.
What a rule makes of them holds for the whole history; and what it makes of the whole history it makes of
one of the pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .. import fifo
from ..model import NEVER, Facts, Operation
from ..values import collected
from .checking import Judged, summed
from .columns import facts_in, operations_in

__all__ = ["LATER", "MAYBE_TAKEN", "NEVER_CAME", "check_piece"]

EARLIER = "earlier"
"""The client that received, and put back, what a piece begins with."""

LATER = "later"
"""The client that gets what comes in later pieces."""

NEVER_CAME = -1
"""The piece in which a value was taken that nobody took: it is lost, or there at the end."""

MAYBE_TAKEN = -2
"""The same of a value that was received, and perhaps not put back: an open get may have taken it."""


def check_piece(table: pa.Table, run: Facts, lasts: Mapping[str, int]) -> Judged:
    """Judges a piece.

    Args:
        table: what is in it and what was carried into it, with the columns ``group``, ``piece``, ``firsts``
            and ``own``.
        run: what is known of the run.
        lasts: the number of the last piece of each queue.
    """
    queue, piece = table["group"][0].as_py(), table["piece"][0].as_py()
    own = table.filter(table["own"])
    known, operations = facts_in(own), sorted(operations_in(own), key=attrgetter("invoked"))
    begun = min((each.invoked for each in operations), default=NEVER)
    carried = table.filter(pc.invert(table["own"])).to_pylist()
    whole = [*_before([row for row in carried if row["invoked"] < begun], piece, begun), *operations]
    if piece < lasts[queue]:
        whole += _after(whole, {value: first["piece"] for value, first in _firsts(carried)})
    facts = replace(run, bounds=known.bounds, final=known.final)
    judged = summed(queue, whole, fifo.check_queue(whole, facts, queue), piece + 1)
    return replace(judged, operations=len(operations))


def _before(carried: Sequence[Mapping[str, Any]], piece: int, begun: int) -> Iterator[Operation]:
    """What was carried over, and gets of what is gone."""
    for row in sorted(carried, key=lambda row: int(row["invoked"])):
        yield Operation(
            row["client"], row["queue"], row["name"], tuple(row["argument"]), None,
            row["invoked"], row["returned"],
        )  # fmt: skip
        for value, first in _firsts([row]):
            if first["looked"] is not None and first["looked"] < piece:
                yield from _look(row["queue"], value, row["invoked"], begun - 1)
            if 0 <= first["piece"] < piece:
                yield _get(first["client"], row["queue"], value, row["invoked"], begun - 1)


def _look(queue: str, value: bytes, begun: int, over: int) -> Iterator[Operation]:
    """A receive, and what put the value back."""
    yield Operation(EARLIER, queue, "receive", (), (value,), begun, over)
    yield Operation(EARLIER, queue, "put_back", (value,), None, begun, over)


def _firsts(carried: Sequence[Mapping[str, Any]]) -> Iterator[tuple[bytes, Mapping[str, Any]]]:
    for row in carried:
        yield from zip(row["argument"], row["firsts"] or (), strict=False)


def _after(operations: Sequence[Operation], became: Mapping[bytes, int | None]) -> list[Operation]:
    """Gets of what is left, but for what never comes."""
    end = max(each.end for each in operations)
    left: dict[bytes, Operation] = {}
    for each in operations:
        if each.name in {"put", "put_many"} and each.outcome != "open":
            done = len(each.argument) if each.outcome == "ok" else int((each.result or (b"0",))[0])
            left.update(dict.fromkeys(each.argument[:done], each))
    for value, _, _ in collected(operations).takes:
        left.pop(value, None)
    later = {value: became.get(value) for value in left if became.get(value) != NEVER_CAME}
    return [
        _later(_get(LATER, left[value].queue, value, end + 1, end + 2), piece)
        for value, piece in later.items()
    ]


def _later(get: Operation, piece: int | None) -> Operation:
    if piece != MAYBE_TAKEN:
        return get
    return replace(get, result=None, returned=None, outcome="open")


def _get(client: str, queue: str, value: bytes, begun: int, over: int) -> Operation:
    return Operation(client, queue, "get", (), (value,), begun, over)
