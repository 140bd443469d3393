"""Clients that do not read what they are sent, and how much of that client-output-buffer-limit allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .client_flags import GONE, REPLICA

if TYPE_CHECKING:
    from .instant import Instant
    from .session import Session

__all__ = ["FREE", "Backlogs", "OutputLimit"]

FREE: Final = 16 * 1024
"""Bytes that every client may leave unread: Redis keeps so many beside what it counts."""


class OutputLimit(NamedTuple):
    """What one class of clients may leave unread; 0 bytes are no limit.

    Attributes:
        hard: bytes that are too many at once.
        soft: bytes that are too many for longer than so many microseconds.
        patience: those microseconds.
    """

    hard: int
    soft: int
    patience: int

    @classmethod
    def of(cls, directive: str, kind: str) -> OutputLimit:
        """The limit of a class of clients, as the directive's value has it."""
        words = directive.split(" ")
        at = words.index(kind)
        hard, soft, seconds = map(int, words[at + 1 : at + 4])
        return cls(hard, soft, seconds * 1_000_000)


class Backlogs:
    """Which clients have left more unread than the soft limit, and when they are to go for it.

    Attributes:
        limit: for clients in general.
        listeners_limit: for those that are subscribed to something.
        replicas_limit: for replicas.
        over: when those who have left more than the soft limit unread must go, in monotonic microseconds.
    """

    def __init__(self) -> None:
        self.limit = self.listeners_limit = self.replicas_limit = OutputLimit(0, 0, 0)
        self.over: dict[Session, int] = {}

    def configure(self, directive: str, kept: int) -> None:
        """Takes what ``client-output-buffer-limit`` says.

        Args:
            directive: its value.
            kept: ``repl-backlog-size``: a replica may always leave as much unread as a new one may be given.
        """
        self.limit = OutputLimit.of(directive, "normal")
        self.listeners_limit = OutputLimit.of(directive, "pubsub")
        limit = OutputLimit.of(directive, "slave")
        self.replicas_limit = limit._replace(hard=limit.hard and max(limit.hard, kept))

    def limit_of(self, session: Session) -> OutputLimit:
        """What a client may leave unread."""
        if session.flags & REPLICA:
            return self.replicas_limit
        return self.listeners_limit if session.subscriptions else self.limit

    def is_far_too_long(self, session: Session, size: int) -> bool:
        """Whether a client that has so many bytes still to read is to be hung up on at once."""
        hard = self.limit_of(session).hard
        return bool(hard) and size - FREE >= hard

    def is_too_long(self, session: Session, size: int, now: Instant) -> bool:
        """Whether a client that has so many bytes still to read is to be hung up on.

        To be asked of each client that has more than ``FREE`` bytes to read, and again once it has read some.
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
        """The client goes when the tick ends."""
        self.over[session] = -1

    def forget(self, session: Session) -> None:
        """The client is gone."""
        self.over.pop(session, None)

    def overdue(self, now: Instant) -> list[Session]:
        """Who has left too much unread for too long."""
        return [session for session, end in self.over.items() if end < now.monotonic]

    def next_deadline(self) -> int | None:
        """When the first of them will have, in microseconds of monotonic time."""
        return min(self.over.values()) + 1 if self.over else None
