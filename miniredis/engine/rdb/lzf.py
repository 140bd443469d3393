"""LZF, the compression of long strings in a payload: reading only, for nobody has to compress."""

from __future__ import annotations

__all__ = ["decompress"]

LITERALS = 32
"""A first byte below it tells how many bytes follow as they are; others tell how far back to copy from."""

LONG = 7


def decompress(data: bytes, size: int) -> bytes | None:
    """The bytes that were compressed; None if they are not ``size`` bytes, or the data is damaged."""
    output = bytearray()
    at = 0
    while at < len(data) and len(output) <= size:
        control = data[at]
        at += 1
        if control < LITERALS:
            output += data[at : at + control + 1]
            at += control + 1
            continue
        at, is_whole = copy_back(data, at, control, output)
        if not is_whole:
            return None
    return bytes(output) if at == len(data) and len(output) == size else None


def copy_back(data: bytes, at: int, control: int, output: bytearray) -> tuple[int, bool]:
    """Repeats what was written before; returns where to go on, and whether there was such a thing."""
    length = control >> 5
    if length == LONG:
        if at >= len(data):
            return at, False
        length += data[at]
        at += 1
    if at >= len(data):
        return at, False
    start = len(output) - ((control & 31) << 8 | data[at]) - 1
    if start < 0:
        return at, False
    length += 2
    chunk = bytes(output[start : start + length])
    output += (chunk * (length // len(chunk) + 1))[:length]
    return at + 1, True
