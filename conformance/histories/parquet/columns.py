"""The table that a history is: a column for each attribute of ``Operation``, a row for each operation.

Words are lists of binaries. What is known of the run are rows, too, with ``fact`` as their outcome, so that
it stays with its queue whoever sorts, splits or copies the table: ``name`` is the fact, ``queue`` or
``client`` whom it is about, ``argument`` its words (of ``final``, the values, what comes next first). The
facts ``bound`` and ``final`` are about a queue, ``killed`` and ``overfilling`` about a client, ``server`` and
``slack`` about the run.

To add a fact, add it to ``FACTS`` and to ``records.fact_rows``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ..model import Facts, Operation
from ..records import fact_rows, facts_of, text_of, words_of

__all__ = ["FACT", "FACTS", "SCHEMA", "facts_in", "operations_in", "rows_of_facts", "table_of"]

SCHEMA: Final = pa.schema(
    [
        pa.field("client", pa.string(), nullable=False),  # whose it is
        pa.field("queue", pa.string(), nullable=False),  # the queue, or the key
        pa.field("name", pa.string(), nullable=False),  # what it does
        pa.field("argument", pa.list_(pa.binary()), nullable=False),  # its words
        pa.field("result", pa.list_(pa.binary())),  # what it returned; null for nothing
        pa.field("invoked", pa.int64(), nullable=False),  # when it began, in nanoseconds of one clock
        pa.field("returned", pa.int64()),  # when it came back; null if it did not
        pa.field("outcome", pa.string(), nullable=False),  # ok, error, open; or fact
        pa.field("error", pa.string(), nullable=False),  # the name of the error
    ],
    metadata={"conformance.history": "1"},
)
"""The columns, in the order of the attributes of ``Operation``; the metadata is the version of the schema."""

FACT: Final = "fact"
"""The outcome of a row that is no operation."""

FACTS: Final[Mapping[str, str]] = {
    "server": "",
    "slack": "",
    "bound": "queue",
    "final": "queue",
    "killed": "client",
    "overfilling": "client",
}
"""Which column says whom a fact is about."""

Row = tuple[Any, ...]


def rows_of_facts(facts: Facts) -> Iterator[Row]:
    """What is known of a run, as rows."""
    for row in fact_rows(facts):
        about = {FACTS[row["fact"]]: row["about"]}
        words = words_of(row["value"]) if row["fact"] == "final" else (row["value"].encode(),)
        yield (
            about.get("client", ""), about.get("queue", ""), row["fact"], words, None, 0, None, FACT, "",
        )  # fmt: skip


def table_of(rows: Iterable[Operation | Row]) -> pa.Table:
    """Operations and rows of facts as a table."""
    plain = [row if isinstance(row, tuple) else values_of(row) for row in rows]
    columns = zip(*plain, strict=True) if plain else ((),) * len(SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def values_of(operation: Operation) -> Row:
    return (
        operation.client, operation.queue, operation.name, operation.argument, operation.result,
        operation.invoked, operation.returned, operation.outcome, operation.error,
    )  # fmt: skip


def facts_in(table: pa.Table) -> Facts:
    """What the rows of a table say of the run, or of its queues."""
    return facts_of(_fact(row) for row in table.filter(_is_fact(table)).to_pylist() if row["name"] in FACTS)


def _fact(row: Mapping[str, Any]) -> dict[str, str]:
    words: Sequence[bytes] = row["argument"]
    value = (text_of(words) or "") if row["name"] == "final" else b" ".join(words).decode()
    return {"fact": row["name"], "about": row.get(FACTS[row["name"]], ""), "value": value}


def _is_fact(table: pa.Table) -> Any:
    return pc.equal(table["outcome"], FACT)


def operations_in(table: pa.Table) -> list[Operation]:
    """The operations of a table, in the order of its rows."""
    kept = table.filter(pc.invert(_is_fact(table))).select(SCHEMA.names).combine_chunks()
    return [
        Operation(*row)
        for batch in kept.to_batches()
        for row in zip(*(_values(column) for column in batch.columns), strict=True)
    ]


def _values(column: Any) -> Sequence[Any]:
    if pa.types.is_list(column.type):
        return _words(column)
    if pa.types.is_string(column.type):  # a few different ones: an object for each, and not for each row
        coded = column.dictionary_encode()
        return list(map(coded.dictionary.to_pylist().__getitem__, coded.indices.to_pylist()))
    values: list[Any] = column.to_pylist()
    return values


def _words(column: Any) -> list[tuple[bytes, ...] | None]:
    words, offsets = column.values.to_pylist(), column.offsets.to_pylist()
    found = [tuple(words[begin:end]) for begin, end in pairwise(offsets)]
    if not column.null_count:
        return list(found)
    return [each if valid else None for each, valid in zip(found, column.is_valid().to_pylist(), strict=True)]
