"""CLIENT TRACKING: clients that keep copies of what they read are told when it has changed.

Two ways. Of a client in the first, every key it reads is kept in mind until it changes once. One that asked
for broadcasts says which prefixes it cares for, and hears, when the tick ends, of all keys with one of them
that changed in it. Databases make no difference: a key is its name.

A client is told by a push; if it speaks RESP2, by a message to another one that it named. What it changed
itself it is told behind the reply to its command, or to its EXEC.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .key_positions import KeysError, tracked_keys
from .replies import Push, encode, joined

if TYPE_CHECKING:
    from .registry import Command
    from .session import Session

__all__ = ["Tracker", "Tracking"]

CHANNEL: Final = b"__redis__:invalidate"
REDIRECTION_BROKEN: Final = b"tracking-redir-broken"


@dataclass(slots=True)
class Tracker:
    """How one client is told of changes.

    Attributes:
        redirect: the number of the client that hears in its place; 0 for none.
        broadcasts: it is told of all keys with its prefixes, whether it read them or not.
        opt_in: keys are kept in mind only for commands after CLIENT CACHING YES.
        opt_out: for all commands but those after CLIENT CACHING NO.
        no_loop: it does not hear of what it changed itself.
        prefixes: of the keys that are broadcast.
        caching: CLIENT CACHING was said, and holds for the command at hand.
        is_broken: the client that was to hear in its place is gone.
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
        """Whether the keys of the command at hand are to be kept in mind."""
        return self.caching if self.opt_in else not (self.broadcasts or (self.opt_out and self.caching))


@dataclass(slots=True)
class Prefix:
    """The keys that begin alike.

    Attributes:
        clients: who is told of them.
        changed: those that changed in this tick, each with the client that changed it last.
    """

    clients: dict[Session, None] = field(default_factory=dict)
    changed: dict[bytes, Session | None] = field(default_factory=dict)


class Tracking:
    """Who is to be told of changes to which keys.

    Args:
        sessions: all clients, by their numbers.

    Attributes:
        count: how many clients track keys.
        readers: by key, the numbers of the clients that read it since it changed.
        prefixes: of broadcasts.
        items: how many readers there are in all.
        most: how many keys are kept in mind; 0 for any number.
    """

    def __init__(self, sessions: dict[int, Session]) -> None:
        self._sessions = sessions
        self.count = 0
        self.readers: OrderedDict[bytes, set[int]] = OrderedDict()  # a plain dict finds its first slowly
        self.prefixes: dict[bytes, Prefix] = {}
        self.items = 0
        self.most = 0
        self._later: list[tuple[Session, Tracker, list[bytes] | None]] = []  # what clients changed themselves

    @property
    def is_awaited(self) -> bool:
        """Whether a change may concern somebody."""
        return bool(self.count or self.readers)

    # Who tracks

    def start(self, session: Session, tracker: Tracker) -> None:
        """A client tracks keys from now on, or in another manner; prefixes add to those it has."""
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
        """A client tracks no keys any more; those it read stay in mind until they change."""
        if session.tracker is None:
            return
        self.count -= 1
        for prefix in session.tracker.prefixes:
            del self.prefixes[prefix].clients[session]
            if not self.prefixes[prefix].clients:
                del self.prefixes[prefix]
        session.tracker = None
        session.listen_or_not()

    # What happens

    def remember(self, session: Session, command: Command, args: list[bytes]) -> None:
        """A client that tracks has run a command that reads: its keys are kept in mind."""
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
        """Forgets the oldest keys, if there are more than there may be; their readers are told they changed.

        Redis does so before each command, and ten times a second, as long as some client tracks keys. Here
        the end of a tick takes the place of the latter.
        """
        while self.count and 0 < self.most < len(self.readers):
            self._invalidate(next(iter(self.readers)), running, at_once=True)

    def changed(self, key: bytes, changer: Session | None, running: Session | None, event: str = "") -> bool:
        """A key changed; tells whether that is to be broadcast when the tick ends.

        Args:
            key: its name.
            changer: whose command did it; None if its time had come.
            running: the client whose command is at work, if one is.
            event: the name of the change: some are told of behind the reply.
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
            if session is running and not at_once:
                self._later.append((session, tracker, [key]))
            else:
                self._tell(session, tracker, [key], event)

    def flushed(self, running: Session | None) -> None:
        """All keys went at once."""
        for session in tuple(self._sessions.values()) if self.count else ():
            if session.tracker is not None and session is running:
                self._later.append((session, session.tracker, None))
            elif session.tracker is not None:
                self._tell(session, session.tracker, None)
        self.readers.clear()
        self.items = 0

    def command_over(self) -> None:
        """A client has its reply: it is told what it changed itself, as it tracks now or, else, did last."""
        if self._later:
            later, self._later = self._later, []
            for session, tracker, keys in later:
                self._tell(session, tracker, keys)

    def broadcast(self) -> None:
        """The tick ends: tells of the keys with prefixes that changed in it."""
        for _, prefix in sorted(self.prefixes.items()):
            changed, prefix.changed = prefix.changed, {}
            for session in tuple(prefix.clients) if changed else ():
                assert session.tracker is not None
                own = session if session.tracker.no_loop else self
                keys = sorted(key for key, changer in changed.items() if changer is not own)
                if keys:
                    self._tell(session, session.tracker, keys)

    def _tell(self, session: Session, tracker: Tracker, keys: list[bytes] | None, event: str = "") -> None:
        """Tells a client, or the one that hears in its place, that keys have changed; None for all keys."""
        listener = session
        if tracker.redirect:
            found = self._sessions.get(tracker.redirect)
            if found is None:
                tracker.is_broken = True
                if session.resp > 2:
                    session.push(encode(Push([REDIRECTION_BROKEN, tracker.redirect]), 3))
                return
            listener = found
        news = encode(keys, session.resp)
        if listener.resp > 2:
            listener.push(joined([b">2\r\n$10\r\ninvalidate\r\n", news]), event)
        elif tracker.redirect and listener.subscriptions:
            listener.push(joined([b"*3\r\n$7\r\nmessage\r\n$20\r\n%b\r\n" % CHANNEL, news]), event)
