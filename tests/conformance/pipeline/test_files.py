"""A history is the same in Parquet as in JSON Lines, and neither is held in memory as a whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="this test needs the extra 'spark'")

import pyarrow.parquet

from conformance.histories import records
from conformance.histories.model import Facts, History, Operation
from conformance.histories.parquet import files

pytestmark = pytest.mark.spark

EVERY_BYTE = bytes(range(256))
FACTS = Facts(
    "Redis 7", {"a": 10}, {"a": (b"", EVERY_BYTE), "b": ()}, frozenset({"c1"}), frozenset({"c2", "c 3"}), 1
)
OPERATIONS = [
    Operation("c1", "a", "put", (b"",), None, 1, 2),
    Operation("c2", "ä", "put_many", (EVERY_BYTE, b"x y", b"%"), (b"1",), 3, 4, "error", "QueueFullError"),
    Operation("c1", "a", "get", (), (EVERY_BYTE,), 5, 6),
    Operation("c2", "a", "get_many", (b"3",), (), 7, 2**62),
    Operation("c3", "a", "get", (), None, 8, None, "open"),
]


def test_a_history_is_read_back_from_parquet_as_it_was_written(tmp_path: Path) -> None:
    files.write(History(OPERATIONS, FACTS), tmp_path / "a.parquet")
    found = files.read(tmp_path / "a.parquet")
    assert (found.operations, found.facts) == (OPERATIONS, FACTS)


def test_a_recording_in_json_lines_is_converted_to_parquet(tmp_path: Path) -> None:
    records.write(History(OPERATIONS, FACTS), tmp_path / "a.jsonl")
    assert files.convert([tmp_path / "a.jsonl"], tmp_path / "a.parquet") == len(OPERATIONS)
    found = files.read(tmp_path / "a.parquet")
    assert sorted(found.operations, key=lambda each: each.invoked) == OPERATIONS
    assert found.facts == FACTS == records.read(tmp_path / "a.jsonl").facts


def test_the_end_of_an_operation_replaces_its_beginning_and_a_torn_line_is_skipped(
    tmp_path: Path,
) -> None:
    done = OPERATIONS[0]
    begun = replace(done, returned=None, outcome="open")
    other = replace(begun, invoked=9)
    lines = [json.dumps(records.record_of(each)) for each in (begun, done, other)]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines, lines[0][:40]]))
    files.convert([tmp_path / "a.jsonl"], tmp_path / "a.parquet")
    found = files.read(tmp_path / "a.parquet")
    assert found.operations == records.read(tmp_path / "a.jsonl").operations == [done, other]


@pytest.mark.parametrize("bad", ["{}", "nonsense", "[1]"])
def test_a_line_that_is_not_a_record_is_named(tmp_path: Path, bad: str) -> None:
    line = json.dumps(records.record_of(OPERATIONS[0]))
    (tmp_path / "a.jsonl").write_text(f"{line}\n{bad}\n")
    with pytest.raises(ValueError, match="line 2"):
        files.convert([tmp_path / "a.jsonl"], tmp_path / "a.parquet")


def test_a_line_that_is_out_of_order_is_refused(tmp_path: Path) -> None:
    line = json.dumps(records.record_of(OPERATIONS[0]))
    (tmp_path / "a.jsonl").write_text(f"{line}\n{line}\n")
    with pytest.raises(ValueError, match="line 2: earlier"):
        files.convert([tmp_path / "a.jsonl"], tmp_path / "a.parquet")


def test_rows_are_written_in_groups_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "GROUP", 10)
    held = 0
    with files.Writer(tmp_path / "a.parquet") as writer:
        for number in range(95):
            writer.add(replace(OPERATIONS[0], invoked=number))
            held = max(held, len(writer._rows))
    assert held < 10
    assert pyarrow.parquet.ParquetFile(tmp_path / "a.parquet").num_row_groups == 10
    assert len(files.read(tmp_path / "a.parquet").operations) == files.rows_in([tmp_path / "a.parquet"]) == 95


def test_a_folder_is_read_as_one_history_and_a_table_with_other_columns_is_refused(tmp_path: Path) -> None:
    files.write(History(OPERATIONS[:2], FACTS), tmp_path / "1.parquet")
    files.write(History(OPERATIONS[2:]), tmp_path / "2.parquet")
    found = files.read(tmp_path)
    assert (found.operations, found.facts.bounds) == (OPERATIONS, FACTS.bounds)
    other = tmp_path / "other" / "table.parquet"
    other.parent.mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"client": ["a"]}), other)
    with pytest.raises(ValueError, match="missing: argument, error, invoked"):
        files.read(other)
