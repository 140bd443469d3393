"""The Python functions that the Lua files of this package call.

Rules: no script ever holds one of these functions. None raises, because Lua would catch a Python object. None
returns a value for which Lua has no room (see ``memory``). To add one, write a function, and a row in
``Callbacks.functions``.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..engine.numbers.doubles import short_text
from ..engine.protocol.replies import Encoded
from ..engine.scripts import script_errors
from ..engine.scripts.script_interfaces import Caller
from .bytecode import TOO_MANY, TooManyParametersError, make_safe
from .memory import Memory, Need
from .numbers import get_integer, get_real, put_integer, put_real, to_number
from .values import Converter, lua_size

__all__ = ["Callbacks", "digest"]

log = logging.getLogger("miniredis.scripts")
log.addHandler(logging.NullHandler())  # without any handler, Python would print warnings of scripts to stderr

NO_MEMORY: Final = 3
"""A kind of result besides ``STATUS`` and ``ERROR``: the command was not run, or its reply is too large."""

COLLECT: Final = 4
"""Another kind: the command was not run, because Lua must collect garbage first."""

LITTLE: Final = 1024
"""Bytes up to which a reply is not checked for room: the check before the next command counts it."""

REFUSALS: Final = {Need.COLLECTION: COLLECT, Need.ROOM: NO_MEMORY}
LEVELS: Final = (logging.DEBUG, logging.INFO, logging.INFO, logging.WARNING)
INTERNAL: Final = b"ERR internal error"
REASONS: Final = (INTERNAL, script_errors.KILLED_SCRIPT, script_errors.LOAD_TIMEOUT)
"""The errors that end scripts. Lua gets them at the start: later it may have no room for one."""


def as_number(version: str) -> int:
    """A version as one number: two hexadecimal digits for each part."""
    major, minor, patch = map(int, version.split("."))
    return major << 16 | minor << 8 | patch


def digest(script: bytes) -> bytes:
    """The SHA1 of a script in hexadecimal, which is its name for EVALSHA."""
    return hashlib.sha1(script, usedforsecurity=False).hexdigest().encode()


def unpacked(text: bytes, lengths: bytes) -> Iterator[bytes]:
    """The parts of a text, given their lengths with commas in between."""
    at = 0
    for length in map(int, lengths.split(b",")):
        yield text[at : at + length]
        at += length


class Callbacks:
    """The callbacks of one Lua state.

    Args:
        caller: runs the commands that scripts call.
        memory: the memory of the state.
        converter: converts replies to values of the state.

    Attributes:
        fault: an exception that a callback raised. The script ends, and then ``LuaInterpreter`` raises it.
    """

    def __init__(self, caller: Caller, memory: Memory, converter: Converter) -> None:
        self._caller = caller
        self._memory = memory
        self._converter = converter
        self.fault: BaseException | None = None

    def functions(self) -> dict[bytes, object]:
        """The callbacks and a few values, by their names in Lua."""
        functions: dict[bytes, Callable[..., Any]] = {
            b"sha1hex": digest,
            b"log": self._log,
            b"set_resp": self._set_resp,
            b"acl_check": lambda *words: self._caller.is_allowed([w for w in words if w is not None]),
            b"count_error": self._caller.count_error,
            b"band": lambda one, other: one & other,
            b"put_integer": put_integer,
            b"get_integer": get_integer,
            b"put_real": put_real,
            b"get_real": get_real,
            b"to_number": to_number,
            b"short_text": lambda number: short_text(float(number)),
            b"lift_limit": self._memory.end,
            b"make_room": self._memory.make_room_for_result,
            b"collected": self._memory.collected,
            b"patch": self._patch,
            b"interrupt": self._interrupt,
        }
        version = self._caller.version
        return {name: self._contained(function) for name, function in functions.items()} | {
            b"call": self._call,
            b"call_packed": self._call_packed,
            b"no_memory": script_errors.NO_MEMORY,
            b"no_words": self._caller.no_words,
            b"bad_words": self._caller.bad_words,
            b"too_many_parameters": TOO_MANY,
            b"version": version.encode(),
            b"version_number": as_number(version),
            b"valkey": self._caller.valkey.encode(),
            b"valkey_number": as_number(self._caller.valkey or "0.0.0"),
        }

    def _log(self, level: int, text: bytes) -> None:
        if self._caller.logs(level):
            log.log(LEVELS[level], "%s", text.decode("utf-8", "replace"))

    def _contained(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a function: returns None where it raises, or where Lua has no room for its result."""

        def contained(*arguments: Any) -> Any:
            try:
                value = function(*arguments)
            except BaseException as fault:
                self.fault = fault
                return None
            if type(value) is bytes and not self._memory.has_room(len(value)):
                return None
            return value

        return contained

    # Commands

    def _call(self, *words: bytes) -> Any:
        """Runs a command: a value; or a value and its kind: ``STATUS``, ``ERROR`` and so on."""
        memory = self._memory
        try:
            if self.fault is not None:
                return None, NO_MEMORY
            if (need := memory.before_command()) is not None:
                return None, REFUSALS[need]
            reply = self._caller.call(list(words))
            if type(reply) is int or (type(reply) is bytes and len(reply) <= LITTLE):
                return reply
            if reply is not None and not (type(reply) is Encoded and len(reply) <= LITTLE):
                size = lua_size(reply)
                if not memory.make_room(size, must=False):
                    if not self._caller.writes(list(words)):
                        return None, NO_MEMORY
                    memory.make_room(size, must=True)
            return self._converter.top(reply)
        except BaseException as fault:
            self.fault = fault
            return None, NO_MEMORY

    def _call_packed(self, text: bytes, lengths: bytes) -> Any:
        """As ``_call``, with all words in one text, and their lengths."""
        return self._call(*unpacked(text, lengths))

    def _set_resp(self, version: int) -> None:
        self._converter.resp = version

    # The script itself

    def _interrupt(self) -> int | None:
        """The number, from 1, of the reason in ``REASONS`` to end the script; None if it may go on."""
        reason = INTERNAL if self.fault else self._caller.interrupt()
        return None if reason is None else REASONS.index(reason) + 1

    def _patch(self, chunk: bytes) -> Any:
        """The bytecode made safe; or None, and the line of a function that cannot be made safe."""
        try:
            return make_safe(chunk)
        except TooManyParametersError as error:
            return None, error.args[0]
