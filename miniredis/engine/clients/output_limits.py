"""Clients with too much unread output, by the limits of ``client-output-buffer-limit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .client_flags import GONE, REPLICA

if TYPE_CHECKING:
    from ..instant import Instant
    from .session import Session

__all__ = ["FREE", "OutputBufferLimits", "OutputLimit"]

FREE: Final = 16 * 1024
"""Bytes that every client may leave unread in addition to the limits, as in Redis's static buffer."""


class OutputLimit(NamedTuple):
    """How much output a class of clients may leave unread; 0 bytes are no limit.

    Attributes:
        hard: bytes at which a client is disconnected at once.
        soft: bytes at which a client is disconnected if it stays above them for ``patience``.
        patience: microseconds.
    """

    hard: int
    soft: int
    patience: int

    @classmethod
    def of(cls, directive: str, kind: str) -> OutputLimit:
        """The limit of a class of clients, from the directive's value."""
        words = directive.split(" ")
        at = words.index(kind)
        hard, soft, seconds = map(int, words[at + 1 : at + 4])
        return cls(hard, soft, seconds * 1_000_000)


class OutputBufferLimits:
    """The limits, and the clients that are above the soft limit.

    Attributes:
        limit: for ordinary clients.
        listeners_limit: for clients with subscriptions.
        replicas_limit: for replicas.
        over: when each client above the soft limit is disconnected, in monotonic microseconds.
    """

    def __init__(self) -> None:
        self.limit = self.listeners_limit = self.replicas_limit = OutputLimit(0, 0, 0)
        self.over: dict[Session, int] = {}

    def configure(self, directive: str, kept: int) -> None:
        """Applies the directives.

        Args:
            directive: the value of ``client-output-buffer-limit``.
            kept: ``repl-backlog-size``; the hard limit of replicas is never smaller.
        """
        self.limit = OutputLimit.of(directive, "normal")
        self.listeners_limit = OutputLimit.of(directive, "pubsub")
        limit = OutputLimit.of(directive, "slave")
        self.replicas_limit = limit._replace(hard=limit.hard and max(limit.hard, kept))

    def limit_of(self, session: Session) -> OutputLimit:
        """The limit of a client's class."""
        if session.flags & REPLICA:
            return self.replicas_limit
        return self.listeners_limit if session.subscriptions else self.limit

    def is_far_too_long(self, session: Session, size: int) -> bool:
        """Whether a client with ``size`` unread bytes is above the hard limit."""
        hard = self.limit_of(session).hard
        return bool(hard) and size - FREE >= hard

    def is_too_long(self, session: Session, size: int, now: Instant) -> bool:
        """Whether to disconnect a client with ``size`` unread bytes.

        Call it for each client with more than ``FREE`` unread bytes, and again once it has read some.
        """
        if session.flags & REPLICA and session.replica is not None:
            size = session.replica.unsent_of_stream(size)
        if self.is_far_too_long(session, size):
            return True
        size -= FREE
        limit = self.limit_of(session)
        if not limit.soft or size < limit.soft or session.flags & GONE:
            self.over.pop(session, None)
            return False
        return now.monotonic > self.over.setdefault(session, now.monotonic + limit.patience)

    def give_up(self, session: Session) -> None:
        """Marks a client to be disconnected when the tick ends."""
        self.over[session] = -1

    def forget(self, session: Session) -> None:
        """Forgets a client that is disconnected."""
        self.over.pop(session, None)

    def overdue(self, now: Instant) -> list[Session]:
        """The clients that have been above the soft limit for too long."""
        return [session for session, end in self.over.items() if end < now.monotonic]

    def next_deadline(self) -> int | None:
        """When the first of them will be overdue, in microseconds of monotonic time; None if none will."""
        return min(self.over.values()) + 1 if self.over else None
