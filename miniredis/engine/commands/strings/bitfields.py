"""BITFIELD: integers of up to 64 bits at any bit offset in a string."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ...clients.session import Session
from ...declarations.registry import Keys, command
from ...keyspace.keyspace import STRING, StringValue
from ...numbers.numbers import MAX, MIN, parse_integer, read_integer, read_range
from ...protocol import errors
from ...protocol.errors import CommandError, until_nul
from ...protocol.replies import Reply
from .bitmaps import grown, read_offset

WORD: Final = 1 << 64


class Field(NamedTuple):
    """An integer in a string.

    Attributes:
        signed: whether it can be negative.
        bits: its width.
        offset: the offset of its first bit.
    """

    signed: bool
    bits: int
    offset: int

    @property
    def low(self) -> int:
        """The lowest value."""
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def high(self) -> int:
        """The highest value."""
        return (1 << self.bits - self.signed) - 1

    def wrap(self, value: int) -> int:
        """A number truncated to the field's bits."""
        kept = value & (1 << self.bits) - 1
        return kept - (1 << self.bits) if self.signed and kept >> self.bits - 1 else kept

    def read(self, data: StringValue) -> int:
        """The field's value in a string; bits after the end of the string are zero."""
        first, last = self.offset >> 3, self.offset + self.bits - 1 >> 3
        window = bytes(data[first : last + 1]).ljust(last + 1 - first, b"\0")
        return self.wrap(int.from_bytes(window) >> self._behind)

    def write(self, data: bytearray, value: int) -> None:
        """Stores a value in a string, which must be long enough."""
        first, last = self.offset >> 3, self.offset + self.bits - 1 >> 3
        mask = (1 << self.bits) - 1 << self._behind
        window = int.from_bytes(data[first : last + 1])
        changed = window & ~mask | value << self._behind & mask
        data[first : last + 1] = changed.to_bytes(last + 1 - first)

    @property
    def _behind(self) -> int:
        """The number of bits after the field in its last byte."""
        return 7 - (self.offset + self.bits - 1 & 7)


Overflow = Callable[[Field, int, int], int | None]
"""Returns the value to store for a result that is too high (1) or too low (-1); None stores nothing."""

OVERFLOWS: Final[dict[bytes, Overflow]] = {
    b"WRAP": lambda field, value, _: field.wrap(value),
    b"SAT": lambda field, _, side: field.high if side > 0 else field.low,
    b"FAIL": lambda *_: None,
}


class Operation(NamedTuple):
    """One GET, SET or INCRBY.

    Attributes:
        name: GET, SET or INCRBY.
        field: the integer to access.
        operand: the argument of SET and INCRBY.
        overflow: decides what to do with a result that does not fit.
    """

    name: bytes
    field: Field
    operand: int
    overflow: Overflow


OPERANDS: Final = {b"GET": 2, b"SET": 3, b"INCRBY": 3}
SYNTAX: Final = (
    "key#0 [operation(GET encoding_offset{encoding offset:integer}|write{[OVERFLOW wrap_sat_fail"
    "(WRAP|SAT|FAIL)] write_operation(SET encoding_offset_value{encoding offset:integer value:integer}|"
    "INCRBY encoding_offset_increment{encoding offset:integer increment:integer})})]..."
)


@command(
    "BITFIELD",
    -2,
    "write denyoom",
    acl="bitmap",
    keys=Keys(
        1,
        "RW access update variable_flags",
        notes="This command allows both access and modification of the key",
    ),
    since="3.2.0",
    syntax=SYNTAX,
)
def bitfield(session: Session, args: list[bytes]) -> Reply:
    """Runs a list of GET, SET and INCRBY operations on integers of any width in a string."""
    operations = read_operations(session, args[2:])
    if not writes(operations):
        return read_all(session, args[1], operations)
    last = max(each.field.offset + each.field.bits - 1 for each in operations if each.name != b"GET")
    data, has_grown = grown(session.db, args[1], last)
    changed = 0
    replies: list[Reply] = []
    for each in operations:
        before = each.field.read(data)
        result = before if each.name == b"GET" else new_value(each, before)
        if result is not None and each.name != b"GET":
            each.field.write(data, result)
            changed += has_grown or result != before
        replies.append(before if each.name == b"SET" and result is not None else result)
    if changed:
        session.db.signal_modified(args[1], "setbit", changed)
    return replies


@command(
    "BITFIELD_RO",
    -2,
    "readonly fast",
    acl="bitmap",
    keys=Keys(1, "RO access"),
    since="6.0.0",
    syntax="key#0 [GET encoding_offset{encoding offset:integer}]...!",
)
def bitfield_ro(session: Session, args: list[bytes]) -> Reply:
    """Runs a list of GET operations on integers of any width in a string."""
    operations = read_operations(session, args[2:])
    if writes(operations):
        raise CommandError(errors.BIT_READ_ONLY)
    return read_all(session, args[1], operations)


def writes(operations: list[Operation]) -> bool:
    return any(each.name != b"GET" for each in operations)


def read_all(session: Session, key: bytes, operations: list[Operation]) -> Reply:
    data = session.db.lookup_read(key, STRING) or b""
    return [each.field.read(data) for each in operations]


def read_operations(session: Session, words: list[bytes]) -> list[Operation]:
    operations: list[Operation] = []
    overflow = OVERFLOWS[b"WRAP"]
    at = 0
    while at < len(words):
        name, left = words[at].upper(), len(words) - at - 1
        if name == b"OVERFLOW" and left:
            overflow = read_overflow(words[at + 1])
            at += 2
        elif left >= OPERANDS.get(name, MAX):
            end = at + 1 + OPERANDS[name]
            operations.append(read_operation(session, name, words[at + 1 : end], overflow))
            at = end
        else:
            raise CommandError(errors.SYNTAX)
    return operations


def read_overflow(text: bytes) -> Overflow:
    overflow = OVERFLOWS.get(text.upper())
    if overflow is None:
        raise CommandError(errors.BIT_OVERFLOW)
    return overflow


def read_operation(session: Session, name: bytes, words: list[bytes], overflow: Overflow) -> Operation:
    field = read_field(session, words[0], words[1])
    return Operation(name, field, read_integer(words[2]) if name != b"GET" else 0, overflow)


def read_field(session: Session, encoding: bytes, offset: bytes) -> Field:
    """A field of a type such as ``u8``, at an offset in bits, or in multiples of its width after ``#``."""
    signed, bits = encoding[:1] == b"i", parse_integer(until_nul(encoding[1:]))
    if encoding[:1] not in {b"i", b"u"} or bits is None or not 1 <= bits <= 63 + signed:
        raise CommandError(errors.BIT_TYPE)
    if not offset.startswith(b"#"):
        return Field(signed, bits, read_offset(session, offset))
    times = read_range(offset[1:], MIN, MAX, errors.BIT_OFFSET)
    product = times * bits % WORD  # wraps at 64 bits, as in C
    return Field(signed, bits, read_offset(session, b"%d" % product))


def new_value(operation: Operation, before: int) -> int | None:
    """The new value of a field; None if it stays unchanged because the result does not fit."""
    field = operation.field
    base, increment = (before, operation.operand) if operation.name == b"INCRBY" else (operation.operand, 0)
    side = overflows(field, base, increment)
    return operation.overflow(field, base + increment, side) if side else base + increment


def overflows(field: Field, base: int, increment: int) -> int:
    """Whether a sum is too high (1) or too low (-1) for a field; 0 if it fits.

    Redis compares the increment with the difference between the highest value and the base in 64 bits. For a
    base far below the lowest value this difference wraps, and the sum counts as too high.
    """
    if not field.signed:
        base %= WORD
    room = field.high - base
    if field.signed and field.bits < 64 and room > MAX:
        room -= WORD
    if base > field.high or increment > room:
        return 1
    return -1 if base + increment < field.low else 0
