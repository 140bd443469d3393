"""The data types of reliable queues: keys, messages, dead letters, counts and capabilities."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final, Generic

from pressure.codecs import Codec, V, codec_of, decoded

#: The default consumer group.
GROUP: Final = b"workers"


@dataclass(frozen=True, slots=True)
class ReliableKeys:
    """The keys of a lane of a queue.

    A queue has two lanes: the messages in the order of their pushes, and the messages that were delayed and
    are due. Delayed and dead messages belong to both.

    Attributes:
        queue: The lane: a stream, or a key of the module's type.
        delayed: The sorted set of delayed messages, by the time at which each is due, in milliseconds.
        dead: The dead-letter queue, of the same type.
        deliveries: With the module, the hash of the deliveries to add to the module's count, by id; they may
            be negative.
        beats: With the module, the sorted set of ids by the time of the last heartbeat, in milliseconds.
        notes: The hash of notes by id; see the module ``notes``.
        group: On a stream, the consumer group's name.
        is_due: Whether this is the lane of due messages.
    """

    queue: bytes
    delayed: bytes
    dead: bytes
    deliveries: bytes
    beats: bytes
    notes: bytes
    group: bytes
    is_due: bool = False

    @classmethod
    def of(cls, queue: bytes, group: bytes) -> ReliableKeys:
        """The lane of the messages in the order of their pushes."""
        own = b"" if group == GROUP else b":" + group
        return cls._lane(queue, queue + b":delayed" + own, queue + b":dead", group)

    @classmethod
    def _lane(
        cls, lane: bytes, delayed: bytes, dead: bytes, group: bytes, *, is_due: bool = False
    ) -> ReliableKeys:
        deliveries, beats, notes = (lane + suffix for suffix in (b":deliveries", b":beats", b":notes"))
        return cls(lane, delayed, dead, deliveries, beats, notes, group, is_due)

    @property
    def due(self) -> ReliableKeys:
        """The lane of due messages."""
        lane = self.queue + b":due" + self.delayed.removeprefix(self.queue + b":delayed")
        return self._lane(lane, self.delayed, self.dead, self.group, is_due=True)

    @property
    def all(self) -> tuple[bytes, ...]:
        """The keys in the order in which scripts take them."""
        return self.queue, self.delayed, self.dead, self.deliveries, self.beats, self.notes


@dataclass(frozen=True, slots=True)
class Delivered(Generic[V]):
    """A message of a reliable queue.

    Attributes:
        id: The message's id. If the message was delayed or retried, ``@`` and a part that differs for each
            delivery follow the id, so the first part finds the message in all logs.
        data: The message's bytes.
        deliveries: How often the message was delivered, this delivery included; 0 if never.
        first: The time of its first delivery, in seconds since 1970 by the server's clock; None if that is
            not known.
        at: The time of this delivery; None if that is not known.
    """

    id: bytes
    data: bytes
    deliveries: int = 1
    first: float | None = None
    at: float | None = None
    _codec: Codec[V] = field(default_factory=lambda: codec_of(None), repr=False, compare=False)

    @property
    def value(self) -> V:
        """The value that was pushed, decoded by the queue's codec; bytes if the queue has none.

        Raises:
            CodecError: The codec cannot decode the bytes.
        """
        return decoded(self._codec, self.data, [self.data])


@dataclass(frozen=True, slots=True)
class DeadLetter(Generic[V]):
    """A message that was delivered too often, and why it failed.

    Attributes:
        message: The message as it stands in the dead-letter queue, with its id there.
        origin: The id that it had before; empty if that is not known.
        error: The type of the error of its last delivery, such as ``ValueError``; empty if no worker reported
            an error: then the message was not acknowledged in time.
        text: The error's text.
        deliveries: How often it was delivered.
        first: The time of its first delivery, in seconds since 1970 by the server's clock; None if that is
            not known.
        last: The time of its last delivery; None if that is not known.
    """

    message: Delivered[V]
    origin: bytes = b""
    error: str = ""
    text: str = ""
    deliveries: int = 0
    first: float | None = None
    last: float | None = None

    @property
    def value(self) -> V:
        """The value that was pushed; see ``Delivered.value``."""
        return self.message.value


@dataclass(frozen=True, slots=True)
class Pending(Generic[V]):
    """A message that was delivered and not acknowledged yet.

    Attributes:
        message: The message.
        since: The time of its last delivery or heartbeat, in seconds since 1970 by the server's clock.
        idle: How many seconds ago that was.
    """

    message: Delivered[V]
    since: float
    idle: float


@dataclass(frozen=True, slots=True)
class Recovery:
    """What one operation recovers.

    Attributes:
        idle: For how many milliseconds a message must have been idle.
        seen: By the key of each lane, the ids that it has recovered (for a stream, the last): none of them
            again, even if ``idle`` is 0.
    """

    idle: int
    seen: defaultdict[bytes, list[bytes]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True, slots=True)
class Info:
    """How many messages a reliable queue has at one moment, by their state.

    Attributes:
        last_id: The id of the message that was added last; empty if there never was one.
        undelivered: How many messages wait to be delivered.
        delivered: How many messages are delivered and not acknowledged yet.
        delayed: How many messages are delayed, or are to be retried, and not due yet.
        dead: How many messages the dead-letter queue holds.
    """

    last_id: bytes
    undelivered: int
    delivered: int
    delayed: int
    dead: int


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Which backend a reliable queue uses on this server, and how it differs from the other.

    Attributes:
        backend: ``"module"`` for the commands of RedisMQ, ``"stream"`` for a stream and a consumer group.
        recovers_oldest_delivery_first: Whether ``recover`` begins with the oldest delivery; if not, with the
            smallest id.
        inspects_by_index: Whether the server counts a place from the nearer end; if not, always from the
            beginning, so that places near the end cost more.
        counts_undelivered: Whether the server counts the messages that wait; if not, ``info`` subtracts the
            delivered ones from all.
        heartbeat_is_native: Whether a heartbeat counts for every client that recovers messages; if not, only
            for users of this package.
    """

    backend: str
    recovers_oldest_delivery_first: bool
    inspects_by_index: bool
    counts_undelivered: bool
    heartbeat_is_native: bool
