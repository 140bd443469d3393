"""Lua 5.1's bytecode, as ``string.dump`` gives it, made fit for the sandbox.

Two changes. First, a tail call becomes a call: the functions that stand for native ones are Lua functions
here, and a caller that makes way for them could not be named when they fail, as Redis names it. Inside
functions that is done only where the function comes from a table or is global, as ``redis.call`` is, also by
way of a local name for it: a function that goes on by calling itself, or another one of the script's, may do
so for ever. Second, a function that takes many fixed parameters and then ``...`` is refused: calling it, Lua
5.1.5 writes beyond its stack.

No bytecode of a script's own making ever comes here, only what this very Lua has compiled.
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

__all__ = ["TOO_MANY", "TooManyParametersError", "make_safe", "unlike_others"]

MOST_FIXED_PARAMETERS: Final = 1
"""Beside ``...``: each takes two slots that Lua has not made sure of, and it has two to spare.

One that is always given takes one slot only.
"""

HEADER: Final = 12
OPCODE_BITS: Final = 0x3F
CALL: Final = 28
TAIL_CALL: Final = 29
MOVE, LOAD_NIL, GET_UPVALUE, GET_GLOBAL, GET_TABLE, SELF, CLOSURE = 0, 3, 4, 5, 6, 11, 36
FROM_TABLE: Final = {GET_GLOBAL, GET_TABLE, SELF}
"""The instructions that put what is in a table, or global, into a register."""

CONSTANTS: Final = {1, 2, 10, *range(12, 22)}
"""The instructions that put constants, new tables, and what is computed into a register."""

RESULTS: Final = {CALL, 37}
"""The instructions that put several values into registers: what a call returns, and ``...``."""

REGISTERS: Final = 256
NIL, BOOLEAN, NUMBER, STRING = 0, 1, 3, 4
NUMBER_SIZE: Final = 8
NO_NUL: Final = bytes([1, *range(1, 256)])


def register(word: int) -> int:
    """What an instruction works on; for many, where its result goes."""
    return word >> 6 & 0xFF


def operand(word: int) -> int:
    """Which register, or which variable of the function around, an instruction copies."""
    return word >> 23


class Function(NamedTuple):
    """A function in a chunk.

    Attributes:
        upvalues: how many variables it has of the functions around it.
        code: its instructions.
        place: where they stand in the chunk.
        inner: the functions in it.
    """

    upvalues: int
    code: array[int]
    place: int
    inner: list[Function]


def tail_calls(
    function: Function, upvalues: Sequence[int], *, is_main: bool = False, is_trusted: bool
) -> Iterator[int]:
    """Places in the chunk of the tail calls that become calls, in a function and in those in it.

    Args:
        function: the function.
        upvalues: for each variable that it has of the functions around it, whether its value is from a table.
        is_main: it is the chunk itself, which nobody calls again and again: all its tail calls count.
        is_trusted: all tail calls count.
    """
    from_table = bytearray(REGISTERS)  # whether what came into each register last is from a table
    steps = iter(enumerate(function.code))
    for at, word in steps:
        operation, target = word & OPCODE_BITS, register(word)
        if operation == TAIL_CALL:
            if is_main or is_trusted or from_table[target]:
                yield function.place + 4 * at
        elif operation == MOVE:
            from_table[target] = from_table[operand(word)]
        elif operation == GET_UPVALUE:
            from_table[target] = upvalues[operand(word)]
        elif operation in FROM_TABLE:
            from_table[target] = True
        elif operation == LOAD_NIL:
            from_table[target : operand(word) + 1] = bytes(operand(word) + 1 - target)
        elif operation == CLOSURE:
            from_table[target] = False
            inner = function.inner[word >> 14]
            taken = [word for _, word in islice(steps, inner.upvalues)]
            sources = {MOVE: from_table, GET_UPVALUE: upvalues}
            flags = [sources[word & OPCODE_BITS][operand(word)] for word in taken]
            yield from tail_calls(inner, flags, is_trusted=is_trusted)
        elif operation in RESULTS:  # no register behind the first result is in use
            from_table[target:] = bytes(REGISTERS - target)
        elif operation in CONSTANTS:
            from_table[target] = False


class TooManyParametersError(Exception):
    """A function cannot be called safely; its argument is the line where it begins."""


TOO_MANY: Final = b"line %%d: more than %d parameter before '...'" % MOST_FIXED_PARAMETERS
"""What scripts are told of it, with the line to be filled in."""


class Walker:
    """Goes through a chunk, changing instructions in place."""

    def __init__(self, chunk: bytes, *, is_trusted: bool) -> None:
        self._most = MOST_FIXED_PARAMETERS * (2 if is_trusted else 1)
        self.chunk = bytearray(chunk)
        self.at = HEADER
        order = "<" if chunk[6] else ">"
        self._int = struct.Struct(order + "i")
        self._size = struct.Struct(order + ("Q" if chunk[8] == NUMBER_SIZE else "I"))
        self._swapped = struct.pack("=H", 1) != struct.pack(order + "H", 1)

    def integer(self) -> int:
        (value,) = self._int.unpack_from(self.chunk, self.at)
        self.at += self._int.size
        return int(value)

    def skip_string(self) -> None:
        (size,) = self._size.unpack_from(self.chunk, self.at)
        self.at += self._size.size + size

    def function(self) -> Function:
        """One function and those inside it."""
        self.skip_string()
        line = self.integer()
        self.integer()
        upvalues, parameters, varargs, _stack = self.chunk[self.at : self.at + 4]
        self.at += 4
        if varargs and parameters > self._most:
            raise TooManyParametersError(line)
        code = self.code()
        place = self.at - 4 * len(code)
        self.constants()
        inner = [self.function() for _ in range(self.integer())]
        self.debugging()
        return Function(upvalues, code, place, inner)

    def code(self) -> array[int]:
        size = 4 * self.integer()
        code = array("I", bytes(self.chunk[self.at : self.at + size]))
        self.at += size
        if self._swapped:
            code.byteswap()
        return code

    def make_call(self, place: int) -> None:
        """Puts a call in the place of a tail call."""
        at = place if self.chunk[6] else place + 3
        self.chunk[at] = self.chunk[at] & ~OPCODE_BITS | CALL

    def integer_ahead(self) -> int:
        (value,) = self._int.unpack_from(self.chunk, self.at)
        return int(value)

    def constants(self) -> None:
        for _ in range(self.integer()):
            kind = self.chunk[self.at]
            self.at += 1
            if kind == STRING:
                self.skip_string()
            else:
                self.at += {NIL: 0, BOOLEAN: 1, NUMBER: NUMBER_SIZE}[kind]

    def debugging(self) -> None:
        self.at += self._int.size * self.integer_ahead() + self._int.size
        for _ in range(self.integer()):
            self.skip_string()
            self.at += 2 * self._int.size
        for _ in range(self.integer()):
            self.skip_string()


def named(chunk: bytes, name: bytes) -> bytes:
    """The chunk under another name, which is what stands first in it."""
    size = struct.Struct(("<" if chunk[6] else ">") + ("Q" if chunk[8] == NUMBER_SIZE else "I"))
    (length,) = size.unpack_from(chunk, HEADER)
    return b"".join(
        (chunk[:HEADER], size.pack(len(name) + 1), name, b"\0", chunk[HEADER + size.size + length :])
    )


def unlike_others(code: bytes) -> bytes:
    """A name to compile a text under, which makes its bytecode unlike that of other texts wherever Lua looks.

    Lua keeps strings by a hash of every n-th byte of theirs, n growing with their length. Bytecode of similar
    scripts can have the same bytes there, and then one is compared with all the others.
    """
    return hashlib.shake_256(code).digest(256).translate(NO_NUL)


def make_safe(chunk: bytes, *, is_trusted: bool = False, name: bytes | None = None) -> bytes:
    """A chunk that does as it did, and that is safe to run and to name.

    Args:
        chunk: what Lua compiled.
        name: the name it is to have; as it is if that is None.
        is_trusted: it is our own: no tail call is left, and the fixed parameters beside ``...`` are always
            given, so that there may be twice as many.

    Raises:
        TooManyParametersError: a function in it cannot be made safe.
    """
    walker = Walker(chunk if name is None else named(chunk, name), is_trusted=is_trusted)
    main = walker.function()
    for place in tail_calls(main, (), is_main=True, is_trusted=is_trusted):
        walker.make_call(place)
    return bytes(walker.chunk)
