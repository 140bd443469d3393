"""LZF, the compression of long strings in a payload: reading only, for nobody has to compress."""

from __future__ import annotations

__all__ = ["decompress"]

LITERALS = 32
"""A first byte below it tells how many bytes follow as they are; others tell how far back to copy from."""

LONG = 7


def decompress(data: bytes, size: int) -> bytes | None:
    """The bytes that were compressed; None if they are not ``size`` bytes, or the data is damaged."""
    try:
        output = decompressed(data, size)
    except IndexError:  # it ends where more was announced
        return None
    return bytes(output) if len(output) == size else None


def decompressed(data: bytes, most: int) -> bytearray:
    """What can be read, up to a little more than ``most`` bytes; raises ``IndexError`` for damaged data.

    This is one loop without a call, because it runs for every few bytes of a payload.
    """
    output = bytearray()
    at, end = 0, len(data)
    while at < end:
        control = data[at]
        if control < LITERALS:
            at += control + 2
            output += data[at - control - 1 : at]
            continue
        length = control >> 5
        if length == LONG:
            at += 1
            length += data[at]
        filled = len(output)
        start = filled - ((control & 31) << 8 | data[at + 1]) - 1
        if start < 0 or filled > most:
            raise IndexError
        at += 2
        stop = start + length + 2
        if stop <= filled:
            output += output[start:stop]
        else:  # it repeats itself
            chunk = output[start:]
            output += (chunk * ((length + 2) // len(chunk) + 1))[: length + 2]
    if at > end:
        raise IndexError
    return output
