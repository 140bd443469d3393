"""Pub/Sub: the subscribers of channels, patterns and shard channels, and the delivery of messages.

A message goes to the subscribers of its channel, in the order in which they subscribed, then to those of
matching patterns, pattern by pattern. A client with several matching subscriptions gets it several times. It
is queued at once, between the subscriber's replies, even if CLIENT REPLY is OFF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from .client_flags import CLOSING
from .glob import compile_glob
from .replies import Push, encode

if TYPE_CHECKING:
    from .replies import Output
    from .session import Session

__all__ = ["CHANNELS", "PATTERNS", "SHARDS", "Kind", "Publishing"]


class Kind(NamedTuple):
    """A kind of subscription, and the first words of its messages.

    Attributes:
        begins: confirms a subscription.
        ends: confirms its end.
        message: introduces a published message.
    """

    begins: bytes
    ends: bytes
    message: bytes


CHANNELS: Final = Kind(b"subscribe", b"unsubscribe", b"message")
PATTERNS: Final = Kind(b"psubscribe", b"punsubscribe", b"pmessage")
SHARDS: Final = Kind(b"ssubscribe", b"sunsubscribe", b"smessage")

COUNTED_WITH: Final = {
    CHANNELS: (CHANNELS, PATTERNS),
    PATTERNS: (CHANNELS, PATTERNS),
    SHARDS: (SHARDS,),
}
"""The kinds whose subscriptions are counted in the confirmation of each kind."""

Listeners: TypeAlias = "dict[bytes, dict[Session, None]]"


class Publishing:
    """The subscriptions of one server.

    Attributes:
        listeners: by kind and name of the channel or pattern, the subscribers.
    """

    def __init__(self) -> None:
        self.listeners: dict[Kind, Listeners] = {CHANNELS: {}, PATTERNS: {}, SHARDS: {}}
        self._fits: dict[bytes, Callable[[bytes], bool]] = {}  # by pattern, whether a channel matches it

    @property
    def is_heard(self) -> bool:
        """Whether a client has a subscription to a channel or pattern."""
        return bool(self.listeners[CHANNELS] or self.listeners[PATTERNS])

    # Subscribing

    def begin(self, session: Session, kind: Kind, name: bytes) -> None:
        """Subscribes a client, unless it is subscribed already, and confirms it."""
        self.listeners[kind].setdefault(name, {})[session] = None
        session.subscriptions.setdefault(kind, {})[name] = None
        session.listen()
        if kind is PATTERNS and name not in self._fits:
            self._fits[name] = compile_glob(name)
        session.push(encode(Push([kind.begins, name, count(session, kind)]), session.resp))

    def end(self, session: Session, kind: Kind, name: bytes) -> None:
        """Ends a subscription, if there is one, and confirms it."""
        self._drop(session, kind, name)
        session.push(encode(Push([kind.ends, name, count(session, kind)]), session.resp))

    def end_all(self, session: Session, kind: Kind) -> None:
        """Ends all subscriptions of a kind and confirms each; confirms once if there was none."""
        names = tuple(session.subscriptions.get(kind, ()))
        for name in names:
            self.end(session, kind, name)
        if not names:
            session.push(encode(Push([kind.ends, None, count(session, kind)]), session.resp))

    def forget(self, session: Session) -> None:
        """Ends all subscriptions of a client without confirming it."""
        for kind, names in tuple(session.subscriptions.items()):
            for name in tuple(names):
                self._drop(session, kind, name)

    def _drop(self, session: Session, kind: Kind, name: bytes) -> None:
        names = session.subscriptions.get(kind, {})
        if name not in names:
            return
        del names[name]
        if not names:
            del session.subscriptions[kind]
            session.listen_or_not()
        listeners = self.listeners[kind][name]
        del listeners[session]
        if not listeners:
            del self.listeners[kind][name]
            if kind is PATTERNS:
                self._fits.pop(name, None)

    # Publishing

    def publish(self, channel: bytes, message: bytes, event: str = "") -> int:
        """Sends a message to the subscribers of a channel and of matching patterns.

        Args:
            channel: its channel.
            message: its payload.
            event: the keyspace event that it reports; empty for none.

        Returns:
            How often it was delivered.
        """
        parts = [CHANNELS.message, channel, message]
        times = deliver(self.listeners[CHANNELS].get(channel, ()), parts, event)
        for pattern, listeners in tuple(self.listeners[PATTERNS].items()):
            fits = self._fits.get(pattern)  # None if its last subscriber was disconnected meanwhile
            if fits is not None and fits(channel):
                times += deliver(listeners, [PATTERNS.message, pattern, channel, message], event)
        return times

    def publish_sharded(self, channel: bytes, message: bytes) -> int:
        """Sends a message to the subscribers of a shard channel; returns their number."""
        return deliver(self.listeners[SHARDS].get(channel, ()), [SHARDS.message, channel, message])


def count(session: Session, kind: Kind) -> int:
    """The number of subscriptions in a confirmation."""
    return sum(len(session.subscriptions.get(each, ())) for each in COUNTED_WITH[kind])


def deliver(listeners: Iterable[Session], parts: list[bytes], event: str = "") -> int:
    """Pushes a message to some clients; returns their number."""
    push = Push(parts)
    encoded: dict[int, Output] = {}
    hearing = tuple(listeners)  # clients with too much output are disconnected meanwhile
    for session in hearing:
        resp = session.resp
        if session.flags & CLOSING:
            continue
        if resp not in encoded:
            encoded[resp] = encode(push, resp)
        session.push(encoded[resp], event)
    return len(hearing)
