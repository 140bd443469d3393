"""CLIENT TRACKING: notifies clients that cache the keys they read when these change.

There are two modes. In the default mode, each key that a client reads is remembered until it changes once.
With BCAST, a client names prefixes; at the end of each tick it gets all keys with these prefixes that changed
in the tick. Keys are names: the database makes no difference.

A client gets a push; in RESP2, a Pub/Sub message goes to another client that it named with REDIRECT. Changes
that it made itself are sent after the reply to its command, or to its EXEC.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..declarations.key_positions import KeysError, tracked_keys
from ..declarations.registry import by_version
from ..protocol.replies import Push, encode, joined

if TYPE_CHECKING:
    from ..declarations.registry import Command
    from .session import Session

__all__ = ["Tracker", "Tracking"]

CHANNEL: Final = b"__redis__:invalidate"
REDIRECTION_BROKEN: Final = b"tracking-redir-broken"


@dataclass(slots=True)
class Tracker:
    """The CLIENT TRACKING options of one client.

    Attributes:
        redirect: REDIRECT: the number of the client that gets the messages instead; 0 for none.
        broadcasts: BCAST: it gets all keys with its prefixes, whether it read them or not.
        opt_in: OPTIN: keys are tracked only for the command after CLIENT CACHING YES.
        opt_out: OPTOUT: keys are tracked except for the command after CLIENT CACHING NO.
        no_loop: NOLOOP: it does not get changes that it made itself.
        prefixes: PREFIX: of the keys that are broadcast.
        caching: CLIENT CACHING was called and applies to the current command.
        is_broken: the client of ``redirect`` is gone.
    """

    redirect: int = 0
    broadcasts: bool = False
    opt_in: bool = False
    opt_out: bool = False
    no_loop: bool = False
    prefixes: set[bytes] = field(default_factory=set)
    caching: bool = False
    is_broken: bool = False

    @property
    def remembers(self) -> bool:
        """Whether the keys of the current command are tracked."""
        return self.caching if self.opt_in else not (self.broadcasts or (self.opt_out and self.caching))


@dataclass(slots=True)
class Prefix:
    """The keys with one prefix.

    Attributes:
        clients: the clients that track them.
        changed: the keys that changed in this tick, each with the client that changed it last.
    """

    clients: dict[Session, None] = field(default_factory=dict)
    changed: dict[bytes, Session | None] = field(default_factory=dict)


comes_after_reply: Final = by_version(True, {"6.0": False})
"""Whether a client hears of the keys that it changes itself only after the reply."""


def waits_for_reply(session: Session, running: Session | None) -> bool:
    """Whether an invalidation is sent to a client after the reply: the client's own command causes it."""
    return session is running and comes_after_reply(session.engine.version)


class Tracking:
    """The tracked keys and the clients that track them.

    Args:
        sessions: all clients, by number.

    Attributes:
        count: the number of clients that track keys.
        readers: by key, the numbers of the clients that have read it since it last changed.
        prefixes: the prefixes of BCAST.
        items: the total number of readers.
        most: how many keys are remembered at most; 0 for any number.
    """

    def __init__(self, sessions: dict[int, Session]) -> None:
        self._sessions = sessions
        self.count = 0
        self.readers: OrderedDict[bytes, set[int]] = OrderedDict()  # a dict finds its first key slowly
        self.prefixes: dict[bytes, Prefix] = {}
        self.items = 0
        self.most = 0
        self._later: list[tuple[Session, Tracker, list[bytes] | None]] = []  # invalidations after a reply

    @property
    def is_awaited(self) -> bool:
        """Whether a change may have to be reported to a client."""
        return bool(self.count or self.readers)

    # Clients

    def start(self, session: Session, tracker: Tracker) -> None:
        """Starts tracking for a client, or changes its options; prefixes are added to those it has."""
        before = session.tracker
        if before is None:
            self.count += 1
        else:
            tracker.caching = before.caching
        if tracker.broadcasts:
            tracker.prefixes = tracker.prefixes or {b""}
            for prefix in tracker.prefixes:
                self.prefixes.setdefault(prefix, Prefix()).clients[session] = None
            tracker.prefixes |= before.prefixes if before else set()
        session.tracker = tracker
        self._later = [(each, tracker if each is session else old, keys) for each, old, keys in self._later]
        session.listen()
        if tracker.redirect:
            self._sessions[tracker.redirect].is_redirected_to()

    def stop(self, session: Session) -> None:
        """Stops tracking for a client. The keys it read stay remembered until they change."""
        if session.tracker is None:
            return
        self.count -= 1
        for prefix in session.tracker.prefixes:
            del self.prefixes[prefix].clients[session]
            if not self.prefixes[prefix].clients:
                del self.prefixes[prefix]
        session.tracker = None
        session.listen_or_not()

    # Changes

    def remember(self, session: Session, command: Command, args: list[bytes]) -> None:
        """Remembers the keys that a tracking client has read with a command."""
        assert session.tracker is not None
        if not session.tracker.remembers:
            return
        try:
            keys = tracked_keys(command, args)
        except KeysError:
            return
        for key, _ in keys:
            readers = self.readers.setdefault(key, set())
            self.items += session.id not in readers
            readers.add(session.id)

    def forget_surplus(self, running: Session | None) -> None:
        """Drops the oldest keys beyond ``most``, and invalidates them in the caches of their readers.

        Redis does so before each command, and ten times a second while clients track keys. Here the end of a
        tick takes the place of the latter.
        """
        while self.count and 0 < self.most < len(self.readers):
            self._invalidate(next(iter(self.readers)), running, at_once=True)

    def changed(self, key: bytes, changer: Session | None, running: Session | None, event: str = "") -> bool:
        """Invalidates a changed key; returns whether it is to be broadcast when the tick ends.

        Args:
            key: its name.
            changer: the client whose own command changed it; None if a script did, or it expired.
            running: the client whose command is running; None if none is.
            event: the name of the change; some events are sent after the reply.
        """
        concerned = [prefix for beginning, prefix in self.prefixes.items() if key.startswith(beginning)]
        for prefix in concerned:
            prefix.changed[key] = changer
        if key in self.readers:
            self._invalidate(key, running, event)
        return bool(concerned)

    def _invalidate(
        self, key: bytes, running: Session | None, event: str = "", *, at_once: bool = False
    ) -> None:
        readers = self.readers.pop(key)
        self.items -= len(readers)
        for number in sorted(readers, key=lambda number: number.to_bytes(8, "little")):
            session = self._sessions.get(number)
            tracker = session.tracker if session is not None else None
            if session is None or tracker is None or tracker.broadcasts:
                continue
            if session is running and tracker.no_loop:
                continue
            if not at_once and waits_for_reply(session, running):
                self._later.append((session, tracker, [key]))
            else:
                self._tell(session, tracker, [key], event)

    def flushed(self, running: Session | None) -> None:
        """Invalidates all keys."""
        for session in tuple(self._sessions.values()) if self.count else ():
            if session.tracker is not None and waits_for_reply(session, running):
                self._later.append((session, session.tracker, None))
            elif session.tracker is not None:
                self._tell(session, session.tracker, None)
        self.readers.clear()
        self.items = 0

    def command_over(self) -> None:
        """Sends a client that has got its reply the invalidations that its own command caused."""
        if self._later:
            later, self._later = self._later, []
            for session, tracker, keys in later:
                self._tell(session, tracker, keys)

    def broadcast(self) -> None:
        """Sends the keys with tracked prefixes that changed in this tick."""
        for _, prefix in sorted(self.prefixes.items()):
            changed, prefix.changed = prefix.changed, {}
            for session in tuple(prefix.clients) if changed else ():
                assert session.tracker is not None
                own = session if session.tracker.no_loop else self
                keys = sorted(key for key, changer in changed.items() if changer is not own)
                if keys:
                    self._tell(session, session.tracker, keys)

    def _tell(self, session: Session, tracker: Tracker, keys: list[bytes] | None, event: str = "") -> None:
        """Sends invalidated keys (None for all) to a client, or to the client of its ``redirect``."""
        listener = session
        if tracker.redirect:
            found = self._sessions.get(tracker.redirect)
            if found is None:
                tracker.is_broken = True
                if session.resp > 2:
                    session.push(encode(Push([REDIRECTION_BROKEN, tracker.redirect]), 3))
                return
            listener = found
        encoded = encode(keys, session.resp)
        if listener.resp > 2:
            listener.push(joined([b">2\r\n$10\r\ninvalidate\r\n", encoded]), event)
        elif tracker.redirect and listener.subscriptions:
            listener.push(joined([b"*3\r\n$7\r\nmessage\r\n$20\r\n%b\r\n" % CHANNEL, encoded]), event)
