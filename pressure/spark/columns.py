"""The columns of a queue as a table, and which columns can be written to one. Needs no Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pressure.spark.errors import OptionError, PayloadError
from pressure.spark.options import Options

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

#: The type of the column ``value`` that is read, by the format; a message of JSON is a struct.
_VALUES: Final = {"binary": "BINARY", "text": "STRING"}
#: The types of the column that is written, by the format; JSON takes all columns.
_WRITTEN: Final = {"binary": ("binary", "string"), "text": ("string",)}


def columns_of(options: Options) -> dict[str, str]:
    """The columns of a table that is read, and their types."""
    columns = {
        "position": "BIGINT",
        "id": "STRING",
        "value": _VALUES.get(options.format) or f"STRUCT<{options.schema}>",
        "enqueued": "TIMESTAMP",
        "deliveries": "INT",
    }
    if options.malformed == "keep":  # the bytes of a message that is not in the format, and why it is not
        columns |= {"raw": "BINARY", "reason": "STRING"}
    return columns | ({"queue": "STRING"} if options.include_queue else {})


def checked(schema: StructType, options: Options) -> StructType:
    """The schema. Raises OptionError if it is not that of the data source."""
    names = [*columns_of(options)]
    if schema.fieldNames() != names:
        raise OptionError(
            f"a queue has the columns {', '.join(names)}; leave out .schema(...), and give the fields of "
            "JSON messages as the option schema"
        )
    value = _VALUES.get(options.format, "").lower()
    if value and schema["value"].dataType.simpleString() != value:
        raise OptionError(f"with format={options.format} the column value is {value}; leave out .schema(...)")
    return schema


def check_columns(options: Options, columns: dict[str, str]) -> None:
    """Check that columns of these types (by Spark's names) can be written.

    Raises:
        PayloadError: They cannot be written; the text says what to change.
    """
    if options.key is not None and options.key not in columns:
        raise PayloadError(
            f"option key names no column: {options.key!r}; the columns are {', '.join(columns)}"
        )
    types = _WRITTEN.get(options.format)
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
