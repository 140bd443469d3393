"""Replay: runs the effects of an append-only file again when a server starts.

There is no client: replies are dropped, and nothing is added to statistics, the slow log or the effects. Time
stands still, as while Redis loads: an expired key is deleted by the effect that deletes it, or after the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ..clients.session import Session
from ..protocol.errors import CommandError
from ..protocol.requests import FastParser, RequestParser
from .shortcuts import SHORTCUTS

if TYPE_CHECKING:
    from ..declarations.registry import Command
    from ..engine import Engine

__all__ = ["NEVER", "BadEffectError", "Replay"]

NEVER: Final = 0
"""The wall time of a replay: before every deadline."""


NEVER_FAIL: Final = {b"restore", b"function|load"}
"""Commands that are effects only if they have succeeded: an error says that the file is damaged."""


class BadEffectError(Exception):
    """An effect that this server cannot have had: the text says why.

    Attributes:
        undone: the effects after it, which have not run.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.undone: list[list[bytes]] = []


class ReplaySession(Session):
    """The session in which effects run."""

    __slots__ = ()
    must_obey = True

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, 0, RequestParser(FastParser(), lambda: 0, lambda: False), engine.now)
        self.flags = 0

    @property
    def may_block(self) -> bool:
        """Always False: a command that would block replies as if it had timed out."""
        return False


class Replay:
    """Runs effects on an engine that serves no client yet.

    Args:
        engine: keeps its data; the effects change them.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._session = ReplaySession(engine)
        self._queued: list[list[bytes]] | None = None  # effects of an incomplete transaction
        engine.keyspace.milliseconds = NEVER

    @property
    def transaction(self) -> list[list[bytes]] | None:
        """The effects after a MULTI without its EXEC, none of which has run; None without such a MULTI."""
        return self._queued

    def abandon_transaction(self) -> None:
        """Drops a transaction without its EXEC."""
        self._queued = None

    def run(self, effects: Iterable[list[bytes]]) -> None:
        """Runs effects.

        Raises:
            BadEffectError: a command is unknown, or fails that never did.
        """
        session, rest, plain = self._session, iter(effects), self._engine.commands.plain
        shortcuts = {} if self._engine.keyspace.is_observed else SHORTCUTS
        try:
            for args in rest:
                command = plain.get(args[0])
                if command is None or self._queued is not None:
                    self._run_other(args)
                else:
                    if not command.least <= len(args) <= command.most:
                        refuse_count(command, args)
                    shortcut = shortcuts.get(command.name)
                    if (
                        shortcut is not None
                        and args[1] not in session.db.deadlines
                        and shortcut(session, args)
                    ):
                        continue
                    try:
                        command.handler(session, args)  # type: ignore[misc]  # no container comes here
                    except CommandError as error:
                        check_may_fail(command, error)
        except BadEffectError as error:
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
        command = self._engine.commands.look_up(args)
        if command is None or command.handler is None:
            raise BadEffectError(f"Unknown command '{args[0].decode('latin-1')}'")
        if not command.least <= len(args) <= command.most:
            refuse_count(command, args)
        try:
            command.handler(self._session, args)
        except CommandError as error:
            check_may_fail(command, error)

    def end(self) -> None:
        """Ends the replay: restarts time and resets the counters."""
        engine, keyspace = self._engine, self._engine.keyspace
        keyspace.milliseconds = now = engine.now.milliseconds
        keyspace.changes = 0
        keyspace.reset_statistics()
        for db in keyspace.databases:
            db.used = dict.fromkeys(db.values, now)
        engine.outbox.pop(self._session, None)


def refuse_count(command: Command, args: list[bytes]) -> None:
    raise BadEffectError(f"{command.name.decode()} cannot have {len(args) - 1} arguments")


def check_may_fail(command: Command, error: CommandError) -> None:
    """Most errors are those that there were when the effect was new, and it changes as much as then."""
    if command.name in NEVER_FAIL:
        raise BadEffectError(f"{command.name.decode()}: {error.message.decode('latin-1')}") from None
