"""Rows of Arrow columns as JSON messages, which ``json_values`` reads again.

Each column becomes texts, which are put together to rows: most types are written three times as fast as row
by row. NaN and Infinity, which JSON does not have, are written as texts.

To add a type: add a row to ``_WRITERS``, or to ``_text_of`` for one that may be inside others.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
from collections.abc import Callable, Iterator
from itertools import repeat
from json.encoder import encode_basestring
from typing import Any, Final

import pyarrow as pa

from pressure.spark.errors import PayloadError
from pressure.spark.json_values import NOT_FINITE, TIMES


def objects_of(batch: Any) -> Iterator[bytes]:
    """The rows of a record batch as JSON.

    Raises:
        PayloadError: A column has a type for which JSON has no form.
    """
    names = (encode_basestring(field.name).replace("%", "%%") for field in batch.schema)
    row = "{" + ", ".join(f"{name}: %s" for name in names) + "}"
    columns = (_texts(column, column.type) for column in batch.columns)
    texts = zip(*columns, strict=True) if batch.num_columns else repeat((), batch.num_rows)
    return ((row % each).encode() for each in texts)


def _texts(column: Any, type: Any) -> Iterator[str]:  # noqa: A002
    """The values of a column as JSON."""
    write = next((write for holds, write in _WRITERS if holds(type)), None)
    if write is None:
        return (_ENCODER.encode(_written(value, type)) for value in column.to_pylist())
    return ("null" if value is None else write(value) for value in column.to_pylist())


def _written(value: Any, type: Any) -> Any:  # noqa: A002
    """A value with maps as objects, and with texts for numbers that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return _not_finite(value)
    if value is None or not pa.types.is_nested(type):
        return value
    if pa.types.is_struct(type):
        return {field.name: _written(value[field.name], field.type) for field in type}
    if pa.types.is_map(type):
        items = value.items() if isinstance(value, dict) else value
        return {_key(name, type.key_type): _written(each, type.item_type) for name, each in items}
    return [_written(each, type.value_type) for each in value]


def _not_finite(value: float) -> str:
    return next(text for text, each in NOT_FINITE.items() if str(each) == str(value))


def _key(value: Any, type: Any) -> str:  # noqa: A002
    if not any(each(type) for each in (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer)):
        raise PayloadError(f"JSON cannot hold a map with keys of type {type}; cast them to STRING")
    return str(value)


def _text_of(value: Any) -> str:
    """The usual text for a value that JSON cannot represent."""
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    raise PayloadError(f"JSON cannot hold a value of type {type(value).__name__}; cast it first")


def _write_float(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'"{_not_finite(value)}"'


#: Writes a value of a type; values of types that are not here are written by what they are in Python.
_WRITERS: Final[tuple[tuple[Callable[[Any], bool], Callable[[Any], str]], ...]] = (
    (pa.types.is_string, encode_basestring),
    (pa.types.is_large_string, encode_basestring),
    (pa.types.is_integer, str),
    (pa.types.is_floating, _write_float),
    *((each, lambda value: f'"{value.isoformat()}"') for each in TIMES),
)
_ENCODER: Final = json.JSONEncoder(default=_text_of, ensure_ascii=False, allow_nan=False)
