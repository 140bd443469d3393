"""Payloads as Arrow columns and back; needs the extra."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from typing import Any

import pytest

from pressure.spark import PayloadError
from pressure.spark.columns import check_columns
from pressure.spark.options import Options, options_of
from pressure.spark.rows import Rows

pa: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed; it is in the extra 'spark'")
payloads: Any = pytest.importorskip("pressure.spark.payloads")

STRUCT = pa.struct([("user", pa.string()), ("n", pa.int32())])
TYPES = {"binary": pa.binary(), "text": pa.string(), "json": STRUCT}
KEPT = [("raw", pa.binary()), ("reason", pa.string())]


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


KIND_OF_ERROR = [
    (pa.int64(), b'{"x": 1180591620717411303424}'),  # OverflowError
    (pa.int64(), b"[" * 100_000),  # RecursionError
    (pa.int64(), b'{"x": ' + b"9" * 5000 + b"}"),
    (pa.int64(), b'{"x": 5.5}'),
    (pa.int64(), b'{"x": 1e999}'),
    (pa.int64(), b'{"x": 9007199254740993.0}'),  # which a float cannot hold
    (pa.int64(), b'{"x": true}'),
    (pa.float64(), b'{"x": 1e999}'),
    (pa.float64(), b'{"x": NaN}'),
    (pa.float64(), b'{"x": true}'),
    (pa.float32(), b'{"x": 1e300}'),
    (pa.timestamp("us", "UTC"), b'{"x": 1772452800}'),
    (pa.timestamp("us", "UTC"), b'{"x": "2026-03-02T12:00:00"}'),
    (pa.timestamp("us"), b'{"x": "2026-03-02T12:00:00Z"}'),
    (pa.timestamp("us"), b'{"x": "2026-03-02T12:00:00.1234567"}'),
    (pa.date32(), b'{"x": 5}'),
    (pa.time64("us"), b'{"x": "10:00:00.1234567"}'),
    (pa.time64("us"), b'{"x": "10:00:00+02:00"}'),
    (pa.decimal128(5, 2), b'{"x": 1.555}'),
    (pa.decimal128(5, 2), b'{"x": "one"}'),
    (pa.decimal128(5, 2), b'{"x": 1e999999999}'),
    (pa.decimal128(5, 2), b'{"x": "1_00"}'),
    (pa.decimal128(5, 2), '{"x": "\u0663"}'.encode()),
    (pa.decimal128(5, 2), b'{"x": "NaN"}'),
    (pa.map_(pa.int32(), pa.int32()), b'{"x": {"1_0": 1}}'),
    (pa.map_(pa.int32(), pa.int32()), b'{"x": {"1": 1, "01": 2}}'),
    (pa.list_(pa.string()), b'{"x": "abc"}'),
    (pa.string(), b'{"x": "\\ud800"}'),
    (pa.string(), b'{"x": "\xff"}'),
    (pa.string(), b'{"x": "a"} {"x": "b"}'),
    (pa.string(), b'{"x":'),
    (pa.string(), b""),
]


@pytest.mark.parametrize(("kind", "bad"), KIND_OF_ERROR, ids=lambda each: str(each)[:40])
def test_no_payload_ends_a_query_and_none_is_changed_silently(kind: Any, bad: bytes) -> None:
    form = pa.schema([*schema("json").set(2, pa.field("value", pa.struct([("x", kind)]))), *KEPT])
    chosen = options("json", malformed="keep")
    values = [b"{}", bad, b"}", b'{"y": NaN}', b"{}"]
    (batch,) = payloads.batches_of(chosen, form, iter([(0, Rows(values))]))
    assert batch.column("value").to_pylist() == [{"x": None}, None, None, None, {"x": None}]
    assert batch.column("raw").to_pylist() == [None, bad, b"}", b'{"y": NaN}', None]
    assert [bool(each) for each in batch.column("reason").to_pylist()] == [False, True, True, True, False]


def test_two_halves_of_a_message_are_not_read_as_one() -> None:
    assert read("json", b'{"n":', b"1} {}", malformed="null") == [None, None]
    assert read("json", b'{"n": 1} {}', b"", malformed="null") == [None, None]


DEEP = b'{"n": 1, "other": ' + b'{"a": ' * 100_000 + b"1" + b"}" * 100_001


@pytest.mark.parametrize(
    "value",
    [
        b'{"n": 1, "n": 1}',
        b' {"n": 1}',
        b'{"n": 1.0}',
        b'{"n": 1, "other": "NaN"}',
        b'{"n": 1, "o": 1e999}',
        DEEP,
    ],
    ids=lambda value: value[:30].decode(),
)
def test_a_message_is_read_alike_whichever_are_beside_it(value: bytes) -> None:
    for others in ([], [b'{"n": 2}'], [b"{"], [b"null"]):
        assert read("json", value, *others, malformed="null")[0] == {"user": None, "n": 1}


def test_a_record_batch_has_a_limit_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "TOGETHER_BYTES", 10)
    rows = Rows([b"a" * 6, b"b" * 4, b"c", b"d" * 20, b"e"])
    batches = payloads.batches_of(options(), schema("binary"), iter([(5, rows)]))
    found = [[(row["position"], len(row["value"])) for row in batch.to_pylist()] for batch in batches]
    assert found == [[(5, 6), (6, 4)], [(7, 1)], [(8, 20)], [(9, 1)]]


READ_AS_WRITTEN = [
    (pa.timestamp("us", "UTC"), dt.datetime(2026, 3, 2, 12, 0, 0, 5, dt.UTC)),
    (pa.timestamp("us"), dt.datetime(2026, 3, 2, 12)),
    (pa.date32(), dt.date(2026, 3, 2)),
    (pa.time64("us"), dt.time(12, 30)),
    (pa.decimal128(38, 20), decimal.Decimal("-123456789012345678.00000000000000000001")),
    (pa.map_(pa.string(), pa.float64()), [("a", 1.5), ("b", float("inf")), ("c", None)]),
    (pa.map_(pa.int64(), pa.map_(pa.string(), pa.date32())), [(1, [("", dt.date(2026, 3, 2))])]),
    (pa.list_(pa.struct([("f", pa.float32())])), [{"f": 0.5}, {"f": float("-inf")}, None]),
    (pa.float64(), 0.1),
    (pa.int64(), -(2**63)),
    (pa.bool_(), True),
    (pa.string(), "NaN\n\u2028"),
]


@pytest.mark.parametrize(("kind", "value"), READ_AS_WRITTEN, ids=lambda each: str(each)[:40])
def test_json_reads_all_that_it_writes(kind: Any, value: Any) -> None:
    table = {"x": pa.array([value, None], kind)}
    lines, _ = written(options("json"), table)
    form = schema("json").set(2, pa.field("value", pa.struct([("x", kind)])))
    (batch,) = payloads.batches_of(options("json"), form, iter([(0, Rows(lines))]))
    assert batch.column("value").to_pylist() == [{"x": value}, {"x": None}]


READ_BY_ARROW = [
    (pa.float32(), 0.5, b"0.5"),
    (pa.timestamp("us", "UTC"), dt.datetime(2026, 3, 2, 11, tzinfo=dt.UTC), b'"2026-03-02T12:00:00+01:00"'),
    (pa.timestamp("us"), dt.datetime(2026, 3, 2, 12), b'"2026-03-02T12:00:00"'),
    (pa.date32(), dt.date(2026, 3, 2), b'"2026-03-02"'),
    (pa.string(), "Information, or 'NaN'", b"\"Information, or 'NaN'\""),
]


@pytest.mark.parametrize(("kind", "value", "text"), READ_BY_ARROW, ids=lambda each: str(each)[:40])
def test_messages_of_common_types_are_not_read_one_by_one(
    kind: Any, value: Any, text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = schema("json").set(2, pa.field("value", pa.struct([("x", kind)])))
    monkeypatch.setattr(payloads.json_values.json, "JSONDecoder", None)
    lines = [b'{"x": %s}' % text, b'{"x": null}', b"{}"]
    (batch,) = payloads.batches_of(options("json"), form, iter([(0, Rows(lines))]))
    assert batch.column("value").to_pylist() == [{"x": value}, {"x": None}, {"x": None}]


def test_all_columns_of_a_row_are_written_as_python_writes_them() -> None:
    rows = [
        {
            'a "b" 100%': text, "n": number, "x": real, "t": yes, "l": [{"s": text, "f": real}, None],
            "d": decimal.Decimal("-1.50"), "at": dt.datetime(2026, 3, 2, tzinfo=dt.UTC), "day": dt.date(2026, 3, 2),
        }
        for text, number, real, yes in [("ä\n\"\\\x01%s\u2028", -(2**63), 1e300, True), ("", 0, -0.0, False)]
    ] + [dict.fromkeys(('a "b" 100%', "n", "x", "t", "l", "d", "at", "day"))]  # fmt: skip

    def text_of(value: Any) -> str:
        return str(value) if isinstance(value, decimal.Decimal) else str(value.isoformat())

    batch = pa.RecordBatch.from_pylist(rows)
    found = [*payloads.json_objects.objects_of(batch)]
    assert found == [json.dumps(row, default=text_of, ensure_ascii=False).encode() for row in rows]


def test_large_types_of_arrow_are_written_like_the_others() -> None:
    table = {
        "m": pa.array([[("a", float("inf"))]], pa.map_(pa.large_string(), pa.float64())),
        "l": pa.array([["b"]], pa.large_list(pa.large_string())),
    }
    assert written(options("json"), table) == ([b'{"m": {"a": "Infinity"}, "l": ["b"]}'], None)


def test_numbers_that_json_does_not_have_are_written_as_texts() -> None:
    lines, _ = written(options("json"), {"x": [float("nan"), float("-inf"), 1.0]})
    assert lines == [b'{"x": "NaN"}', b'{"x": "-Infinity"}', b'{"x": 1.0}']


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
        check_columns(chosen, columns)
        return
    with pytest.raises(PayloadError) as caught:
        check_columns(chosen, columns)
    assert told in str(caught.value)
