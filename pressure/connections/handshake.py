"""The first commands of a new connection: login, protocol, database, name, and the commands of a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import hiredis

from pressure.connections.discovery import ServerQuery
from pressure.connections.settings import Settings
from pressure.errors import ServerReplyError
from pressure.protocol.operation import Command, Reply

_pack: Final[Callable[[Any], bytes]] = hiredis.pack_command


class Handshake:
    """The first commands of a connection, in one round trip.

    Args:
        query: The server, and the commands for it.
        name: The connection's name (CLIENT SETNAME).

    Attributes:
        data: The commands as they are sent.
        count: How many replies there are.
    """

    __slots__ = ("_words", "count", "data")

    def __init__(self, query: ServerQuery, name: bytes) -> None:
        words = (*_login(query.where), (b"CLIENT", b"SETNAME", name))
        self._words = len(words)
        self.count = len(words) + len(query.ask)
        self.data = b"".join(map(_pack, (*words, *query.ask)))

    def answers(self, replies: Sequence[Reply]) -> list[Reply]:
        """The replies to the commands of the query.

        Raises:
            ServerReplyError: The server refused the login.
        """
        for reply in replies[: self._words]:
            if isinstance(reply, ServerReplyError):
                raise reply
        return list(replies[self._words :])


def _login(where: Settings) -> list[Command]:
    """AUTH or HELLO, and SELECT, as the settings say."""
    settings = where.kwargs
    who: tuple[bytes, ...] = ()
    if provider := settings.get("credential_provider"):
        who = tuple(map(_encoded, provider.get_credentials()))
    elif settings.get("username") or settings.get("password"):
        words = (settings.get("username"), settings.get("password"))
        who = tuple(_encoded(word) for word in words if word is not None)
    commands: list[Command] = []
    if int(settings.get("protocol") or 2) == 3:
        login: Command = (b"AUTH", *(b"default", *who)[-2:]) if who else ()
        commands.append((b"HELLO", 3, *login))
    elif who:
        commands.append((b"AUTH", *who))
    if database := settings.get("db"):
        commands.append((b"SELECT", int(database)))
    return commands


def _encoded(word: str | bytes) -> bytes:
    return word.encode() if isinstance(word, str) else bytes(word)
