"""Lua 5.1's bytecode, as ``string.dump`` gives it, made fit for the sandbox.

Two changes. A tail call becomes a call: the functions that stand for native ones are Lua functions here, and
a caller that makes way for them could not be named when they fail, as Redis names it. Inside functions that
is done only where what is called is global or in a table, as ``redis.call`` is: a function that goes on by
calling itself, or another local one, may do so for ever. And a function that takes many fixed parameters and
then ``...`` is refused: calling it, Lua 5.1.5 writes beyond its stack.

No bytecode of a script's own making ever comes here, only what this very Lua has compiled.
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from typing import Final

__all__ = ["TOO_MANY", "TooManyParametersError", "make_safe", "unlike_others"]

MOST_FIXED_PARAMETERS: Final = 1
"""Beside ``...``: each takes two slots that Lua has not made sure of, and it has two to spare.

One that is always given takes one slot only.
"""

HEADER: Final = 12
OPCODE_BITS: Final = 0x3F
CALL: Final = 28
TAIL_CALL: Final = 29
MOVE, GET_UPVALUE, GET_GLOBAL, GET_TABLE, SELF, CLOSURE = 0, 4, 5, 6, 11, 36
SOURCES: Final = {
    MOVE: False,
    GET_UPVALUE: False,
    CLOSURE: False,
    CALL: False,
    GET_GLOBAL: True,
    GET_TABLE: True,
    SELF: True,
}
"""The instructions by which a function comes into its register, and whether it comes from a table."""

REGISTERS: Final = 256
NIL, BOOLEAN, NUMBER, STRING = 0, 1, 3, 4
NUMBER_SIZE: Final = 8
NO_NUL: Final = bytes([1, *range(1, 256)])


def register(word: int) -> int:
    """What an instruction works on; for many, where its result goes."""
    return word >> 6 & 0xFF


def without_tail_calls(code: array[int], *, everywhere: bool) -> array[int]:
    """The same with calls in place of tail calls: all, or those of functions in tables and of global ones."""
    changed = code[:]
    from_table = [everywhere] * REGISTERS  # what came into each register last
    for at, word in enumerate(code):
        operation = word & OPCODE_BITS
        if operation == TAIL_CALL:
            if from_table[register(word)]:
                changed[at] = word & ~OPCODE_BITS | CALL
        elif operation in SOURCES:
            from_table[register(word)] = everywhere or SOURCES[operation]
    return changed


class TooManyParametersError(Exception):
    """A function cannot be called safely; its argument is the line where it begins."""


TOO_MANY: Final = b"line %%d: more than %d parameter before '...'" % MOST_FIXED_PARAMETERS
"""What scripts are told of it, with the line to be filled in."""


class Walker:
    """Goes through a chunk, changing instructions in place."""

    def __init__(self, chunk: bytes, *, is_trusted: bool) -> None:
        self._is_trusted = is_trusted
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

    def function(self, *, is_main: bool = False) -> None:
        """One function and those inside it."""
        self.skip_string()
        line = self.integer()
        self.integer()
        _upvalues, parameters, varargs, _stack = self.chunk[self.at : self.at + 4]
        self.at += 4
        if varargs and parameters > self._most:
            raise TooManyParametersError(line)
        self.code(is_main=is_main)
        self.constants()
        for _ in range(self.integer()):
            self.function()
        self.debugging()

    def code(self, *, is_main: bool) -> None:
        end = self.at + self._int.size + 4 * self.integer_ahead()
        self.at += self._int.size
        code = array("I", bytes(self.chunk[self.at : end]))
        if self._swapped:
            code.byteswap()
        if any(word & OPCODE_BITS == TAIL_CALL for word in code):
            code = without_tail_calls(code, everywhere=is_main or self._is_trusted)
            if self._swapped:
                code.byteswap()
            self.chunk[self.at : end] = code.tobytes()
        self.at = end

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
    walker.function(is_main=True)
    return bytes(walker.chunk)
