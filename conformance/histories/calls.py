"""Calls that a server has recorded, as miniredis does in ``server.record()``: as operations to judge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from .model import Operation
from .recorder import ErrorReply, answer_of

__all__ = ["RecordedCall", "operations_of"]

NOT_ABOUT_KEYS: Final = frozenset(
    {b"AUTH", b"CLIENT", b"COMMAND", b"ECHO", b"HELLO", b"INFO", b"PING", b"QUIT"}
)
"""Commands that change no key and tell nothing of any."""


class RecordedCall(Protocol):
    """A request, and its reply.

    Attributes:
        client: whose it is.
        words: the request.
        began: its place among all beginnings and ends of calls.
        reply: the reply's bytes; None if there was none.
        ended: the place of the reply; None if there was none.
    """

    client: str
    words: tuple[bytes, ...]
    began: int
    reply: bytes | None
    ended: int | None


def operations_of(calls: Iterable[RecordedCall]) -> list[Operation]:
    """The calls that are about keys, as operations of a ``History``; one without a reply is open."""
    return [operation_of(call) for call in calls if call.words[0].upper() not in NOT_ABOUT_KEYS]


def operation_of(call: RecordedCall) -> Operation:
    name = call.words[0].upper().decode("latin-1")
    key = call.words[1].decode("utf-8", "backslashreplace") if len(call.words) > 1 else ""
    begun = (call.client, key, name, call.words[2:])
    if call.reply is None:
        return Operation(*begun, None, call.began, None, "open")
    try:
        return Operation(*begun, answer_of(call.reply), call.began, call.ended)
    except ErrorReply as error:
        kind = str(error).partition(" ")[0]
        return Operation(*begun, None, call.began, call.ended, "error", kind)
