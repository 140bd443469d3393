"""Checks a history in this process: the table is held as columns, and a part of its queues as objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from ..scope import together
from .checking import Judged, check_table, pairs_in, unknown_everywhere
from .columns import FACT, facts_in
from .figures import added, counts_of
from .files import table_in
from .summary import Summary, complete, totalled

__all__ = ["PART", "check_alone"]

PART: Final = 200_000
"""Rows that are made objects at once, unless a queue alone has more."""


def check_alone(paths: Sequence[Path | str]) -> Summary:
    """Checks a history.

    Args:
        paths: files, or folders of them.

    Raises:
        ValueError: it is no history.
        OSError: a file cannot be read.
    """
    begun = perf_counter()
    table = table_in(paths)
    figures = added(counts_of(table).to_pylist())
    spoilt = unknown_everywhere(figures)
    total = totalled([spoilt] if spoilt else judged_in(table))
    return complete(Summary(figures, total, "one process", perf_counter() - begun))


def judged_in(table: pa.Table) -> Iterator[Judged]:
    """Judges all queues of a table, part by part."""
    pairs = set(pairs_in(table))
    keys = {other for _, other, certain in pairs if certain}.union(
        table["queue"].unique().to_pylist() if pairs else ()
    )
    groups = together((own, other) for own, other, _ in pairs if other in keys)
    run = facts_in(table.filter(about_run(table)))
    coded = pc.dictionary_encode(table["queue"]).combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = (
            coded.chunk(0)
            if coded.num_chunks
            else pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), [])
        )
    parts = parts_of(coded, groups)
    part_of_row = pc.take(pa.array(parts, pa.int32()), coded.indices)
    for part in range(max(parts, default=-1) + 1):
        yield from check_table(table.filter(pc.equal(part_of_row, part)), run, groups)


def about_run(table: pa.Table) -> pa.ChunkedArray:
    """Whether rows are facts about the run, and not about a queue."""
    apart = pc.is_in(table["name"], pa.array(["bound", "final"]))
    return pc.and_(pc.equal(table["outcome"], FACT), pc.invert(apart))


def parts_of(coded: pa.DictionaryArray, groups: dict[str, str]) -> list[int]:
    """The part of each queue, by its code: queues go into a part until it is full."""
    queues: list[str] = coded.dictionary.to_pylist()
    sizes = dict(zip(*(pc.value_counts(coded.indices).field(n).to_pylist() for n in (0, 1)), strict=True))
    part, filled, parts = 0, 0, dict[str, int]()
    for code, queue in enumerate(queues):
        filled += sizes[code]
        if filled > PART:
            part, filled = part + 1, sizes[code]
        parts.setdefault(groups.get(queue, queue), part)
    return [parts[groups.get(queue, queue)] for queue in queues]
