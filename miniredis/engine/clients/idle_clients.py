"""The directive ``timeout``: clients that neither send nor get anything for so long are disconnected.

As in Redis, clients that are blocked or subscribed, replicas and masters stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from .client_flags import BLOCKED, MASTER, REPLICA

if TYPE_CHECKING:
    from ..engine import Engine
    from ..instant import Instant
    from .session import Session

__all__ = ["IdleClients"]

SECOND: Final = 1_000_000


class IdleClients:
    """The idle clients of one engine.

    Args:
        engine: whose clients they are.

    Attributes:
        patience: microseconds after which a client is disconnected; 0 for never.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.patience = 0
        self._next_look = 0  # monotonic microseconds; before that, no client has been idle for so long

    def configure(self, seconds: int) -> None:
        """Applies the directive."""
        if seconds * SECOND != self.patience:
            self.patience = seconds * SECOND
            self._next_look = self._engine.now.monotonic
            self._engine.timers.consider_rare_work()

    def next_deadline(self) -> int | None:
        """When to look again, in monotonic microseconds; None if that is not needed."""
        return self._next_look if self.patience and self._engine.sessions else None

    def overdue(self, now: Instant) -> Iterable[Session]:
        """The clients to disconnect now."""
        if not self.patience or now.monotonic < self._next_look:
            return ()
        over, self._next_look = [], now.monotonic + self.patience
        for session in self._engine.sessions.values():
            if session.flags & (BLOCKED | REPLICA | MASTER) or session.subscriptions:
                continue
            due = session.last_active.monotonic + self.patience + 1
            if due <= now.monotonic:
                over.append(session)
            else:
                self._next_look = min(self._next_look, due)
        return over
