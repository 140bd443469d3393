"""Effects: what commands did, as commands that do the same again wherever they are run, in Redis's words.

Redis writes these to its append-only file and sends them to its replicas. Most commands are their own effect;
``propagation.py`` has those that are not. Nothing is recorded while there is no ``EffectReader``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from ..declarations.registry import chosen
from ..keyspace.changes import Change
from ..protocol.errors import CommandError
from ..protocol.replies import NO_REPLY, pack
from ..protocol.requests import are_written_as
from .propagation import FORCED, PROPAGATED_AS, Done, as_it_is, propagate_expired

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..declarations.registry import Command, Handler
    from ..keyspace.keyspace import Keyspace
    from ..protocol.replies import Reply
    from ..versions.version import Version

__all__ = ["Effect", "EffectLog", "EffectReader", "Effects"]

Effect: TypeAlias = list[bytes]
"""A command, its name first."""

MESSAGES: Final = frozenset((b"publish", b"spublish"))
"""Commands that change no data, and that replicas hear of: their clients listen, too."""

MEETS_ANY_KEY: Final = frozenset((b"scan", b"randomkey"))
"""Commands that remove the expired keys they meet, each by itself, as time does."""

SPECIAL: Final = MESSAGES | MEETS_ANY_KEY | FORCED | PROPAGATED_AS.keys()
"""Commands that are not simply their own effect where they changed something."""

EXPIRED: Final = frozenset(("expired", "hexpired", "hexpired del"))
"""The events that tell that the time of a key has come, or of fields of a hash."""

PLAIN_SET: Final = len((b"SET", b"key", b"value"))
"""How many arguments SET has without options: then it is its own effect."""

Step: TypeAlias = tuple[int, Effect, bool]
"""The index of a database, the effect for it, and whether it is a message, which changes no data."""


class EffectReader:
    """Who wants the effects: the append-only file, or the replicas. Each is told its databases by itself.

    Args:
        write: takes the next command.
        hears_messages: whether it wants messages to channels, too.

    Attributes:
        write: takes the next command, behind ``select``.
        selected: the database of the last effect; None if the next one must name its own.
    """

    def __init__(self, write: Callable[[Effect], None], *, hears_messages: bool = False) -> None:
        self.write = write
        self.hears_messages = hears_messages
        self.selected: int | None = None

    def take_unit(self, unit: Sequence[Step]) -> None:
        """Takes what belongs together."""
        is_alone = len(unit) == 1
        if is_alone and unit[0][2] and not self.hears_messages:
            return
        write = self.write
        self.select(unit[0][0])
        if not is_alone:
            write([b"MULTI"])
        for database, effect, is_message in unit:
            if self.hears_messages or not is_message:
                self.select(database)
                write(effect)
        if not is_alone:
            write([b"EXEC"])

    def select(self, database: int) -> None:
        """What follows is for a database."""
        if database != self.selected:
            self.selected = database
            self.write([b"SELECT", b"%d" % database])

    def came_as(self, requests: Sequence[Effect], data: bytes, *, is_exact: bool) -> None:
        """Tells the bytes that requests which were just run were read from; see ``Effects.came_as``."""


class EffectLog(EffectReader):
    """Keeps the effects until somebody takes them, as the bytes of an append-only file.

    Most requests are their own effects: their bytes are kept as they came, and need no packing.
    """

    def __init__(self) -> None:
        self._kept: list[Effect | bytes] = []
        super().__init__(self._kept.append)

    def came_as(self, requests: Sequence[Effect], data: bytes, *, is_exact: bool) -> None:
        """Keeps the bytes in place of the requests, if these were the last effects."""
        kept, count = self._kept, len(requests)
        if count == 1:
            if kept and kept[-1] is requests[0] and (is_exact or are_written_as(requests, data)):
                kept[-1] = data
        elif kept[-count:] == requests and (is_exact or are_written_as(requests, data)):
            kept[-count:] = [data]

    def take(self) -> bytes:
        """The effects since the last time."""
        kept = self._kept
        if not kept:
            return b""
        data = b"".join([each if isinstance(each, bytes) else pack(tuple(each)) for each in kept])
        kept.clear()
        return data


class Effects:
    """Records the effects of one server, as long as anybody reads them.

    A unit is what nothing can come between: a command with all that it ran, or what a blocked client got. If
    it has more than one effect, these are wrapped in MULTI and EXEC.

    Args:
        keyspace: where the changes are.
        version: in whose words they are told.
    """

    def __init__(self, keyspace: Keyspace, version: Version) -> None:
        self._keyspace = keyspace
        self._version = version
        self._propagate_expired = chosen(version, propagate_expired)
        self._readers: list[EffectReader] = []
        self._hears_messages = False
        self._unit: list[Step] = []
        self._is_inside = False  # of a command, and what it runs belongs to it
        keyspace.listeners.append(self._hear)

    def add_reader(self, reader: EffectReader) -> None:
        """Lets a reader have the effects from now on."""
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
            self._unit.clear()

    def __bool__(self) -> bool:
        return bool(self._readers)

    @property
    def is_between_units(self) -> bool:
        """Whether the readers have been told all that was done."""
        return not self._unit and not self._is_inside

    # What the executor tells

    def record(self, session: Session, command: Command, args: list[bytes], run: Handler) -> Reply:
        """Runs a command, or lets a client that was blocked in it go on, and keeps what that did.

        This is the fast path, for commands that are their own effect, as most are.
        """
        if command.name in SPECIAL and (len(args) != PLAIN_SET or command.name != b"set"):
            return self._record_special(session, command, args, run)
        keyspace = self._keyspace
        before = keyspace.changes
        failure: CommandError | None = None
        reply: Reply
        try:
            reply = run(session, args)
        except CommandError as error:
            reply = failure = error
        is_effect = keyspace.changes != before and (reply is not NO_REPLY or session.waiter is None)
        if self._unit or self._is_inside:
            if is_effect:
                self.add(session.db.index, args)
            if not self._is_inside:
                self.close_unit()
        elif is_effect:
            index = session.db.index
            for reader in self._readers:
                if index != reader.selected:
                    reader.select(index)
                reader.write(args)
        if failure is not None:
            raise failure
        return reply

    def _record_special(self, session: Session, command: Command, args: list[bytes], run: Handler) -> Reply:
        """Records a command that is propagated as others, or always, or that runs others."""
        keyspace, was_inside = self._keyspace, self._is_inside
        before, self._is_inside = keyspace.changes, True
        failure: CommandError | None = None
        reply: Reply
        try:
            reply = run(session, args)
        except CommandError as error:
            reply = failure = error
        waits = reply is NO_REPLY and session.waiter is not None  # what it waits for is recorded then
        if command.name in MESSAGES:
            if self._hears_messages:
                self._unit.append((session.db.index, args, True))
        elif (keyspace.changes != before and not waits) or (command.name in FORCED and failure is None):
            propagate = chosen(self._version, PROPAGATED_AS.get(command.name, as_it_is))
            for effect in propagate(Done(session.db, args, reply)):
                self.add(session.db.index, effect)
        self._is_inside = was_inside
        if not was_inside:
            self.close_unit(is_atomic=command.name not in MEETS_ANY_KEY)
        if failure is not None:
            raise failure
        return reply

    def came_as(self, requests: Sequence[Effect], data: bytes, *, is_exact: bool) -> None:
        """Tells the readers which bytes the requests were read from that were just run.

        Args:
            requests: one or more, all of one client, with nothing between them.
            data: their bytes.
            is_exact: it is known that Redis would write the requests as these bytes.
        """
        for reader in self._readers:
            reader.came_as(requests, data, is_exact=is_exact)

    def add(self, database: int, effect: Effect) -> None:
        """The command that runs tells an effect itself, or what is done is no command: ``Engine.reset``."""
        self._unit.append((database, effect, False))

    def _hear(self, change: Change) -> None:
        """That the time of a key has come is an effect, too, which no command asked for."""
        if change.event in EXPIRED and self._readers:
            for effect in self._propagate_expired(change):
                self.add(change.database, effect)

    def fail(self) -> None:
        """A command of ours failed unexpectedly: what it has done by then is done."""
        self._is_inside = False
        self.close_unit()

    def close_unit(self, *, is_atomic: bool = True) -> None:
        """Nothing more belongs to what was done, which need not happen at once if it is not atomic."""
        if self._unit:
            unit, self._unit = self._unit, []
            for part in [unit] if is_atomic else [[step] for step in unit]:
                for reader in self._readers:
                    reader.take_unit(part)
