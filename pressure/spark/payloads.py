"""Convert rows of a queue to the Arrow columns that Spark reads, and Spark's rows to values of a queue.

To add a format: add a row to ``FORMATS``.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pressure.spark.errors import PayloadError
from pressure.spark.options import Options
from pressure.spark.rows import Rows

#: The most rows of an Arrow record batch.
TOGETHER: Final = 10_000


@dataclass(frozen=True, slots=True)
class Format:
    """How payloads are read and written.

    Attributes:
        column: Converts payloads to a column of a type; raises an error if one is not in the format.
        one: Converts one payload to a value; raises ValueError if it is not in the format.
        values: Converts the rows of a record batch to payloads.
        types: The possible types of the column that is written; None if all columns are written.
    """

    column: Callable[[Sequence[bytes], Any], Any]
    one: Callable[[bytes], Any]
    values: Callable[[Any], list[bytes | None]]
    types: tuple[str, ...] | None


def _binary(values: Sequence[bytes], _: Any) -> Any:
    return pa.array(values, pa.binary())


def _text(values: Sequence[bytes], _: Any) -> Any:
    return pa.array(values, pa.binary()).cast(pa.string())


def _json(values: Sequence[bytes], type: Any) -> Any:  # noqa: A002, it is one
    return pa.array([json.loads(value) for value in values], type)


def _payloads(batch: Any) -> list[bytes | None]:
    found: list[bytes | None] = batch.column("value").cast(pa.binary()).to_pylist()
    return found


def _objects(batch: Any) -> list[bytes | None]:
    return [json.dumps(row, default=_plain, ensure_ascii=False).encode() for row in batch.to_pylist()]


def _plain(value: Any) -> Any:
    """A value that JSON cannot represent, in the usual textual form."""
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    raise PayloadError(f"JSON cannot hold a value of type {type(value).__name__}; cast it first")


FORMATS: Final[dict[str, Format]] = {
    "binary": Format(_binary, bytes, _payloads, ("binary", "string")),
    "text": Format(_text, bytes.decode, _payloads, ("string",)),
    "json": Format(_json, json.loads, _objects, None),
}


def batches_of(options: Options, schema: Any, found: Iterator[tuple[int, Rows]]) -> Iterator[Any]:
    """Rows as record batches of a schema: position, id, value, enqueued, deliveries.

    Raises:
        PayloadError: A payload is not in the format, and the option ``malformed`` is ``fail``.
    """
    for first, rows in found:
        for start in range(0, len(rows), TOGETHER):
            yield _batch(options, schema, first + start, rows.part(start, start + TOGETHER))


def _batch(options: Options, schema: Any, first: int, rows: Rows) -> Any:
    columns = [
        pa.array(range(first, first + len(rows)), pa.int64()),
        _or_nulls(rows.ids, len(rows), pa.string()),
        _column(options, schema.field("value").type, first, rows.values),
        _or_nulls(rows.enqueued, len(rows), pa.timestamp("ms")).cast(schema.field("enqueued").type),
        _repeated(rows.deliveries, len(rows), pa.int32()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _or_nulls(values: Sequence[Any] | None, count: int, type: Any) -> Any:  # noqa: A002
    return pa.nulls(count, type) if values is None else pa.array(values, type)


def _repeated(values: Sequence[int] | int, count: int, type: Any) -> Any:  # noqa: A002
    return pa.repeat(pa.scalar(values, type), count) if isinstance(values, int) else pa.array(values, type)


def _column(options: Options, type: Any, first: int, values: Sequence[bytes]) -> Any:  # noqa: A002
    form = FORMATS[options.format]
    try:
        return form.column(values, type)
    except (ValueError, TypeError, pa.ArrowException):
        return pa.array(_one_by_one(options, type, first, values), type)


def _one_by_one(options: Options, type: Any, first: int, values: Sequence[bytes]) -> Iterator[Any]:  # noqa: A002
    """The values; those that are not in the format are None, or an error with ``malformed=fail``."""
    form = FORMATS[options.format]
    for place, value in enumerate(values, first):
        try:
            found = form.one(value)
            pa.array([found], type)
        except (ValueError, TypeError, pa.ArrowException) as error:
            if options.malformed == "fail":
                raise PayloadError(
                    f"queue {options.queue!r}: the row at position {place} is not {options.format} of the "
                    f"schema: {value[:80]!r} ({str(error)[:200]}); malformed=null reads such rows as null"
                ) from None
            found = None
        yield found


def check_columns(options: Options, columns: dict[str, str]) -> None:
    """Check that columns of these types (by Spark's names) can be written.

    Raises:
        PayloadError: They cannot be written; the text says what to change.
    """
    if options.key is not None and options.key not in columns:
        raise PayloadError(
            f"option key names no column: {options.key!r}; the columns are {', '.join(columns)}"
        )
    types = FORMATS[options.format].types
    if types is None:
        return
    others = [name for name in columns if name not in ("value", options.key)]
    if "value" not in columns or others:
        raise PayloadError(
            f"format={options.format} writes one column, value, and the columns are {', '.join(columns)}; "
            "select value, or use format=json, which writes all columns"
        )
    if columns["value"] not in types:
        raise PayloadError(
            f"format={options.format} writes a column of type {' or '.join(types)}, and the column value is "
            f"{columns['value']}; cast it"
        )


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
