"""The session of a master: its stream of effects is the commands of a client that must be obeyed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..client_flags import EXECUTING, IN_MULTI, MASTER, REPLIES_OFF
from ..requests import FastLane, RequestParser, size_of
from ..session import Session

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["MasterSession"]

LONGEST: Final = 1 << 62
"""No argument is too long: the master has taken it."""


class MasterSession(Session):
    """Runs the stream, and counts its bytes.

    Args:
        engine: the replica.
        number: the client's.
        offset: how many bytes of the stream had been applied before.

    Attributes:
        applied: how many bytes of the stream have been applied; a transaction is, once it is over.
        received: how many have come.
        has_failed: the stream cannot be read any further, or what it did is not known.
    """

    __slots__ = ("_begun_at", "_unapplied", "applied", "has_failed", "received")
    must_obey = True

    def __init__(self, engine: Engine, number: int, offset: int) -> None:
        super().__init__(engine, number, RequestParser(FastLane(), lambda: LONGEST), engine.now)
        self.flags = MASTER | REPLIES_OFF
        self.applied = self.received = offset
        self.has_failed = False
        self._unapplied = bytearray()
        self._begun_at = 0  # where the transaction that is open began

    def feed(self, data: bytes) -> None:
        """Takes bytes of the stream, which the engine is to run."""
        self.received += len(data)
        self._unapplied += data
        self.parser.feed(data)

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
