"""The bitmap commands: a string as an array of bits, starting with the highest bit of the first byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_, or_, xor
from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, command
from ...keyspace.keyspace import STRING, Database, StringValue
from ...numbers.numbers import MAX, read_integer, read_range
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply
from .strings import mutable

READ: Final = Keys(1, "RO access")
CHUNK: Final = 1 << 16
"""How many bytes are processed at a time as one integer; this avoids copies of whole strings."""


def read_offset(session: Session, text: bytes) -> int:
    """A bit offset; raises ``CommandError`` if a string may not be long enough for it."""
    offset = read_range(text, 0, MAX, errors.BIT_OFFSET)
    if offset >> 3 >= session.engine.config.integer("proto-max-bulk-len"):
        raise CommandError(errors.BIT_OFFSET)
    return offset


def grown(db: Database, key: bytes, last_bit: int) -> tuple[bytearray, bool]:
    """The string at a key, extended to contain a bit, and whether that changed it."""
    text = db.lookup_write(key, STRING)
    size = (last_bit >> 3) + 1
    has_changed = text is None or len(text) < size
    bits = mutable(db, key, text)
    if len(bits) < size:
        bits.extend(bytes(size - len(bits)))
    return bits, has_changed


@command(
    "SETBIT",
    4,
    "write denyoom",
    acl="bitmap",
    keys=Keys(1, "RW access update"),
    since="2.2.0",
    syntax="key#0 offset:integer value:integer",
)
def setbit(session: Session, args: list[bytes]) -> Reply:
    """Sets or clears one bit of a string and returns its old value; the string grows if needed."""
    offset = read_offset(session, args[2])
    bit = read_range(args[3], 0, 1, errors.BIT)
    bits, has_grown = grown(session.db, args[1], offset)
    mask = 0x80 >> (offset & 7)
    old = int(bool(bits[offset >> 3] & mask))
    if has_grown or old != bit:
        bits[offset >> 3] ^= mask if old != bit else 0
        session.db.signal_modified(args[1], "setbit")
    return old


@command(
    "GETBIT",
    3,
    "readonly fast",
    acl="bitmap",
    keys=READ,
    since="2.2.0",
    syntax="key#0 offset:integer",
)
def getbit(session: Session, args: list[bytes]) -> Reply:
    """Returns one bit of a string; 0 beyond the end."""
    offset = read_offset(session, args[2])
    text = session.db.lookup_read(args[1], STRING) or b""
    return text[offset >> 3] >> (7 - (offset & 7)) & 1 if offset >> 3 < len(text) else 0


# Whole strings

Operation = Callable[[int, int], int]
OPERATIONS: Final[dict[bytes, Operation]] = {b"AND": and_, b"OR": or_, b"XOR": xor, b"NOT": xor}
"""By the name of an operation; NOT is XOR with a string of ones."""


@command(
    "BITOP",
    -4,
    "write denyoom",
    acl="bitmap",
    keys=(Keys(2, "OW update"), Keys(3, "RO access", last=-1)),
    since="2.6.0",
    syntax="operation destkey#0 key#1...",
)
def bitop(session: Session, args: list[bytes]) -> Reply:
    """Combines strings by a bitwise operator and stores the result; returns its length in bytes."""
    db, name, target, sources = session.db, args[1].upper(), args[2], args[3:]
    if name not in OPERATIONS:
        raise CommandError(errors.SYNTAX)
    if name == b"NOT" and len(sources) != 1:
        raise CommandError(errors.BIT_NOT)
    texts = [db.lookup_read(key, STRING) or b"" for key in sources]
    length = max(map(len, texts))
    if not length:
        db.lookup_write(target)
        db.delete(target)
        return 0
    there = [text for text in texts if text]  # a missing key counts as zeros
    texts = [b""] if name == b"AND" and len(there) < len(texts) else there
    result = bytearray()
    for start in range(0, length, CHUNK):
        size = min(CHUNK, length - start)
        # Little-endian, so that a shorter string is padded with zeros.
        numbers = [int.from_bytes(text[start : start + size], "little") for text in texts]
        if name == b"NOT":
            numbers.append((1 << 8 * size) - 1)
        result += reduce(OPERATIONS[name], numbers).to_bytes(size, "little")
    db.store(target, result, "set")
    return length


# Counting and finding


@command(
    "BITCOUNT",
    -2,
    "readonly",
    acl="bitmap",
    keys=READ,
    since="2.6.0",
    syntax="key#0 [index{start:integer end:integer [index_unit@7.0.0(BYTE|BIT)]}]",
)
def bitcount(session: Session, args: list[bytes]) -> Reply:
    """Counts the set bits in a string, or in a range of its bytes or bits."""
    text = session.db.lookup_read(args[1], STRING)
    if text is None:
        return 0
    if len(args) not in {2, 4, 5}:
        raise CommandError(errors.SYNTAX)
    first, last = 0, len(text) * 8 - 1
    if len(args) > 2:
        start, end = read_integer(args[2]), read_integer(args[3])
        if start < 0 and end < 0 and start > end:
            return 0  # before the unit is checked
        unit = read_unit(args[4]) if len(args) == 5 else BITS[b"BYTE"]
        first, last = bit_range(start, end, len(text), unit)
    return sum(int.from_bytes(chunk).bit_count() for _, chunk in chunks(text, first, last, outside=0))


BITS: Final = {b"BIT": 1, b"BYTE": 8}


def read_unit(text: bytes) -> int:
    unit = BITS.get(text.upper())
    if unit is None:
        raise CommandError(errors.SYNTAX)
    return unit


def bit_range(start: int, end: int, length: int, unit: int) -> tuple[int, int]:
    """The first and last bit of a range of bytes or bits; if it is empty, the last is before the first."""
    total = length * 8 // unit
    first = max(start + total, 0) if start < 0 else start
    last = min(max(end + total, 0) if end < 0 else end, total - 1)
    return first * unit, last * unit + unit - 1


def chunks(text: StringValue, first: int, last: int, outside: int) -> Iterator[tuple[int, StringValue]]:
    """Yields the bytes that contain a range of bits, in chunks, each with the offset of its first byte.

    The bits outside the range are set to ``outside``.
    """
    end = (last >> 3) + 1
    for start in range(first >> 3, end if first <= last else 0, CHUNK):
        chunk = text[start : min(start + CHUNK, end)]
        for at, mask in ((first >> 3, 0xFF >> (first & 7)), (last >> 3, 0xFF << (7 - (last & 7)) & 0xFF)):
            if mask != 0xFF and 0 <= at - start < len(chunk):
                chunk = bytearray(chunk)
                chunk[at - start] = chunk[at - start] | ~mask & 0xFF if outside else chunk[at - start] & mask
        yield start, chunk


@command(
    "BITPOS",
    -3,
    "readonly",
    acl="bitmap",
    keys=READ,
    since="2.8.7",
    syntax="key#0 bit:integer [index{start:integer [end_index{end:integer [index_unit@7.0.0(BYTE|BIT)]}]}]",
)
def bitpos(session: Session, args: list[bytes]) -> Reply:
    """Returns the position of the first bit that is set or clear; -1 if there is none."""
    bit = read_integer(args[2])
    if bit not in {0, 1}:
        raise CommandError(errors.BIT_SOUGHT)
    text = session.db.lookup_read(args[1], STRING)
    if text is None:
        return -1 if bit else 0
    first, last = read_bounds(args[3:], len(text))
    without = (b"\xff", b"\0")[bit] * CHUNK
    for start, chunk in chunks(text, first, last, outside=1 - bit):
        if not without.startswith(chunk):
            return start * 8 + first_bit(chunk, bit)
    goes_on = not bit and first <= last and len(args) < 5
    return (last | 7) + 1 if goes_on else -1


def read_bounds(words: list[bytes], length: int) -> tuple[int, int]:
    if len(words) > 3:
        raise CommandError(errors.SYNTAX)
    start = read_integer(words[0]) if words else 0
    unit = read_unit(words[2]) if len(words) == 3 else BITS[b"BYTE"]
    end = read_integer(words[1]) if len(words) > 1 else length - 1
    return bit_range(start, end, length, unit) if words else (0, length * 8 - 1)


def first_bit(data: StringValue, bit: int) -> int:
    """The position of the first bit with this value, which must exist."""
    skipped = len(data) - len(data.lstrip(b"\0" if bit else b"\xff"))
    byte = data[skipped] if bit else ~data[skipped] & 0xFF
    return skipped * 8 + 8 - byte.bit_length()
