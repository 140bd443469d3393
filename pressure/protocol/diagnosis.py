"""What a queue looks like at one moment: what ``doctor`` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pressure.text import printable

State: TypeAlias = Literal["open", "closed", "half created", "half deleted", "unreadable"]


@dataclass(frozen=True, slots=True)
class RoleState:
    """One of the two roles.

    Attributes:
        role: ``"producer"`` or ``"consumer"``.
        free: How many elements its list has; 1 while nobody holds it.
        holder: Who holds it, or held it last; None if nobody has said so.
        seconds: About how long ago the holder said so; None if that is not known.
        connected: Whether a connection carries the holder's name; None if that is not known, as of clients
            that do not name theirs.
        lease: How many seconds are left of the holder's lease; None if it has none, or there is no name.
        lapsed: Whether it is held by nobody who says so, where holders have leases: one ran out.
    """

    role: str
    free: int
    holder: bytes | None
    seconds: int | None
    connected: bool | None
    lease: float | None = None
    lapsed: bool = False

    @property
    def taken(self) -> bool:
        """Whether somebody holds it."""
        return not self.free


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A queue at one moment.

    Attributes:
        queue: Its name.
        state: What it is; ``"unreadable"`` if its keys hold something else.
        length: How many values are in it.
        bound: How many may be; 0 means any number, None that there is no bound, or none that is a number.
        producer: The one role.
        consumer: The other.
        tokens: Elements of ``:not_full``.
        marks: Elements of ``:closed``.
        unacknowledged: Messages that were received and are not acknowledged.
        blocked: How many clients of the server wait in a blocking command on lists; None if that is not
            known.
        problems: What is wrong, a sentence each.
        produced_messages: How many values were put since it was created.
        produced_bytes: How many bytes those had, as far as the clients count them.
        consumed_messages: How many were got.
        consumed_bytes: How many bytes those had.
        rejected: How many messages were rejected, and not put again since.
    """

    queue: bytes
    state: State
    length: int
    bound: int | None
    producer: RoleState
    consumer: RoleState
    tokens: int
    marks: int
    unacknowledged: int
    blocked: int | None
    problems: tuple[str, ...]
    produced_messages: int = 0
    produced_bytes: int = 0
    consumed_messages: int = 0
    consumed_bytes: int = 0
    rejected: int = 0

    #: Of the kinds of queues, the one that this package is named for.
    kind = "queue"

    def __str__(self) -> str:
        """A few lines for people."""
        of = f" of {self.bound}" if self.bound else ""
        name = self.queue.decode("utf-8", "backslashreplace")
        roles = (f"{role.role}: {_about(role)}" for role in (self.producer, self.consumer))
        return "\n  ".join((f"{name!r}: {self.state}, {self.length}{of} values", *roles, *self.problems))


def _about(role: RoleState) -> str:
    if not role.taken:
        return "free"
    since = "" if role.seconds is None else f" for about {role.seconds} s"
    lease = "" if role.lease is None else f", with {role.lease:.0f} s left of its lease"
    gone = ", which is not connected" if role.connected is False else ""
    return f"held by {shown(role.holder)}{since}{lease}{gone}"


def shown(holder: bytes | None) -> str:
    """A holder for people."""
    return printable(holder) if holder else "nobody known"
