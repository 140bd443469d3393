"""Splitting bytes into messages, in whatever pieces they arrive."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pressure.cli.framing import FORMATS, FormatError, Framing, Whole

from ...cases import exhaustive_but, for_each
from ...sizes import long_texts, repeated, sizes


def read(framing: Framing, data: bytes, cuts: list[int]) -> list[bytes]:
    """What comes out when the data comes in pieces."""
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    pieces = [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    found = [message for piece in pieces for message in framing.feed(piece)]
    framing.check()
    found += framing.end()
    framing.check()
    return found


@pytest.mark.parametrize("name", exhaustive_but(["null"], FORMATS))
@settings(deadline=None)
@given(messages=repeated(st.lists(long_texts()), 10_000), cuts=st.lists(sizes(1_000_000), max_size=5))
def test_packed_messages_are_read_back_however_the_bytes_are_split(
    name: str, messages: list[bytes], cuts: list[int]
) -> None:
    writer = FORMATS[name]()
    messages = [message for message in messages if writer.fits(message)]
    data = b"".join(map(writer.pack, messages))
    assert read(FORMATS[name](), data, cuts) == messages


def test_each_format_packs_the_documented_bytes() -> None:
    assert FORMATS["lines"]().pack(b"ab") == b"ab\n"
    assert FORMATS["null"]().pack(b"ab") == b"ab\0"
    assert FORMATS["binary"]().pack(b"ab" * 200) == b"\0\0\1\x90" + b"ab" * 200


def test_the_last_line_needs_no_newline() -> None:
    assert read(FORMATS["lines"](), b"a\n\nb", [2]) == [b"a", b"", b"b"]
    assert read(FORMATS["lines"](), b"", []) == []


def test_a_message_that_contains_the_separator_does_not_fit() -> None:
    assert [FORMATS[name]().fits(b"a\nb") for name in FORMATS] == [False, True, True]
    assert [FORMATS[name]().fits(b"a\0b") for name in FORMATS] == [True, False, True]


@for_each(
    ("rest", "said"),
    [
        (b"\0\0", "at byte 7: .*ends after 2 bytes of a length of 4 bytes"),
        (b"\0\0\0\5ab", "at byte 7: .*ends after 2 bytes of a message of 5 bytes"),
        (b"text\n", "at byte 7: .*a length of 1952807028 is more than Redis takes"),
    ],
)
@for_each("cut", [0, 7, 9])
def test_malformed_bytes_are_reported_after_all_complete_messages(rest: bytes, said: str, cut: int) -> None:
    framing, data = FORMATS["binary"](), b"\0\0\0\3abc" + rest
    assert [*framing.feed(data[:cut]), *framing.feed(data[cut:]), *framing.end()] == [b"abc"]
    with pytest.raises(FormatError, match=said):
        framing.check()


def test_the_whole_format_reads_all_input_as_one_message() -> None:
    assert read(Whole(), b"a\n\0b", [1, 2]) == [b"a\n\0b"]
    assert read(Whole(), b"", []) == [b""]
