"""The CRC-64 of payloads is right at every length, and fast."""

from __future__ import annotations

import random
import time

import pytest

from miniredis.engine.rdb.crc64 import CHUNK, POLYNOMIAL, SPARSE, Checksum, by_table, crc64

LUCK = random.Random(64)  # noqa: S311


def test_the_check_value_is_that_of_redis() -> None:
    assert crc64(b"123456789") == 0xE9C6D914C4B8D9CA


def test_the_sparse_polynomial_is_a_multiple_of_the_crc_polynomial() -> None:
    jones = 1 << 64 | int(f"{POLYNOMIAL:064b}"[::-1], 2)
    rest = sum(1 << power for power in SPARSE)
    while rest >> 64:
        rest ^= jones << rest.bit_length() - 65
    assert rest == 0


SIZES = [0, 1, 7, 8, 9, 373, 374, 375, 383, 400, 1000, 5000, 70_001, CHUNK - 1, CHUNK, CHUNK + 1, CHUNK + 400]


@pytest.mark.parametrize("size", SIZES)
def test_long_data_has_the_checksum_that_the_table_gives(size: int) -> None:
    for data in (
        LUCK.randbytes(size),
        bytes(size),
        b"\xff" * size,
        bytes(size // 2) + b"x" * (size - size // 2),
    ):
        assert crc64(data) == by_table(data)


def test_the_checksum_of_pieces_is_that_of_the_whole() -> None:
    data, checksum, at = LUCK.randbytes(3 * CHUNK), Checksum(), 0
    while at < len(data):
        size = LUCK.choice((0, 1, 7, 400, 5000, CHUNK - 1, CHUNK + 1))
        checksum.update(data[at : at + size])
        at += size
        assert checksum.value == crc64(data[:at])


def test_crc64_is_much_faster_than_the_byte_table() -> None:
    data = LUCK.randbytes(4 << 20)
    assert (
        min(seconds(crc64, data) for _ in range(3))
        < min(seconds(by_table, data[: 1 << 19]) for _ in range(3)) * 4
    )


def seconds(act: object, data: bytes) -> float:
    start = time.thread_time()
    assert callable(act)
    act(data)
    return time.thread_time() - start
