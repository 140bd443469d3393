"""The session of a master: its stream of effects is the commands of a client that must be obeyed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ..clients.client_flags import EXECUTING, IN_MULTI, MASTER, REPLIES_OFF, UNREAD
from ..clients.session import Session
from ..declarations.registry import chosen
from ..effects.replay import NEVER
from ..protocol.errors import ProtocolError
from ..protocol.replies import pack
from ..protocol.requests import FastParser, Request, RequestParser, size_of

if TYPE_CHECKING:
    from ..engine import Engine
    from ..keyspace.keyspace import Database

__all__ = ["MasterSession"]

LONGEST: Final = 1 << 62
"""No argument is too long: the master has taken it."""

INLINE: Final = (
    "Receiving inline protocol from master, master stream corruption? Closing the master connection and "
    "discarding the cached master."
)


def acknowledged(offset: int, synced: int) -> tuple[bytes, ...]:  # noqa: ARG001
    """What a replica says of the offset up to which it has applied the stream."""
    return b"ACK", b"%d" % offset


class StreamParser(RequestParser):
    """Reads the stream of a master, in which a line is no command: the stream is damaged, or out of step.

    Args:
        warn: logs that.
    """

    __slots__ = ("_warn",)

    def __init__(self, warn: Callable[[str], None]) -> None:
        super().__init__(FastParser(), lambda: LONGEST)
        self._warn = warn

    def words_of(self, line: bytes) -> Request:
        """No words: an empty line is a sign of life, and another one a ``ProtocolError``."""
        if line:
            self._warn(INLINE)
            raise ProtocolError(b"Master using the inline protocol. Desync?")
        return []


class MasterSession(Session):
    """Runs the stream, and counts its bytes.

    Args:
        engine: the replica.
        database: the one that the stream is in.
        is_counted: the master said where its stream begins.

    Attributes:
        is_counted: offsets of this stream mean something to the master.
        applied: how many bytes of the stream have been applied; a transaction is, once it is over.
        received: how many have come.
        has_failed: the stream cannot be read any further, or what it did is not known.
    """

    __slots__ = ("_begun_at", "_unapplied", "applied", "has_failed", "is_counted", "received")
    must_obey = True

    def __init__(self, engine: Engine, database: Database, *, is_counted: bool) -> None:
        parser = StreamParser(engine.replication.upstream.link.warn)
        super().__init__(engine, engine.new_number(), parser, engine.now)
        self.flags = MASTER | REPLIES_OFF
        self.db = database
        self.is_counted = is_counted
        self.applied = self.received = engine.replication.history.offset
        self.has_failed = False
        self._unapplied = bytearray()
        self._begun_at = 0  # where the transaction that is open began

    # The stream

    def receive(self, data: bytes) -> None:
        """Takes bytes of the stream, cut anywhere, and runs what is whole in them."""
        self.last_active = self.engine.now
        self.engine.statistics.count_replication_input(len(data))
        self.flags |= UNREAD
        self.received += len(data)
        self._unapplied += data
        self.parser.feed(data)
        self.run_stream()

    def run_stream(self) -> None:
        """Runs what has come, unless something holds it up."""
        if self.flags & UNREAD and self.waiter is None and not self.engine.conditions.busy:
            self.resume()

    def resume(self) -> None:
        """Runs what has come; no key expires for it but by the master's own word."""
        keyspace = self.engine.keyspace
        keyspace.milliseconds = NEVER
        try:
            super().resume()
        finally:
            keyspace.milliseconds = keyspace.wall

    def pass_on(self) -> None:
        """Counts what was applied; replicas of this replica get it as it came."""
        replication = self.engine.replication
        replication.upstream.database = self.db.index
        if applied := self.count():
            replication.replicas.pass_on(applied)

    def acknowledgement(self, before: list[bytes] | None) -> bytes:
        """What tells the master how far this replica is.

        Args:
            before: the command of the master that asks for it, which is not yet applied.
        """
        if not self.is_counted:
            return b""
        offset = self.applied if before is None else self.position_before(before)
        words = chosen(self.engine.version, acknowledged)
        return pack((b"REPLCONF", *words(offset, self.engine.replication.replicas.acks.synced_here)))

    # Its bytes

    def count(self) -> bytes:
        """Counts what was applied since the last time; returns these bytes, as the master sent them."""
        end = self._begun_at if self.flags & IN_MULTI else self._position(self.postponed)
        size = end - self.applied
        self.applied = end
        if size == len(self._unapplied):
            applied, self._unapplied = bytes(self._unapplied), bytearray()
        else:
            applied = bytes(self._unapplied[:size])
            del self._unapplied[:size]
        return applied

    def position_before(self, request: list[bytes]) -> int:
        """Up to where all was applied when the request that runs began."""
        return self._begun_at if self.flags & (IN_MULTI | EXECUTING) else self._position(request)

    def _position(self, request: list[bytes] | None) -> int:
        """Where in the stream the engine is: behind what it has run, of which one request is no part."""
        return self.received - self.parser.unread - (0 if request is None else size_of(request))

    def begin_transaction(self) -> None:
        """MULTI: what follows is applied by EXEC."""
        self._begun_at = self._position([b"MULTI"])
        super().begin_transaction()

    def close(self) -> None:
        """The stream is no sequence of commands: nothing behind this can be understood."""
        self.has_failed = True
        self.engine.hang_up(self)
