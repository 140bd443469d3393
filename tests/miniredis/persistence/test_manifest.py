"""Manifests that nobody can read: each is refused, whatever bytes stand there."""

from __future__ import annotations

import pytest

from miniredis.persistence.manifest import Manifest, ManifestError
from tests.cases import for_each


def parsed(data: bytes) -> Manifest:
    return Manifest.parse(data.decode("utf-8", "surrogateescape"))


@for_each("number", ["", "x", "-1", "0", "1.5", "\N{SUPERSCRIPT TWO}", "\N{DEVANAGARI DIGIT TWO}"])
def test_a_number_has_digits_of_ascii(number: str) -> None:
    with pytest.raises(ManifestError, match="line 1: Invalid AOF manifest file format"):
        parsed(f"file a seq {number} type b\n".encode())


@pytest.mark.parametrize(
    "line",
    [b'"\\xff" a seq 1 type b\n', b"file a seq 1 \xff b\n", b'file a seq 1 type "\\xff"\n', b'file "\n'],
)
def test_words_that_mean_nothing_are_refused(line: bytes) -> None:
    with pytest.raises(ManifestError, match="line 1: Invalid AOF manifest file format"):
        parsed(line)


@pytest.mark.parametrize("name", [b"\xff", "a\N{LINE SEPARATOR}b\x0bc".encode(), "\N{SNOWMAN}".encode()])
def test_a_file_may_have_any_name(name: bytes) -> None:
    manifest = parsed(b"file " + name + b" seq 1 type b\nfile b seq 1 type i\n")
    assert [part.name.encode("utf-8", "surrogateescape") for part in manifest.files] == [name, b"b"]


def test_history_without_the_base_that_replaced_it_is_refused() -> None:
    with pytest.raises(ManifestError, match="Found history files, and no base file"):
        parsed(b"file a seq 1 type h\nfile b seq 1 type i\n")


def test_a_line_ends_at_a_byte_of_zero_as_for_redis() -> None:
    with pytest.raises(ManifestError, match="line 1: The AOF manifest file contains too long line"):
        parsed(b"file a seq 1 type b \0 c\n")
