"""Changes bytecode of Lua 5.1 (``string.dump``) so that the sandbox can run it safely.

First, tail calls become calls. A tail call removes the caller from the stack, and the sandbox's functions are
written in Lua: if one fails, the error could not name the caller, as Redis does. But a script's functions may
call each other for ever by tail calls. So in them only tail calls of functions from a table or a global, such
as ``redis.call``, become calls, also where a local variable holds the function. Second, a function with many
fixed parameters and ``...`` is refused: calling it, Lua 5.1.5 writes beyond its stack.

Scripts cannot supply bytecode: all that comes here was compiled by this process's Lua.
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
"""The most fixed parameters besides ``...``.

Each takes two stack slots that Lua does not reserve, and there are two to spare. A parameter that is always
given takes only one slot.
"""

HEADER: Final = 12
OPCODE_BITS: Final = 0x3F
CALL: Final = 28
TAIL_CALL: Final = 29
MOVE, LOAD_NIL, GET_UPVALUE, GET_GLOBAL, GET_TABLE, SELF, CLOSURE = 0, 3, 4, 5, 6, 11, 36
FROM_TABLE: Final = {GET_GLOBAL, GET_TABLE, SELF}
"""Instructions that load a register from a table or a global."""

CONSTANTS: Final = {1, 2, 10, *range(12, 22)}
"""Instructions that put a constant, a new table, or a computed value into a register."""

RESULTS: Final = {CALL, 37}
"""Instructions that put several values into registers: the results of a call, and ``...``."""

REGISTERS: Final = 256
NIL, BOOLEAN, NUMBER, STRING = 0, 1, 3, 4
NUMBER_SIZE: Final = 8
NO_NUL: Final = bytes([1, *range(1, 256)])


def register(word: int) -> int:
    """Operand A of an instruction: for many, the register of the result."""
    return word >> 6 & 0xFF


def operand(word: int) -> int:
    """Operand B of an instruction: here, the register or upvalue that it copies."""
    return word >> 23


class Function(NamedTuple):
    """A function in a chunk.

    Attributes:
        upvalues: the number of its upvalues: variables of enclosing functions.
        code: its instructions.
        place: the offset of the instructions in the chunk.
        inner: the functions defined in it.
    """

    upvalues: int
    code: array[int]
    place: int
    inner: list[Function]


def tail_calls(
    function: Function, upvalues: Sequence[int], *, is_main: bool = False, is_trusted: bool
) -> Iterator[int]:
    """Offsets of the tail calls that must become calls, in a function and in those defined in it.

    Args:
        function: the function.
        upvalues: for each upvalue, whether its value comes from a table.
        is_main: it is the main chunk, which does not call itself: all its tail calls are included.
        is_trusted: all tail calls are included.
    """
    from_table = bytearray(REGISTERS)  # of each register, whether its last value comes from a table
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
    """A function cannot be called safely; the argument is the line where the function begins."""


TOO_MANY: Final = b"line %%d: more than %d parameter before '...'" % MOST_FIXED_PARAMETERS
"""The error message for scripts, with a place for the line."""


class Walker:
    """Reads a chunk, and changes its instructions in place."""

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
        """Reads one function and those defined in it."""
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
        """Changes a tail call to a call."""
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
    """The chunk with another name; the name is the first field behind the header."""
    size = struct.Struct(("<" if chunk[6] else ">") + ("Q" if chunk[8] == NUMBER_SIZE else "I"))
    (length,) = size.unpack_from(chunk, HEADER)
    return b"".join(
        (chunk[:HEADER], size.pack(len(name) + 1), name, b"\0", chunk[HEADER + size.size + length :])
    )


def unlike_others(code: bytes) -> bytes:
    """A chunk name for a text, which makes the hash of its bytecode differ from the hashes of other texts'.

    Lua hashes only every n-th byte of a string, and n grows with the length. Bytecode of similar scripts can
    have the same bytes there. Then Lua would compare each new string with all the others.
    """
    return hashlib.shake_256(code).digest(256).translate(NO_NUL)


def make_safe(chunk: bytes, *, is_trusted: bool = False, name: bytes | None = None) -> bytes:
    """A chunk with the same behaviour that is safe to run.

    Args:
        chunk: the bytecode that Lua compiled.
        name: a new name for the chunk; None keeps its name.
        is_trusted: the chunk is our own. All its tail calls become calls. Its fixed parameters are always
            given, so that there may be twice as many.

    Raises:
        TooManyParametersError: a function in it cannot be made safe.
    """
    walker = Walker(chunk if name is None else named(chunk, name), is_trusted=is_trusted)
    main = walker.function()
    for place in tail_calls(main, (), is_main=True, is_trusted=is_trusted):
        walker.make_call(place)
    return bytes(walker.chunk)
