"""Effects: what commands did, as commands that do the same again wherever they are run, in Redis's words.

Redis writes these to its append-only file and sends them to its replicas. Most commands are their own effect;
``propagation.py`` has those that are not. Nothing is recorded while there is no ``EffectReader``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from .changes import Change
from .errors import CommandError
from .propagation import FORCED, PROPAGATED_AS, Done
from .replies import NO_REPLY

if TYPE_CHECKING:
    from .keyspace import Keyspace
    from .registry import Command, Handler
    from .replies import Reply
    from .session import Session

__all__ = ["Effect", "EffectReader", "Effects"]

Effect = list[bytes]
"""A command, its name first."""

OF_OTHERS: Final = frozenset(b"exec eval eval_ro evalsha evalsha_ro fcall fcall_ro".split())
"""Commands that run others, whose effects are theirs."""


MESSAGES: Final = frozenset((b"publish", b"spublish"))
"""Commands that change no data, and that replicas hear of: their clients listen, too."""


MEETS_ANY_KEY: Final = frozenset((b"scan", b"randomkey"))
"""Commands that remove the expired keys they meet, each by itself, as time does."""


class Step(NamedTuple):
    """One effect.

    Attributes:
        database: the index of the database it is for.
        effect: the command.
        is_message: it changes no data.
    """

    database: int
    effect: Effect
    is_message: bool = False


class EffectReader:
    """Who wants the effects: the append-only file, or the replicas. Each is told its databases by itself.

    Args:
        write: takes the next command.
        hears_messages: whether it wants messages to channels, too.

    Attributes:
        selected: the database of the last effect; None if the next one must name its own.
    """

    def __init__(self, write: Callable[[Effect], None], *, hears_messages: bool = False) -> None:
        self._write = write
        self.hears_messages = hears_messages
        self.selected: int | None = None

    def take(self, unit: list[Step]) -> None:
        """Takes what belongs together."""
        if len(unit) == 1 and unit[0].is_message and not self.hears_messages:
            return
        write = self._write
        self._select(unit[0].database)
        if len(unit) > 1:
            write([b"MULTI"])
        for database, effect, is_message in unit:
            if self.hears_messages or not is_message:
                self._select(database)
                write(effect)
        if len(unit) > 1:
            write([b"EXEC"])

    def _select(self, database: int) -> None:
        if database != self.selected:
            self.selected = database
            self._write([b"SELECT", b"%d" % database])


class Effects:
    """Records the effects of one server, as long as anybody reads them.

    A unit is what nothing can come between: a command with all that it ran, or what a blocked client got. If
    it has more than one effect, these are wrapped in MULTI and EXEC.

    Args:
        keyspace: where the changes are.
    """

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace
        self._readers: list[EffectReader] = []
        self._hears_messages = False
        self._unit: list[Step] = []
        self._runs = False  # a command, and what it runs belongs to it

    def add_reader(self, reader: EffectReader) -> None:
        """Lets a reader have the effects from now on."""
        if not self._readers:
            self._keyspace.listen(self._hear)
        if reader not in self._readers:
            self._readers.append(reader)
        self._hears_messages = any(each.hears_messages for each in self._readers)

    def remove_reader(self, reader: EffectReader) -> None:
        """Tells a reader no more; the last one ends the recording."""
        if reader not in self._readers:
            return
        self._readers.remove(reader)
        self._hears_messages = any(each.hears_messages for each in self._readers)
        if not self._readers:
            self._keyspace.unlisten(self._hear)
            self._unit.clear()

    def __bool__(self) -> bool:
        return bool(self._readers)

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
        if self._hears_messages and command.name in MESSAGES:
            self._unit.append(Step(session.db.index, args, is_message=True))
        if is_outermost:
            self._runs = False
            self.close_unit(is_atomic=command.name not in MEETS_ANY_KEY)
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
        self._unit += [Step(session.db.index, effect) for effect in effects]

    def add(self, database: int, effect: Effect) -> None:
        """The command that runs tells an effect itself."""
        self._unit.append(Step(database, effect))

    def _hear(self, change: Change) -> None:
        """What no command asked for is an effect, too: a key whose time has come, and ``Engine.reset``."""
        if change.event == "expired" and change.key is not None:
            self._unit.append(Step(change.database, [b"DEL", change.key]))
        elif change.event == "flush" and not self._runs:
            self._unit.append(Step(0, [b"FLUSHALL"]))

    def fail(self) -> None:
        """A command of ours failed unexpectedly: what it has done by then is done."""
        self._runs = False
        self.close_unit()

    def close_unit(self, *, is_atomic: bool = True) -> None:
        """Nothing more belongs to what was done, which need not happen at once if it is not atomic."""
        if self._unit:
            unit, self._unit = self._unit, []
            for part in [unit] if is_atomic else [[step] for step in unit]:
                for reader in self._readers:
                    reader.take(part)
