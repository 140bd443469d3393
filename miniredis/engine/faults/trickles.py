"""Output that goes out a few bytes at a time, by the server's clock: a fault on demand.

The rest waits in the session, so that all order is kept, and counts for ``client-output-buffer-limit``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..clients.client_flags import CLOSING, TRICKLES
from ..protocol.replies import joined

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..engine import Engine
    from ..protocol.replies import Output

__all__ = ["Trickles"]


@dataclass(slots=True)
class TrickledOutput:
    """How the output of one client goes out.

    Attributes:
        size: the bytes of a piece.
        every: microseconds between two pieces.
        lasts: whether it goes on when all is sent.
        due: when the next piece may go; monotonic microseconds.
    """

    size: int
    every: int
    lasts: bool
    due: int


class Trickles:
    """The clients of one engine whose output trickles.

    Attributes:
        clients: how the output of each goes out.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.clients: dict[Session, TrickledOutput] = {}

    def begin(self, session: Session, size: int, every: int, *, lasts: bool) -> None:
        """From now on, a client gets so many bytes every so many microseconds; the first ones at once."""
        session.flags |= TRICKLES
        self.clients[session] = TrickledOutput(size, every, lasts, self._engine.now.monotonic)
        self._engine.timers.consider_rare_work()

    def take(self, session: Session) -> Output:
        """The bytes that may be sent to a client now."""
        trickle, now = self.clients[session], self._engine.now
        output = bytes(joined(session.outgoing))
        if session.flags & CLOSING:
            self.forget(session)
            size = len(output)
        else:
            size = trickle.size if now.monotonic >= trickle.due else 0
        if size and output:
            trickle.due = now.monotonic + trickle.every
        rest = output[size:]
        session.outgoing[:] = [rest] if rest else []
        if not rest and not trickle.lasts:
            self.forget(session)
        elif self._engine.output_limits.is_too_long(session, len(rest), now):
            self._engine.hang_up(session)
        return output[:size]

    def next_deadline(self) -> int | None:
        """When more can be sent, in monotonic microseconds; None if nothing waits."""
        return min((each.due for client, each in self.clients.items() if client.outgoing), default=None)

    def due(self, monotonic: int) -> Iterator[Session]:
        """The clients to whom more can be sent."""
        for client, trickle in self.clients.items():
            if client.outgoing and trickle.due <= monotonic:
                yield client

    def forget(self, session: Session) -> None:
        """A client is gone, or gets all again."""
        if self.clients.pop(session, None) is not None:
            session.flags &= ~TRICKLES
            self._engine.timers.consider_rare_work()
