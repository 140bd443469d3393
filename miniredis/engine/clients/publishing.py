"""Pub/Sub: the subscribers of channels, patterns and shard channels, and the delivery of messages.

A message goes to the subscribers of its channel, in the order in which they subscribed, then to those of
matching patterns, pattern by pattern. A client with several matching subscriptions gets it several times. It
is queued at once, between the subscriber's replies, even if CLIENT REPLY is OFF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ..glob import compile_glob
from ..protocol.replies import Push, encode
from .client_flags import CLOSING

if TYPE_CHECKING:
    from ..protocol.replies import Output
    from .session import Session

__all__ = ["CHANNELS", "PATTERNS", "SHARDS", "Publishing", "SubscriptionKind"]


class SubscriptionKind(NamedTuple):
    """A kind of subscription, and the first words of its messages.

    Attributes:
        begins: confirms a subscription.
        ends: confirms its end.
        message: introduces a published message.
    """

    begins: bytes
    ends: bytes
    message: bytes


CHANNELS: Final = SubscriptionKind(b"subscribe", b"unsubscribe", b"message")
PATTERNS: Final = SubscriptionKind(b"psubscribe", b"punsubscribe", b"pmessage")
SHARDS: Final = SubscriptionKind(b"ssubscribe", b"sunsubscribe", b"smessage")

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
        self.listeners: dict[SubscriptionKind, Listeners] = {CHANNELS: {}, PATTERNS: {}, SHARDS: {}}
        self._fits: dict[
            bytes, Callable[[bytes], bool]
        ] = {}  # by pattern that has met a message, whether a channel matches it

    @property
    def is_heard(self) -> bool:
        """Whether a client has a subscription to a channel or pattern."""
        return bool(self.listeners[CHANNELS] or self.listeners[PATTERNS])

    # Subscribing

    def begin(self, session: Session, kind: SubscriptionKind, names: Iterable[bytes]) -> None:
        """Subscribes a client to those names to which it is not subscribed yet, and confirms each."""
        listeners = self.listeners[kind]
        subscribed = session.subscriptions.setdefault(kind, {})
        others = count(session, kind) - len(subscribed)
        head = confirmation(session, kind.begins)
        session.listen()
        for name in names:
            listeners.setdefault(name, {})[session] = None
            subscribed[name] = None
            session.push(b"%b$%d\r\n%b\r\n:%d\r\n" % (head, len(name), name, others + len(subscribed)))

    def end(self, session: Session, kind: SubscriptionKind, names: Iterable[bytes]) -> None:
        """Ends subscriptions, as far as there are any, and confirms each."""
        head = confirmation(session, kind.ends)
        for name in names:
            self._drop(session, kind, name)
            session.push(b"%b$%d\r\n%b\r\n:%d\r\n" % (head, len(name), name, count(session, kind)))

    def end_all(self, session: Session, kind: SubscriptionKind) -> None:
        """Ends all subscriptions of a kind and confirms each; confirms once if there was none."""
        names = tuple(session.subscriptions.get(kind, ()))
        self.end(session, kind, names)
        if not names:
            session.push(encode(Push([kind.ends, None, count(session, kind)]), session.resp))

    def forget(self, session: Session) -> None:
        """Ends all subscriptions of a client without confirming it."""
        for kind, names in tuple(session.subscriptions.items()):
            for name in tuple(names):
                self._drop(session, kind, name)

    def _drop(self, session: Session, kind: SubscriptionKind, name: bytes) -> None:
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
            if not listeners:  # the last one was disconnected by a message of this loop
                continue
            if pattern not in self._fits:
                self._fits[pattern] = compile_glob(pattern)
            if self._fits[pattern](channel):
                times += deliver(listeners, [PATTERNS.message, pattern, channel, message], event)
        return times

    def publish_sharded(self, channel: bytes, message: bytes) -> int:
        """Sends a message to the subscribers of a shard channel; returns their number."""
        return deliver(self.listeners[SHARDS].get(channel, ()), [SHARDS.message, channel, message])


def confirmation(session: Session, word: bytes) -> bytes:
    """How a confirmation begins; the name and the number of subscriptions follow."""
    return b"%b3\r\n$%d\r\n%b\r\n" % (b"*" if session.resp == 2 else b">", len(word), word)


def count(session: Session, kind: SubscriptionKind) -> int:
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
