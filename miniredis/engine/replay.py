"""Replay: what effects did before is done again, when a server starts with the data that it had.

No client is there: no reply is kept, and statistics, slow log and effects take no part. Time stands still, as
in a Redis that loads: a key whose time has come goes when the effect comes that says so, or after the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from .errors import CommandError
from .gate import look_up
from .registry import PLAIN, Command
from .requests import FastLane, RequestParser
from .session import Session

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["NEVER", "Replay", "UnknownCommandError"]

NEVER: Final = 0
"""The wall time of a replay: before every deadline."""


class UnknownCommandError(Exception):
    """No effect of a server that has the same commands as this one; the text is what Redis logs.

    Attributes:
        undone: the effects that were to be run after it.
    """

    def __init__(self, name: bytes) -> None:
        super().__init__(f"Unknown command '{name.decode('latin-1')}'")
        self.undone: list[list[bytes]] = []


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
        engine.keyspace.milliseconds = NEVER

    @property
    def transaction(self) -> list[list[bytes]] | None:
        """The effects behind a MULTI whose EXEC has not come, none of them done yet; None without a MULTI."""
        return self._queued

    def abandon_transaction(self) -> None:
        """Forgets a MULTI whose EXEC did not come."""
        self._queued = None

    def run(self, effects: Iterable[list[bytes]]) -> None:
        """Does again what some effects did.

        Raises:
            UnknownCommandError: there is no such command.
        """
        session, rest = self._session, iter(effects)
        try:
            for args in rest:
                command = PLAIN.get(args[0])
                if command is None or self._queued is not None:
                    self._run_other(args)
                else:
                    self._handle(command, args)
        except UnknownCommandError as error:
            error.undone = list(rest)
            raise
        if session.outgoing:
            session.drop_output()

    def _run_other(self, effect: list[bytes]) -> None:
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
            raise UnknownCommandError(args[0])
        self._handle(command, args)

    def _handle(self, command: Command, args: list[bytes]) -> None:
        if command.least <= len(args) <= command.most:
            try:  # noqa: SIM105  (suppress() takes as long as some commands)
                command.handler(self._session, args)  # type: ignore[misc]  # no container comes here
            except CommandError:
                pass  # it was one when it was new, and changed as much

    def end(self) -> None:
        """All effects are done: time goes on, and nothing has changed since the start."""
        engine, keyspace = self._engine, self._engine.keyspace
        keyspace.milliseconds = now = engine.now.milliseconds
        keyspace.changes = 0
        keyspace.reset_statistics()
        for db in keyspace.databases:
            db.used = dict.fromkeys(db.values, now)
        engine.outbox.pop(self._session, None)
