"""JSON messages as Arrow columns; ``json_objects`` writes them. Nothing is changed silently.

Arrow's own parser reads most messages; times are texts for it. Those that it refuses are read by Python's
parser, which accepts more: white space around a message, a field that stands twice (the last counts),
decimals, maps.

Rules:
    - A number that a column cannot hold is refused, not cut. A fraction in DOUBLE and FLOAT is rounded.
    - NaN and Infinity are no JSON. They are read from texts.
    - A message is read alike whichever messages are beside it.

To add a type: add a row to ``_READERS``.
"""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import math
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from pressure.spark.errors import PayloadError

#: Converts a value of Python's JSON parser; raises ValueError if the column cannot hold it unchanged.
Read: TypeAlias = Callable[[Any], Any]

#: Whole numbers below this are exact as float, too.
_EXACT: Final = 2**53
#: The most bytes that Arrow parses at once.
_BLOCK: Final = 1 << 28
#: A decimal number as text, and a whole number as a key of a map, which has one form only.
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_KEY: Final = re.compile(r"0|-?[1-9][0-9]*")
#: A number that is no JSON and that Arrow reads; also within a text, which is read by Python's parser then.
_BARE: Final = re.compile(rb"[:,\[]\s*[-+]?(?:NaN|Inf)")
#: Types whose values are texts in JSON.
TIMES: Final = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_time)
NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def read_together(values: Sequence[bytes], type: Any) -> Any:  # noqa: A002, it is one
    """The column of messages; raises an error of Arrow or ValueError if Arrow cannot read each of them."""
    if not _plain(type, top=True):
        raise ValueError("for Python's parser")
    # A message ends with a brace and the next one begins with one, so none can continue in the next.
    if not all(value.startswith(b"{") and value.endswith(b"}") for value in values):
        raise ValueError("for Python's parser")
    data = b"\n".join(values)
    if len(data) > _BLOCK or ((b"NaN" in data or b"Inf" in data) and _BARE.search(data)):
        raise ValueError("for Python's parser")
    data.decode()  # which Arrow does not check
    table = pj.read_json(
        io.BytesIO(data),
        read_options=pj.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema([(field.name, _read_as(field.type)) for field in type]),
            unexpected_field_behavior="ignore",
        ),
    )
    if table.num_rows != len(values):
        raise ValueError("a message is more than one value")
    columns = [_converted(table.column(at).combine_chunks(), field.type) for at, field in enumerate(type)]
    return pa.StructArray.from_arrays(columns, fields=list(type))


def _read_as(type: Any) -> Any:  # noqa: A002
    """The type as which Arrow reads a field of the message, to be converted afterwards."""
    if pa.types.is_float32(type):
        return pa.float64()  # Arrow reads a number that is too large for FLOAT as infinite
    return pa.string() if any(each(type) for each in TIMES) else type


def _converted(column: Any, type: Any) -> Any:  # noqa: A002
    """The column of a field that Arrow has read as another type."""
    if column.type == type:
        return column
    if not pa.types.is_float32(type):
        return pa.array(map(_read(type), column.to_pylist()), type)
    narrow = column.cast(type)
    if pc.any(pc.is_inf(narrow)).as_py():
        raise ValueError("a number is too large")
    return narrow


def reader_of(type: Any) -> Callable[[bytes], Any]:  # noqa: A002
    """A function that converts one message to a value of the column; it raises an error if it cannot."""
    read, fraction = _read(type), decimal.Decimal if "decimal" in str(type) else float
    parse = json.JSONDecoder(parse_float=fraction, parse_constant=_refuse).decode

    def one(value: bytes) -> Any:
        try:
            return read(parse(value.decode(json.detect_encoding(value), "surrogatepass")))
        except Exception as error:
            try:
                return read_together([value], type)[0].as_py()  # Arrow reads arrays that are nested deeper
            except Exception:
                raise error from None

    return one


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _plain(type: Any, *, top: bool = False) -> bool:  # noqa: A002
    """Whether Arrow reads this type by the rules of this module; some only as fields of the message."""
    if pa.types.is_struct(type):
        names = [field.name for field in type]
        return 0 < len(names) == len(set(names)) and all(
            field.nullable and _plain(_read_as(field.type) if top else field.type) for field in type
        )
    if pa.types.is_list(type):
        return type.value_field.nullable and _plain(type.value_type)
    exact = pa.types.is_boolean, pa.types.is_signed_integer, pa.types.is_float64, pa.types.is_string
    return any(each(type) for each in exact)


def _expect(value: Any, *types: type) -> Any:
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(f"not a {' or '.join(each.__name__ for each in types)}: {str(value)[:80]}")
    return value


def _whole(value: Any) -> int:
    _expect(value, int, float, decimal.Decimal)
    if not isinstance(value, int) and not (abs(value) < _EXACT and value == int(value)):
        raise ValueError(f"not a whole number: {value}")
    return int(value)


def _double(value: Any) -> float:
    if isinstance(value, str) and value in NOT_FINITE:
        return NOT_FINITE[value]
    found = float(_expect(value, int, float, decimal.Decimal))
    if math.isinf(found):
        raise ValueError("a number is too large")
    return found


def _float(value: Any) -> float:
    return float(struct.unpack("<f", struct.pack("<f", _double(value)))[0])


def _decimal(value: Any) -> decimal.Decimal:
    _expect(value, int, str, decimal.Decimal)
    if isinstance(value, str) and not _NUMBER.fullmatch(value):  # Python reads more, such as 1_000
        raise ValueError(f"not a number: {value[:80]}")
    return decimal.Decimal(value)


def _key_number(name: str) -> int:
    if not _KEY.fullmatch(name):  # two names of one number would be two equal keys
        raise ValueError(f"not a whole number: {name[:80]}")
    return int(name)


def _precise(value: Any) -> str:
    text: str = _expect(value, str)
    if re.search(r"[.,]\d{6}\d*[1-9]", text):
        raise ValueError(f"a time with more than six digits of a second: {text[:80]}")
    return text


def _time(value: Any) -> dt.time:
    found = dt.time.fromisoformat(_precise(value))
    if found.tzinfo is not None:
        raise ValueError(f"a time with a time zone: {value[:80]}; read it as STRING")
    return found


def _time_of(zone: bool) -> Read:
    def read(value: Any) -> dt.datetime:
        text = _precise(value)
        found = dt.datetime.fromisoformat(text)
        if (found.tzinfo is not None) != zone:
            raise ValueError(
                f"a time {'without' if zone else 'with'} a time zone: {text[:80]}; "
                f"read it as {'TIMESTAMP_NTZ' if zone else 'TIMESTAMP'}"
            )
        return found

    return read


def _array(type: Any) -> Read:  # noqa: A002
    read = _field(type.value_field)
    return lambda value: [read(each) for each in _expect(value, list)]


def _struct(type: Any) -> Read:  # noqa: A002
    fields = [(field.name, _field(field)) for field in type]
    return lambda value: {name: read(_expect(value, dict).get(name)) for name, read in fields}


def _map(type: Any) -> Read:  # noqa: A002
    whole, item = pa.types.is_integer(type.key_type), _field(type.item_field)
    key = _key_number if whole else _read(type.key_type)
    return lambda value: [(key(name), item(each)) for name, each in _expect(value, dict).items()]


def _field(field: Any) -> Read:
    read = _read(field.type)
    if field.nullable:
        return read

    def required(value: Any) -> Any:
        if value is None:
            raise ValueError(f"{field.name} is null")
        return read(value)

    return required


_READERS: Final[tuple[tuple[Callable[[Any], bool], Callable[[Any], Read]], ...]] = (
    (pa.types.is_boolean, lambda _: lambda value: _expect(value, bool)),
    (pa.types.is_integer, lambda _: _whole),
    (pa.types.is_float64, lambda _: _double),
    (pa.types.is_float32, lambda _: _float),
    (pa.types.is_decimal, lambda _: _decimal),
    (pa.types.is_string, lambda _: lambda value: _expect(value, str)),
    (pa.types.is_binary, lambda _: lambda value: _expect(value, str).encode()),
    (pa.types.is_timestamp, lambda kind: _time_of(kind.tz is not None)),
    (pa.types.is_date, lambda _: lambda value: dt.date.fromisoformat(_expect(value, str))),
    (pa.types.is_time, lambda _: _time),
    (pa.types.is_map, _map),
    (pa.types.is_list, _array),
    (pa.types.is_struct, _struct),
)


def _read(type: Any) -> Read:  # noqa: A002
    made = next((make(type) for holds, make in _READERS if holds(type)), None)
    if made is None:
        raise PayloadError(f"a JSON message cannot be read as {type}; read a STRING and cast it")
    return lambda value: None if value is None else made(value)
