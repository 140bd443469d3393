"""The keys that make up one queue.

A queue is twelve keys (pressure protocol 0.15, Queues): a list of values named ``prefix:name`` and eleven
more that add a suffix to it. Six keys are beyond the twelve. Two belong to the reliable get that the
protocol leaves room for: ``:unacked``, a received message that is not acknowledged yet, and ``:rejected``,
the rejected messages. Three have what a client found dead, or lost, and did not wait long enough to mend
(``healing``): ``:producer:suspect``, ``:consumer:suspect`` and ``:not_full:suspect``. ``:closing`` says that
a client waits to close the queue. Deleting a queue deletes them all.

Rules:
    - Names are bytes. A ``str`` is encoded as UTF-8. Any byte is allowed. ``Keys`` may have an
      empty name, of a queue that another client made; our queue objects may not: it is a variable not set.
    - The order of ``SUFFIXES`` is the order in which the protocol's Delete removes the keys.

To add a key: a field in ``Keys`` and its suffix in ``SUFFIXES``; ``Keys.of`` and the tests follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

#: Field of ``Keys`` -> what the key adds to ``prefix:name``. Only ``queue`` adds nothing.
SUFFIXES: Final[dict[str, bytes]] = {
    "bound": b":bound",
    "producer_free": b":producer_free",
    "producer": b":producer",
    "consumer_free": b":consumer_free",
    "consumer": b":consumer",
    "not_full": b":not_full",
    "closed": b":closed",
    "produced_messages": b":stats:produced_messages",
    "produced_bytes": b":stats:produced_bytes",
    "consumed_messages": b":stats:consumed_messages",
    "consumed_bytes": b":stats:consumed_bytes",
    "queue": b"",
    "unacked": b":unacked",
    "rejected": b":rejected",
    "suspect_producer": b":producer:suspect",
    "suspect_consumer": b":consumer:suspect",
    "suspect_token": b":not_full:suspect",
    "closing": b":closing",
}
#: Those of them that are beyond the protocol's twelve.
_BEYOND: Final = ("unacked", "rejected")
#: Those that expire by themselves.
_EXPIRING: Final = ("suspect_producer", "suspect_consumer", "suspect_token", "closing")

DEFAULT_PREFIX: Final = b"__pressure__"


def as_bytes(text: bytes | str, what: str = "a queue's name") -> bytes:
    """A name or a prefix as the bytes Redis is sent: ``str`` is encoded as UTF-8.

    Raises:
        TypeError: Neither ``bytes`` nor ``str``.
    """
    if isinstance(text, str):
        return text.encode("utf-8", "surrogateescape")
    if isinstance(text, bytes):
        return text
    raise TypeError(f"{what} must be bytes or str, not {type(text).__name__}")


def hash_tag(key: bytes) -> bytes:
    """The ``{tag}`` in a key by which Redis Cluster chooses the slot; empty if there is none."""
    _, _, rest = key.partition(b"{")
    tag, closing, _ = rest.partition(b"}")
    return tag if closing else b""


class QueueKeys(Protocol):
    """The keys of any kind of queue, as far as they are needed to find its node of a cluster."""

    @property
    def name(self) -> bytes: ...  # noqa: D102
    @property
    def all(self) -> tuple[bytes, ...]: ...  # noqa: D102
    @property
    def has_hash_tag(self) -> bool: ...  # noqa: D102


def queue_name(text: bytes | str) -> bytes:
    """The name for a queue object, as bytes.

    Raises:
        TypeError: Neither ``bytes`` nor ``str``.
        ValueError: Empty.
    """
    name = as_bytes(text)
    if not name:
        raise ValueError("a queue's name must not be empty; is a variable not set?")
    return name


@dataclass(frozen=True, slots=True)
class Keys:
    """The full names of one queue's keys (pressure protocol 0.15, Queues).

    The documents swap two descriptions; here ``producer`` names the producer, ``consumer`` the consumer.
    The names of the counters have ``:stats:`` in them, as in the documents' prose, not their pseudocode.
    """

    name: bytes
    prefix: bytes
    queue: bytes
    bound: bytes
    producer: bytes
    consumer: bytes
    producer_free: bytes
    consumer_free: bytes
    produced_messages: bytes
    produced_bytes: bytes
    consumed_messages: bytes
    consumed_bytes: bytes
    not_full: bytes
    closed: bytes
    unacked: bytes
    rejected: bytes
    suspect_producer: bytes
    suspect_consumer: bytes
    suspect_token: bytes
    closing: bytes

    @classmethod
    def of(cls, name: bytes | str, prefix: bytes | str = DEFAULT_PREFIX) -> Keys:
        """The keys of the queue called ``name`` under ``prefix``."""
        name, prefix = as_bytes(name), as_bytes(prefix)
        root = prefix + b":" + name
        return cls(name=name, prefix=prefix, **{field: root + suffix for field, suffix in SUFFIXES.items()})

    @property
    def twelve(self) -> tuple[bytes, ...]:
        """The protocol's own keys, ``bound`` first, in the order in which Delete removes them."""
        return tuple(getattr(self, field) for field in SUFFIXES if field not in _BEYOND + _EXPIRING)

    @property
    def all(self) -> tuple[bytes, ...]:
        """Every key that a queue may leave behind: the twelve, ``unacked`` and ``rejected``."""
        return (*self.twelve, self.unacked, self.rejected)

    @property
    def deleted(self) -> tuple[bytes, ...]:
        """Every key that goes with the queue: ``all``, and those that would soon expire by themselves."""
        return (*self.all, *(getattr(self, field) for field in _EXPIRING))

    def neighbours(self) -> tuple[bytes, ...]:
        """The ``:bound`` keys of queues whose keys could be mistaken for this one's.

        ``jobs:closed`` is a valid name, but its list of values is the key that says whether ``jobs`` is
        closed. So a queue is not created beside another whose name is its own plus or minus a suffix.
        """
        suffixes = [suffix for suffix in SUFFIXES.values() if suffix]
        longer = [self.queue + suffix for suffix in suffixes]
        shorter = [self.queue.removesuffix(suffix) for suffix in suffixes if self.name.endswith(suffix)]
        return tuple(root + SUFFIXES["bound"] for root in (*longer, *shorter))

    @property
    def hash_tag(self) -> bytes:
        """The ``{tag}`` in prefix or name by which Redis Cluster chooses the slot; empty if there is none."""
        return hash_tag(self.queue)

    @property
    def has_hash_tag(self) -> bool:
        """Whether Redis Cluster keeps all keys in one slot."""
        return bool(self.hash_tag)

    def __str__(self) -> str:
        """The queue's name for people."""
        return repr(self.name.decode("utf-8", "backslashreplace"))
