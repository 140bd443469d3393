"""Large strings in replies are copied once at most, however deeply nested."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from miniredis.engine.protocol.replies import LARGE, Output, Pieces, Set, encode

TEXT = b"v" * (8 * LARGE)
BULK = b"$%d\r\n%b\r\n" % (len(TEXT), TEXT)


def wire_of(reply: Output) -> bytes:
    return b"".join(reply.parts) if isinstance(reply, Pieces) else reply


@pytest.mark.parametrize(
    ("value", "wire", "copies"),
    [
        (TEXT, BULK, 0),
        ([TEXT], b"*1\r\n" + BULK, 1),
        ([b"a", TEXT], b"*2\r\n$1\r\na\r\n" + BULK, 1),
        ([[b"1-1", [b"f", TEXT]]], b"*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n" + BULK, 1),
        ([b"0", [[[TEXT, None]]], 7], b"*3\r\n$1\r\n0\r\n*1\r\n*1\r\n*2\r\n%b$-1\r\n:7\r\n" % BULK, 0),
    ],
)
def test_a_large_string_is_copied_once_at_most(value: Any, wire: bytes, copies: int) -> None:
    tracemalloc.start()
    try:
        reply = encode(value, 2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert wire_of(reply) == wire
    assert peak < (copies + 0.5) * len(TEXT)


def test_nested_arrays_are_encoded_in_resp2_and_resp3() -> None:
    value = [1, [], [b"a", [2.5, Set([b"x"])]], None]
    assert (
        encode(value, 2) == b"*4\r\n:1\r\n*0\r\n*2\r\n$1\r\na\r\n*2\r\n$3\r\n2.5\r\n*1\r\n$1\r\nx\r\n$-1\r\n"
    )
    assert encode(value, 3) == b"*4\r\n:1\r\n*0\r\n*2\r\n$1\r\na\r\n*2\r\n,2.5\r\n~1\r\n$1\r\nx\r\n_\r\n"
