"""Histories written to files and read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.histories import Facts, History, Operation, read, write
from conformance.histories.records import operation_of, record_of, text_of, words_of

from ...sizes import long_texts, repeated
from .notation import history, operation

words = repeated(st.lists(long_texts(10_000)), 1000).map(tuple)
few_words = repeated(st.lists(long_texts(1000)), 100).map(tuple)


@settings(deadline=None, max_examples=15)
@given(words)
def test_words_survive_being_written_as_text(given_: tuple[bytes, ...]) -> None:
    text = text_of(given_)
    assert text is not None
    assert text.isascii()
    assert words_of(text) == given_


def test_words_are_written_as_text_with_percent_escapes() -> None:
    assert text_of((b"p0.1", b"a b", b"", b"50%", b"\xff")) == "p0.1 a%20b % 50%25 %FF"
    assert text_of(()) == ""
    assert text_of(None) is None
    assert words_of(None) is None


@settings(deadline=None, max_examples=15)
@given(
    st.builds(
        Operation,
        st.text(),
        st.text(),
        st.sampled_from(["put", "LPUSH"]),
        few_words,
        st.none() | few_words,
        st.integers(),
        st.none() | st.integers(),
        st.sampled_from(["ok", "error", "open"]),
        st.text(),
    )
)
def test_operations_survive_being_written_as_flat_records(one: Operation) -> None:
    record = json.loads(json.dumps(record_of(one)))
    assert operation_of(record) == one
    assert all(value is None or isinstance(value, str | int) for value in record.values())


def test_a_history_is_read_back_from_its_file_as_it_was_written(tmp_path: Path) -> None:
    facts = Facts(
        "a server",
        {"q": 4, "r": 0},
        {"q": (b"a", b""), "r": ()},
        frozenset({"o"}),
        frozenset({"c0"}),
        slack=1,
    )
    given_ = history("p put a 0 1\nc get = a 2 3\nc get ? 4\np put b ! QueueFullError 5 6", facts)
    write(given_, tmp_path / "file")
    assert read(tmp_path / "file") == given_


def test_an_end_replaces_its_beginning_whatever_file_it_is_in(tmp_path: Path) -> None:
    begun, ended, other = operation("p put a ? 0"), operation("p put a 0 1"), operation("c put a ? 0")
    write(History([begun, other]), tmp_path / "first")
    write(History([ended]), tmp_path / "second")
    assert list(read(tmp_path / "first", tmp_path / "second").operations) == [ended, other]


def test_a_last_line_that_was_cut_short_is_skipped(tmp_path: Path) -> None:
    write(history("p put a 0 1\np put b 2 3"), tmp_path / "file")
    text = (tmp_path / "file").read_text()
    (tmp_path / "file").write_text(text[:-20])
    assert list(read(tmp_path / "file").operations) == [operation("p put a 0 1")]
    (tmp_path / "file").write_text(text[:-1])
    assert len(read(tmp_path / "file").operations) == 2
    (tmp_path / "file").write_text("")
    assert read(tmp_path / "file").operations == []


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"name": "put"}'])
def test_a_line_that_is_not_a_record_is_refused_by_its_number(line: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f'{{"fact": "server", "about": "", "value": ""}}\n{line}\n')
    with pytest.raises(ValueError, match="file, line 2"):
        read(tmp_path / "file")
