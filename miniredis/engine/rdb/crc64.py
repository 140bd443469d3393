"""The checksum at the end of a payload or a file: CRC-64 with the polynomial of Jones, bits reflected.

A table takes eight bytes at a time, which is slow in Python. So long data is first replaced by short data
with the same checksum. To a checksum, data is a polynomial over two elements, its first bit the highest
power, and a multiple of Jones's polynomial may be added anywhere. One that has few terms, ``SPARSE``, says
that its highest power is the sum of its others: a stretch of bits is removed at the front, and added again
further behind, once for each other term. That takes a handful of operations on large integers, however long
the stretch. The square of such a polynomial has the same terms with twice their powers, so there is a
multiple for every size of data.
"""

from __future__ import annotations

from typing import Final

__all__ = ["Checksum", "crc64"]

POLYNOMIAL: Final = 0x95AC9329AC4BC9B5

SPARSE: Final = (2987, 1132, 735, 716, 576, 489, 298, 151, 0)
"""The powers of a multiple of the polynomial, found by a search; test_crc64.py divides it."""

CHUNK: Final = 1 << 18
"""How many bytes are one integer at a time: as many as stay near the processor."""

LEAST: Final = 64
"""How many bits are worth to be removed."""

tables: list[list[int]] = []
"""For each of eight bytes in a row, what it does to the sum; made when first needed."""


class Checksum:
    """The checksum of bytes that come in pieces, in time that goes with their number."""

    def __init__(self) -> None:
        self._rest = b""  # few bytes with the checksum of all so far

    def update(self, data: bytes | bytearray | memoryview) -> None:
        """Takes the next piece in; few large pieces take less time than many small ones."""
        for at in range(0, len(data), CHUNK):
            self._rest = shortened(self._rest + data[at : at + CHUNK])

    @property
    def value(self) -> int:
        """The checksum of all pieces so far."""
        return by_table(self._rest)


def crc64(data: bytes | memoryview) -> int:
    """The checksum of some bytes."""
    checksum = Checksum()
    checksum.update(data)
    return checksum.value


def shortened(data: bytes) -> bytes:
    """At most about 400 bytes that have the same checksum."""
    highest, *others = SPARSE
    number, bits = int.from_bytes(data, "little"), 8 * len(data)
    for scale in reversed(range((bits // highest).bit_length())):
        shifts = [highest - power << scale for power in others]
        while (removed := min(shifts[0], bits - (highest << scale)) & ~7) >= LEAST:
            front = number & (1 << removed) - 1
            number >>= removed
            bits -= removed
            for shift in shifts:
                number ^= front << shift - removed
    return number.to_bytes(bits // 8, "little")


def by_table(data: bytes) -> int:
    """The checksum of a few bytes."""
    if not tables:
        make_tables()
    one, two, three, four, five, six, seven, eight = reversed(tables)
    crc = 0
    whole = len(data) - len(data) % 8
    for at in range(0, whole, 8):
        crc ^= int.from_bytes(data[at : at + 8], "little")
        crc = (
            one[crc & 255] ^ two[crc >> 8 & 255] ^ three[crc >> 16 & 255] ^ four[crc >> 24 & 255]
            ^ five[crc >> 32 & 255] ^ six[crc >> 40 & 255] ^ seven[crc >> 48 & 255] ^ eight[crc >> 56]
        )  # fmt: skip
    for byte in data[whole:]:
        crc = eight[(crc ^ byte) & 255] ^ crc >> 8
    return crc


def make_tables() -> None:
    first = [after_a_byte(byte) for byte in range(256)]
    tables.append(first)
    for _ in range(7):
        tables.append([first[crc & 255] ^ crc >> 8 for crc in tables[-1]])


def after_a_byte(crc: int) -> int:
    for _ in range(8):
        crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
    return crc
