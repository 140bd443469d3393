"""What ``doctor`` finds: the state of a queue at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pressure.protocol.problems import holder_text

State: TypeAlias = Literal["open", "closed", "half created", "half deleted", "unreadable"]


@dataclass(frozen=True, slots=True)
class RoleState:
    """One of the two roles of a queue, and its holder.

    Attributes:
        role: ``"producer"`` or ``"consumer"``.
        free: How many elements the role's list has: 1 while the role is free, 0 while it is held.
        holder: The id of the holder, or of the last holder while the role is free; None if the client that
            took the role has not written its id.
        seconds: About how many seconds ago the holder wrote its id; None if that is not known.
        connected: Whether the holder's connection is open; None if that is not known, as for clients that do
            not name their connections.
        lease: How many seconds are left of the holder's lease; None without a lease.
        lapsed: Whether the role is held, but the lease of its holder ran out.
        about: What is known about the holder while the role is held, as text; else empty.
    """

    role: str
    free: int
    holder: bytes | None
    seconds: int | None
    connected: bool | None
    lease: float | None = None
    lapsed: bool = False
    about: str = ""

    @property
    def taken(self) -> bool:
        """Whether a client holds the role."""
        return not self.free


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What ``doctor`` finds: a queue at one moment, and its problems.

    Attributes:
        queue: The queue's name.
        state: ``"open"``, ``"closed"``, ``"half created"``, ``"half deleted"``, or ``"unreadable"`` if
            another program uses its keys.
        length: How many values are in the queue.
        bound: How many values it may hold; 0 means any number, None a bound that is missing or not a number.
        producer: The producer role.
        consumer: The consumer role.
        tokens: How many elements ``:not_full`` has: 1 while there is room.
        marks: How many elements ``:closed`` has: 2 once the queue is closed.
        unacknowledged: How many messages were received and are not acknowledged yet.
        blocked: How many clients of the server are blocked in a command on lists; None if that is not
            known.
        problems: What is wrong, one sentence for each problem.
        produced_messages: How many values were put since the queue was created.
        produced_bytes: How many bytes those values have, as far as clients count them.
        consumed_messages: How many values were taken since the queue was created.
        consumed_bytes: How many bytes those values have, as far as clients count them.
        rejected: How many rejected messages there are.
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

    #: The kind of queue; other kinds have other diagnoses.
    kind = "queue"

    def __str__(self) -> str:
        """The queue, its roles and its problems, one line each."""
        of = f" of {self.bound}" if self.bound else ""
        name = self.queue.decode("utf-8", "backslashreplace")
        roles = (f"{role.role}: {_about(role)}" for role in (self.producer, self.consumer))
        return "\n  ".join((f"{name!r}: {self.state}, {self.length}{of} values", *roles, *self.problems))


def _about(role: RoleState) -> str:
    if not role.taken:
        return "free"
    since = "" if role.seconds is None else f" for about {role.seconds} s"
    lease = "" if role.lease is None else f", with {role.lease:.0f} s left of its lease"
    about = f": {role.about}" if role.about else ""
    return f"held by {holder_text(role.holder)}{since}{lease}{about}"
