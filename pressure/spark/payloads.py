"""Convert rows of a queue to the Arrow columns that Spark reads, and Spark's rows to values of a queue.

Arrow takes longer to import than anything else here, and Spark plans and commits each batch in new processes,
which need no Arrow. So only what reads or writes rows imports this module, when it does so.

To add a format: add a row to ``FORMATS``, and its types in ``columns``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pressure.spark import json_objects, json_values
from pressure.spark.errors import PayloadError
from pressure.spark.options import Options
from pressure.spark.rows import Rows

#: The most rows of an Arrow record batch, and the most bytes of its values: a column has room for 2 GB.
TOGETHER: Final = 10_000
TOGETHER_BYTES: Final = 1 << 28


@dataclass(frozen=True, slots=True)
class Format:
    """How payloads are read and written.

    Attributes:
        column: Converts payloads to a column of a type; raises an error if one is not in the format.
        one: Makes, for a type, a function that converts one payload; it raises an error if it is not in the
            format.
        values: Converts the rows of a record batch to payloads.
    """

    column: Callable[[Sequence[bytes], Any], Any]
    one: Callable[[Any], Callable[[bytes], Any]]
    values: Callable[[Any], list[bytes | None]]


def _binary(values: Sequence[bytes], _: Any) -> Any:
    return pa.array(values, pa.binary())


def _text(values: Sequence[bytes], _: Any) -> Any:
    return pa.array(values, pa.binary()).cast(pa.string())


def _payloads(batch: Any) -> list[bytes | None]:
    found: list[bytes | None] = batch.column("value").cast(pa.binary()).to_pylist()
    return found


FORMATS: Final[dict[str, Format]] = {
    "binary": Format(_binary, lambda _: bytes, _payloads),
    "text": Format(_text, lambda _: bytes.decode, _payloads),
    "json": Format(
        json_values.read_together, json_values.reader_of, lambda batch: [*json_objects.objects_of(batch)]
    ),
}


def batches_of(
    options: Options,
    schema: Any,
    found: Iterator[tuple[int, Rows]],
    divert: Callable[[int, int, Collection[int]], None] | None = None,
) -> Iterator[Any]:
    """Rows as record batches of a schema: position, id, value, enqueued, deliveries.

    Args:
        options: Say what the format is.
        schema: The columns.
        found: The number of a row, and rows from there on.
        divert: Is called for each batch with the number of its first row, that of the row after its last one,
            and the numbers of the rows whose payload is not in the format. The batch is then without these
            rows. None to do what the option ``malformed`` says.

    Raises:
        PayloadError: A payload is not in the format, and the option ``malformed`` is ``fail``.
    """
    for first, rows in found:
        for start, end in _parts(rows):
            batch, bad = _batch(options, schema, first + start, rows.part(start, end), divert is not None)
            if divert is not None:
                divert(first + start, first + end, [first + start + at for at in bad])
                batch = batch.filter(pa.array([at not in bad for at in range(len(batch))])) if bad else batch
            yield batch


def _parts(rows: Rows) -> Iterator[tuple[int, int]]:
    """Where to divide rows into record batches."""
    if len(rows) <= TOGETHER and sum(map(len, rows.values)) <= TOGETHER_BYTES:  # as most replies have
        if len(rows):
            yield 0, len(rows)
        return
    start = size = 0
    for at, value in enumerate(rows.values):
        if at > start and (at - start == TOGETHER or size + len(value) > TOGETHER_BYTES):
            yield start, at
            start, size = at, 0
        size += len(value)
    if start < len(rows):
        yield start, len(rows)


def _batch(
    options: Options, schema: Any, first: int, rows: Rows, diverted: bool
) -> tuple[Any, Collection[int]]:
    """The record batch, and which of its rows have a payload that is not in the format."""
    count, kept = len(rows), options.malformed == "keep"
    values, reasons = _column(options, schema.field("value").type, first, rows.values, diverted)
    columns = [
        _numbers(first, count),
        _or_nulls(rows.ids, count, pa.string()),
        values,
        _times(rows.enqueued, count, schema.field("enqueued").type),
        _repeated(rows.deliveries, count, pa.int32()),
    ]
    if kept:
        raw = [rows.values[at] if at in reasons else None for at in range(count)]
        columns += [pa.array(raw, pa.binary()), pa.array(map(reasons.get, range(count)), pa.string())]
    if options.include_queue:
        columns.append(_repeated(options.queue, count, pa.string()))
    return pa.RecordBatch.from_arrays(columns, schema=schema), reasons


@cache
def _below(most: int) -> Any:
    return pa.array(range(most), pa.int64())


def _numbers(first: int, count: int) -> Any:
    """``count`` numbers from ``first`` on, made without a Python object for each."""
    return pc.add(_below(TOGETHER).slice(0, count), pa.scalar(first, pa.int64()))


def _times(values: Sequence[Any] | None, count: int, type: Any) -> Any:  # noqa: A002
    return pa.nulls(count, type) if values is None else pa.array(values, pa.timestamp("ms")).cast(type)


def _or_nulls(values: Sequence[Any] | None, count: int, type: Any) -> Any:  # noqa: A002
    return pa.nulls(count, type) if values is None else pa.array(values, type)


def _repeated(values: Sequence[int] | int | str, count: int, type: Any) -> Any:  # noqa: A002
    one = isinstance(values, int | str)
    return pa.repeat(pa.scalar(values, type), count) if one else pa.array(values, type)


def _column(
    options: Options,
    type: Any,  # noqa: A002
    first: int,
    values: Sequence[bytes],
    diverted: bool,
) -> tuple[Any, dict[int, str]]:
    """The column, and why payloads that are not in the format are null in it, by their index.

    A producer decides what a payload is, and no payload may end the query in another way than ``fail`` says:
    hence ``Exception``, as parsers raise OverflowError and RecursionError, too.
    """
    form = FORMATS[options.format]
    with suppress(Exception):
        return form.column(values, type), {}
    read = form.one(type)
    with suppress(Exception):
        return pa.array([read(value) for value in values], type), {}
    found, reasons = list[Any](), dict[int, str]()
    for at, value in enumerate(values):
        try:
            one = read(value)
            pa.array([one], type)
            found.append(one)
        except Exception as error:
            reasons[at] = str(error)[:200] or error.__class__.__name__
            found.append(None)
            if options.malformed == "fail" and not diverted:
                raise PayloadError(
                    f"queue {options.queue!r}: the row at position {first + at} is not {options.format} of "
                    f"the schema: {value[:80]!r} ({reasons[at]}); malformed=null reads such rows as null, "
                    "malformed=keep adds columns with their bytes and the reason, and dead=QUEUE puts them "
                    "into a queue"
                ) from None
    return pa.array(found, type), reasons


class Smallest:
    """Finds the smallest key of rows; None if there is no key yet."""

    value: Any = None

    def see(self, value: Any) -> None:
        """Compare one more key."""
        if value is not None and (self.value is None or value < self.value):
            self.value = value


def values_of(options: Options, batches: Iterator[Any], smallest: Smallest) -> Iterator[list[bytes]]:
    """The payloads of record batches, sorted by the key column if there is one.

    Raises:
        PayloadError: A value is null.
    """
    if options.key is not None:
        batches = _in_order(options.key, batches, smallest)
    for batch in batches:
        rows = batch if options.format == "json" or options.key is None else batch.select(["value"])
        values = FORMATS[options.format].values(rows)
        if None in values:
            raise PayloadError("the value of a row is null, which a queue cannot hold; filter out such rows")
        yield values  # type: ignore[misc]


def _in_order(key: str, batches: Iterator[Any], smallest: Smallest) -> Iterator[Any]:
    """All rows, sorted in memory by a column."""
    held = list(batches)
    if not held:
        return
    table = pa.Table.from_batches(held)
    table = table.take(pc.sort_indices(table, [(key, "ascending")]))
    if table.num_rows:
        smallest.see(table.column(key)[0].as_py())
    yield from table.to_batches(TOGETHER)
