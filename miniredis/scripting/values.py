"""Converts replies of commands to Lua values.

Lua has no type for a status, an error or a map: each becomes a table with one field that names its type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..engine.protocol.errors import CommandError, one_line
from ..engine.protocol.replies import (
    DoubleText,
    Encoded,
    Entries,
    Map,
    NestedMap,
    NullArray,
    Pairs,
    PlainText,
    Set,
    Verbatim,
    double_text,
)

__all__ = ["ERROR", "SLOT", "STATUS", "Converter", "lua_size"]

STATUS: Final = 1
ERROR: Final = 2

TEXT: Final = frozenset({bytes})
SAME: Final = frozenset({bytes, int})
"""The types of values that are passed to Lua as they are."""

NewTable: TypeAlias = Callable[[Any], Any]
LuaValue: TypeAlias = Any

SLOT: Final = 80
"""An upper bound for the bytes of a Lua value besides its text: a slot of a table, and a string's header."""


def lua_size(value: Any) -> int:
    """An estimate of a reply's size in Lua in bytes, rather too high than too low."""
    if isinstance(value, (bytes, bytearray)):
        return SLOT + len(value)
    if isinstance(value, dict):
        return SLOT + sum(lua_size(key) + lua_size(each) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        if TEXT.issuperset(map(type, value)):
            return SLOT * (2 + len(value)) + sum(map(len, value))
        return 2 * SLOT + sum(map(lua_size, value))
    return SLOT + len(value.message) if isinstance(value, CommandError) else SLOT


class Converter:
    """Converts replies to Lua values.

    Args:
        new_table: makes a Lua table from a list or a dict.

    Attributes:
        resp: the version of the protocol, 2 or 3, that ``redis.setresp`` chose for replies of commands.
    """

    def __init__(self, new_table: NewTable) -> None:
        self._new_table = new_table
        self.resp = 2
        self._makers = {2: self._makers2(), 3: self._makers3()}

    def top(self, reply: Any) -> LuaValue:
        """The result of ``redis.call``: a value, or a pair of a text and ``STATUS`` or ``ERROR``."""
        kind = type(reply)
        if kind is bytes or kind is int:
            return reply
        if kind is Encoded:
            return bytes(reply[1:-2]), STATUS
        if kind is CommandError:
            return one_line(reply.message), ERROR
        return self.inner(reply)

    def inner(self, value: Any) -> LuaValue:
        """The Lua value of a reply, or of a part of one."""
        kind = type(value)
        if kind is bytes or kind is int:
            return value
        return self._makers[self.resp][kind](value)

    def table(self, values: Any) -> LuaValue:
        """The Lua table of an array."""
        if SAME.issuperset(map(type, values)):
            return self._new_table(values)
        return self._new_table([self.inner(value) for value in values])

    def _named(self, name: bytes, value: LuaValue) -> LuaValue:
        return self._new_table({name: value})

    def _flat(self, pairs: Any) -> LuaValue:
        return self._new_table([self.inner(part) for pair in pairs for part in pair])

    def _map(self, pairs: Any) -> LuaValue:
        values = {self.inner(key): self.inner(each) for key, each in pairs}
        return self._named(b"map", self._new_table(values))

    def _verbatim(self, text: bytes) -> LuaValue:
        return self._named(b"verbatim_string", self._new_table({b"format": b"txt", b"string": bytes(text)}))

    def _common(self) -> dict[type, Callable[[Any], LuaValue]]:
        return {
            Encoded: lambda text: self._named(b"ok", bytes(text[1:-2])),
            CommandError: lambda error: self._named(b"err", one_line(error.message)),
            bytearray: bytes,
            PlainText: bytes,
            list: self.table,
            Entries: self.table,
        }

    def _makers2(self) -> dict[type, Callable[[Any], LuaValue]]:
        return self._common() | {
            type(None): lambda _: False,
            NullArray: lambda _: False,
            float: double_text,
            DoubleText: bytes,
            Verbatim: bytes,
            Map: lambda pairs: self._flat(pairs.items()),
            NestedMap: lambda pairs: self.table([list(pair) for pair in pairs]),
            Pairs: self._flat,
            Set: self.table,
        }

    def _makers3(self) -> dict[type, Callable[[Any], LuaValue]]:
        return self._common() | {
            type(None): lambda _: None,
            NullArray: lambda _: None,
            float: lambda value: self._named(b"double", value),
            DoubleText: lambda text: self._named(b"double", float(text)),
            Verbatim: self._verbatim,
            Map: lambda pairs: self._map(pairs.items()),
            NestedMap: self._map,
            Pairs: lambda pairs: self.table([list(pair) for pair in pairs]),
            Set: lambda values: self._named(
                b"set", self._new_table({self.inner(value): True for value in values})
            ),
        }
