"""Payloads as Arrow columns and back; needs the extra."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pytest

from pressure.spark import PayloadError
from pressure.spark.options import Options, options_of
from pressure.spark.rows import Rows

pa: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed; it is in the extra 'spark'")
payloads: Any = pytest.importorskip("pressure.spark.payloads")

STRUCT = pa.struct([("user", pa.string()), ("n", pa.int32())])
TYPES = {"binary": pa.binary(), "text": pa.string(), "json": STRUCT}


def options(form: str = "binary", **more: str) -> Options:
    return options_of({"queue": "q", "format": form, **more})


def schema(form: str) -> Any:
    return pa.schema(
        [
            ("position", pa.int64()),
            ("id", pa.string()),
            ("value", TYPES[form]),
            ("enqueued", pa.timestamp("us", tz="UTC")),
            ("deliveries", pa.int32()),
        ]
    )


def read(form: str, *values: bytes, **more: str) -> list[Any]:
    rows = Rows(values)
    batches = payloads.batches_of(options(form, **more), schema(form), iter([(100, rows)]))
    return [value for batch in batches for value in batch.column("value").to_pylist()]


def test_rows_become_arrow_batches_with_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "TOGETHER", 2)
    rows = Rows([b"a", b"b", b"c"], ["1599352749159-4", None, "f" * 32], [2, 1, 0])
    one, two = payloads.batches_of(options(), schema("binary"), iter([(5, rows)]))
    assert one.to_pylist() == [
        {
            "position": 5, "id": "1599352749159-4", "value": b"a", "deliveries": 2,
            "enqueued": dt.datetime(2020, 9, 6, 0, 39, 9, 159000, dt.UTC),
        },
        {"position": 6, "id": None, "value": b"b", "deliveries": 1, "enqueued": None},
    ]  # fmt: skip
    assert two.to_pylist()[0] | {"value": None} == {
        "position": 7, "id": "f" * 32, "value": None, "deliveries": 0, "enqueued": None,
    }  # fmt: skip
    assert one.schema == schema("binary")


def test_columns_that_a_queue_without_ids_cannot_fill_are_null() -> None:
    (batch,) = payloads.batches_of(options(), schema("binary"), iter([(5, Rows([b"a", b"b"], deliveries=0))]))
    assert batch.schema == schema("binary")
    nothing = {"id": None, "enqueued": None, "deliveries": 0}
    assert batch.to_pylist() == [
        {"position": at, "value": value, **nothing} for at, value in ((5, b"a"), (6, b"b"))
    ]


def test_payloads_are_read_in_each_format() -> None:
    assert read("binary", b"\xff\x00") == [b"\xff\x00"]
    assert read("text", "ä".encode(), b"") == ["ä", ""]
    lines = (b'{"user": "a", "n": 1, "more": []}', b'{"n": null}', b"null")
    assert read("json", *lines) == [{"user": "a", "n": 1}, {"user": None, "n": None}, None]


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("text", b"a", b"\xff"),
        ("json", b"{}", b"{"),
        ("json", b"{}", b'{"n": "one"}'),
        ("json", b"{}", b"[1]"),
        ("json", b"{}", b'{"n": 3000000000}'),
    ],
)
def test_a_payload_that_is_not_in_the_format_is_an_error_or_null(form: str, good: bytes, bad: bytes) -> None:
    with pytest.raises(PayloadError, match=f"position 101 is not {form}"):
        read(form, good, bad, good)
    found = read(form, good, bad, good, malformed="null")
    assert found[1] is None
    assert found[0] == found[2] is not None


def written(chosen: Options, *tables: Any) -> tuple[list[bytes], Any]:
    smallest = payloads.Smallest()
    batches = (batch for table in tables for batch in pa.table(table).to_batches())
    return [value for some in payloads.values_of(chosen, batches, smallest) for value in some], smallest.value


def test_values_are_written_in_each_format() -> None:
    assert written(options(), {"value": [b"\xff", b"b"]}) == ([b"\xff", b"b"], None)
    assert written(options(), {"value": ["ä"]}) == (["ä".encode()], None)
    row = {"a": [1], "at": [dt.datetime(2020, 1, 2)], "d": [decimal.Decimal("1.50")]}
    assert written(options("json"), row) == ([b'{"a": 1, "at": "2020-01-02T00:00:00", "d": "1.50"}'], None)


def test_values_are_written_in_the_order_of_a_key() -> None:
    one, two = {"value": ["c", "a"], "k": [3, 1]}, {"value": ["b", "a2"], "k": [2, 1]}
    assert written(options(key="k"), one, two) == ([b"a", b"a2", b"b", b"c"], 1)


def test_nulls_and_bytes_in_json_are_refused() -> None:
    with pytest.raises(PayloadError, match="null"):
        written(options(), {"value": [b"a", None]})
    with pytest.raises(PayloadError, match="JSON cannot hold a value of type bytes"):
        written(options("json"), {"value": [b"a"]})


@pytest.mark.parametrize(
    ("form", "key", "columns", "told"),
    [
        ("binary", None, {"value": "binary"}, None),
        ("text", "k", {"value": "string", "k": "int"}, None),
        ("json", None, {"a": "int", "b": "string"}, None),
        ("text", None, {"value": "binary"}, "a column of type string, and the column value is binary"),
        ("binary", None, {"value": "int"}, "of type binary or string, and the column value is int"),
        (
            "text",
            None,
            {"value": "string", "k": "int"},
            "writes one column, value, and the columns are value, k",
        ),
        ("binary", None, {"data": "binary"}, "and the columns are data"),
        ("json", "k", {"a": "int"}, "option key names no column: 'k'; the columns are a"),
    ],
)
def test_columns_that_cannot_be_written_are_reported(
    form: str, key: str | None, columns: dict[str, str], told: str | None
) -> None:
    chosen = options(form, **({"key": key} if key else {}))
    if told is None:
        payloads.check_columns(chosen, columns)
        return
    with pytest.raises(PayloadError) as caught:
        payloads.check_columns(chosen, columns)
    assert told in str(caught.value)
