"""Requests of the program around the server: no client sends them, and no rule, pause or role refuses them.

Whoever is blocked on the keys, watches or tracks them, or reads effects, hears of them as of a client's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .call import call
from .clients.session import Session
from .protocol.errors import CommandError
from .protocol.requests import FastParser, RequestParser

if TYPE_CHECKING:
    from .engine import Engine
    from .instant import Instant

__all__ = ["run_own"]


class OwnSession(Session):
    """The session in which they run."""

    __slots__ = ()
    must_obey = True

    def __init__(self, engine: Engine, database: int) -> None:
        super().__init__(engine, 0, RequestParser(FastParser(), lambda: 0, lambda: False), engine.now)
        self.flags = 0
        self.db = engine.keyspace.databases[database]


def run_own(engine: Engine, database: int, requests: Iterable[list[bytes]], now: Instant) -> None:
    """Runs requests, and then serves the clients that were blocked on what they changed.

    Raises:
        ValueError: a command refuses its arguments; those before it have run.
    """
    engine.advance(now)
    engine.statistics.start_lap()
    session = OwnSession(engine, database)
    try:
        for args in requests:
            command = engine.commands.look_up(args)
            assert command is not None
            session.last_command = command
            reply = call(engine, session, command, args)
            if type(reply) is CommandError:
                raise ValueError(reply.message.decode(errors="replace"))
    finally:
        engine.serve_ready()
