"""Names of clients: printable, without spaces, and as long as anybody likes."""

from __future__ import annotations

import time

import pytest

from miniredis.engine.commands.connection import checked_name
from miniredis.engine.errors import CommandError


@pytest.mark.parametrize("byte", [b" ", b"\n", b"\0", b"\x7f", b"\xff"])
def test_a_byte_that_is_not_printable_is_found_anywhere(byte: bytes) -> None:
    for name in (byte, b"x" + byte, byte + b"x", b"x" * 1000 + byte + b"x" * 1000):
        with pytest.raises(CommandError):
            checked_name(name)
    assert checked_name(bytes(range(33, 127))) == bytes(range(33, 127))
    assert checked_name(b"") == b""


def test_a_long_name_is_not_looked_at_byte_by_byte_in_python() -> None:
    name = b"x" * 3_000_000
    began = time.thread_time()
    assert not any(byte > 200 for byte in name)
    slow = time.thread_time() - began
    began = time.thread_time()
    checked_name(name)
    assert time.thread_time() - began < slow / 3
