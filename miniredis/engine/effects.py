"""Effects: what commands did, as commands that do the same again wherever they are run, in Redis's words.

Redis writes these to its append-only file and sends them to its replicas. Most commands are their own effect;
``propagation.py`` has those that are not. Nothing is collected until ``Engine.record_effects`` asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from .changes import Change
from .errors import CommandError
from .propagation import FORCED, PROPAGATED_AS, Done
from .replies import NO_REPLY

if TYPE_CHECKING:
    from .keyspace import Keyspace
    from .registry import Command, Handler
    from .replies import Reply
    from .session import Session

__all__ = ["Effect", "Effects"]

Effect = list[bytes]
"""A command, its name first."""

OF_OTHERS: Final = frozenset(b"exec eval eval_ro evalsha evalsha_ro fcall fcall_ro".split())
"""Commands that run others, whose effects are theirs."""


class Effects:
    """Collects the effects of one server.

    A unit is what nothing can come between: a command with all that it ran, or what a blocked client got. If
    it has more than one effect, these are wrapped in MULTI and EXEC.

    Args:
        keyspace: where the changes are.
    """

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace
        self._stream: list[Effect] = []
        self._unit: list[tuple[int, Effect]] = []  # each with its database
        self._selected: int | None = None
        self._runs = False  # a command, and what it runs belongs to it

    def take(self) -> list[Effect]:
        """What there is since the last time; it is the caller's from now on."""
        taken, self._stream = self._stream, []
        return taken

    # What the executor tells

    def record(self, session: Session, command: Command, args: list[bytes], run: Handler) -> Reply:
        """Runs a command, or lets a client that was blocked in it go on, and keeps what that did."""
        before, is_outermost, self._runs = self._keyspace.changes, not self._runs, True
        reply: Reply | CommandError
        try:
            reply = run(session, args)
        except CommandError as error:
            reply = error
        waits = reply is NO_REPLY and session.waiter is not None
        is_forced = command.name in FORCED and not isinstance(reply, CommandError)
        has_changed = self._keyspace.changes != before or is_forced
        if has_changed and not waits and command.name not in OF_OTHERS:
            self._add(session, command, args, reply)
        if is_outermost:
            self._runs = False
            self.close_unit()
        if isinstance(reply, CommandError):
            raise reply
        return reply

    def _add(
        self, session: Session, command: Command, args: list[bytes], reply: Reply | CommandError
    ) -> None:
        propagate = PROPAGATED_AS.get(command.name)
        if propagate is None:
            effects: Iterable[Effect] = [args]
        else:
            effects = propagate(Done(session.db, args, reply))
        self._unit += [(session.db.index, effect) for effect in effects]

    def add(self, database: int, effect: Effect) -> None:
        """The command that runs tells an effect itself."""
        self._unit.append((database, effect))

    def hear(self, change: Change) -> None:
        """What no command asked for is an effect, too: a key whose time has come, and ``Engine.reset``."""
        if change.event == "expired" and change.key is not None:
            self._unit.append((change.database, [b"DEL", change.key]))
        elif change.event == "flush" and not self._runs:
            self._unit.append((0, [b"FLUSHALL"]))

    def fail(self) -> None:
        """A command of ours failed unexpectedly: what it has done by then is done."""
        self._runs = False
        self.close_unit()

    def close_unit(self) -> None:
        """Nothing more belongs to what was done."""
        unit, self._unit = self._unit, []
        if not unit:
            return
        self._select(unit[0][0])
        if len(unit) > 1:
            self._stream.append([b"MULTI"])
        for database, effect in unit:
            self._select(database)
            self._stream.append(effect)
        if len(unit) > 1:
            self._stream.append([b"EXEC"])

    def forget_database(self) -> None:
        """What comes next is read by itself."""
        self._selected = None

    def _select(self, database: int) -> None:
        if database != self._selected:
            self._selected = database
            self._stream.append([b"SELECT", b"%d" % database])
