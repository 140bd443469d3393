"""Replay: what effects did before is done again, when a server starts with the data that it had.

No client is there: no reply is kept, and statistics, slow log and effects take no part. Time stands still, as
in a Redis that loads: a key whose time has come goes when the effect comes that says so, or after the end.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from .errors import CommandError
from .gate import look_up
from .registry import Command
from .requests import FastLane, RequestParser
from .session import Session

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["Replay", "UnknownCommandError"]

NEVER: Final = 0
"""The wall time of a replay: before every deadline."""


class UnknownCommandError(Exception):
    """No effect of a server that has the same commands as this one; the text is what Redis logs."""


class ReplaySession(Session):
    """Stands for whoever sent the commands when they were new."""

    __slots__ = ()
    must_obey = True

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, 0, RequestParser(FastLane(), lambda: 0, lambda: False), engine.now)
        self.flags = 0

    @property
    def may_block(self) -> bool:
        """A command that would block answers as if its time were over."""
        return False


class Replay:
    """Runs effects on an engine that nobody uses yet.

    Args:
        engine: keeps what it has; the effects come on top.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._session = ReplaySession(engine)
        self._queued: list[list[bytes]] | None = None  # behind a MULTI whose EXEC has not come
        self._time, engine.keyspace.milliseconds = engine.keyspace.milliseconds, NEVER

    @property
    def is_in_transaction(self) -> bool:
        """Whether a MULTI is open: then nothing behind it has been done."""
        return self._queued is not None

    def abandon_transaction(self) -> None:
        """Forgets a MULTI whose EXEC did not come."""
        self._queued = None

    def run(self, effect: list[bytes]) -> None:
        """Does again what an effect did.

        Raises:
            UnknownCommandError: there is no such command.
        """
        name = effect[0].lower()
        if name == b"multi":
            self._queued = []
        elif name == b"exec":
            queued, self._queued = self._queued or [], None
            for each in queued:
                self._do(each)
        elif self._queued is not None:
            self._queued.append(effect)
        else:
            self._do(effect)

    def _do(self, args: list[bytes]) -> None:
        command = look_up(args)
        if command is None or command.handler is None:
            raise UnknownCommandError(f"Unknown command '{args[0].decode('latin-1')}'")
        if command.least <= len(args) <= command.most:
            self._handle(command, args)

    def _handle(self, command: Command, args: list[bytes]) -> None:
        session = self._session
        assert command.handler is not None
        with contextlib.suppress(CommandError):  # it was one when it was new, and changed as much
            command.handler(session, args)
        if session.outgoing:
            session.drop_output()

    def end(self) -> None:
        """All effects are done: time goes on, and nothing has changed since the start."""
        keyspace = self._engine.keyspace
        keyspace.milliseconds = self._time
        keyspace.changes = 0
        keyspace.reset_statistics()
        for db in keyspace.databases:
            db.used = dict.fromkeys(db.values, self._time)
        self._engine.outbox.clear()
