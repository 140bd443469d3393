"""The checksum at the end of a payload: CRC-64 with the polynomial of Jones, bits reflected."""

from __future__ import annotations

from typing import Final

__all__ = ["crc64"]

POLYNOMIAL: Final = 0x95AC9329AC4BC9B5

tables: list[list[int]] = []
"""For each of eight bytes in a row, what it does to the sum; made when first needed."""


def crc64(data: bytes) -> int:
    """The checksum of some bytes, in time that goes with their number."""
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
