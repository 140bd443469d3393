"""CLIENT SETNAME accepts printable names without spaces of any length."""

from __future__ import annotations

import time

import pytest

from miniredis.engine.commands.connections.connection import is_name


@pytest.mark.parametrize("byte", [b" ", b"\n", b"\0", b"\x7f", b"\xff"])
def test_a_name_with_an_unprintable_byte_anywhere_is_refused(byte: bytes) -> None:
    for name in (byte, b"x" + byte, byte + b"x", b"x" * 1000 + byte + b"x" * 1000):
        assert not is_name(name)
    assert is_name(bytes(range(33, 127)))
    assert is_name(b"")


def test_checking_a_long_name_is_faster_than_a_loop_over_its_bytes() -> None:
    name = b"x" * 3_000_000
    began = time.thread_time()
    assert not any(byte > 200 for byte in name)
    slow = time.thread_time() - began
    began = time.thread_time()
    assert is_name(name)
    assert time.thread_time() - began < slow / 3
