"""The checksum at the end of a payload or a file: CRC-64 with the polynomial of Jones, bits reflected."""

from __future__ import annotations

from typing import Final

from anycrc import Model

__all__ = ["crc64"]

MODEL: Final = Model("CRC64-REDIS")


def crc64(data: bytes | bytearray | memoryview, before: int = 0) -> int:
    """The checksum of some bytes, behind others whose checksum is ``before``."""
    return int(MODEL.calc(data, before))
