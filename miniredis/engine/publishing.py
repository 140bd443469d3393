"""Channels, patterns and shard channels: who listens to what, and who hears a message.

A message goes to those who listen to its channel, in the order in which they began to; then to those who
listen to patterns that fit it, pattern by pattern. Who listens in several ways hears it as often. It is sent
at once, between the replies of whatever runs, whether or not CLIENT REPLY wants those.
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
    """A way to listen, and what is said of it.

    Attributes:
        begins: the first word when somebody begins to listen.
        ends: when somebody ceases to.
        message: of what is heard.
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
"""What a client is told it listens to in all, when it begins or ceases to listen in one of these ways."""

Listeners: TypeAlias = "dict[bytes, dict[Session, None]]"


class Publishing:
    """Who listens to what, on one server.

    Attributes:
        listeners: for each way to listen, by the name of what is listened to.
    """

    def __init__(self) -> None:
        self.listeners: dict[Kind, Listeners] = {CHANNELS: {}, PATTERNS: {}, SHARDS: {}}
        self._fits: dict[bytes, Callable[[bytes], bool]] = {}  # of each pattern

    @property
    def is_heard(self) -> bool:
        """Whether anybody could hear a message to some channel."""
        return bool(self.listeners[CHANNELS] or self.listeners[PATTERNS])

    # Listening

    def begin(self, session: Session, kind: Kind, name: bytes) -> None:
        """A client listens to something from now on, if it does not yet; it is told so."""
        self.listeners[kind].setdefault(name, {})[session] = None
        session.subscriptions.setdefault(kind, {})[name] = None
        session.listen()
        if kind is PATTERNS and name not in self._fits:
            self._fits[name] = compile_glob(name)
        session.push(encode(Push([kind.begins, name, count(session, kind)]), session.resp))

    def end(self, session: Session, kind: Kind, name: bytes) -> None:
        """A client ceases to listen to something, if it did; it is told so."""
        self._drop(session, kind, name)
        session.push(encode(Push([kind.ends, name, count(session, kind)]), session.resp))

    def end_all(self, session: Session, kind: Kind) -> None:
        """A client ceases to listen in one way; it is told so for each thing, or once if there was none."""
        names = tuple(session.subscriptions.get(kind, ()))
        for name in names:
            self.end(session, kind, name)
        if not names:
            session.push(encode(Push([kind.ends, None, count(session, kind)]), session.resp))

    def forget(self, session: Session) -> None:
        """A client listens to nothing any more, and is not told."""
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
        """Sends a message to all who listen to a channel, or to a pattern that fits it.

        Args:
            channel: where it is sent.
            message: what is sent.
            event: the keyspace event that it tells of, if it does.

        Returns:
            How often it was sent.
        """
        parts = [CHANNELS.message, channel, message]
        times = deliver(self.listeners[CHANNELS].get(channel, ()), parts, event)
        for pattern, listeners in tuple(self.listeners[PATTERNS].items()):
            fits = self._fits.get(pattern)  # None once the last who listened was hung up on meanwhile
            if fits is not None and fits(channel):
                times += deliver(listeners, [PATTERNS.message, pattern, channel, message], event)
        return times

    def publish_sharded(self, channel: bytes, message: bytes) -> int:
        """Sends a message to all who listen to a shard channel; returns how many they are."""
        return deliver(self.listeners[SHARDS].get(channel, ()), [SHARDS.message, channel, message])


def count(session: Session, kind: Kind) -> int:
    """To how much a client listens, as it is told."""
    return sum(len(session.subscriptions.get(each, ())) for each in COUNTED_WITH[kind])


def deliver(listeners: Iterable[Session], parts: list[bytes], event: str = "") -> int:
    """Pushes something to some clients; returns how many they are."""
    push = Push(parts)
    encoded: dict[int, Output] = {}
    hearing = tuple(listeners)  # who has too much to read is hung up on meanwhile
    for session in hearing:
        resp = session.resp
        if session.flags & CLOSING:
            continue
        if resp not in encoded:
            encoded[resp] = encode(push, resp)
        session.push(encoded[resp], event)
    return len(hearing)
