"""Who records requests: each request is kept with its client, its time and its reply.

A request is recorded where it runs. Plain ones keep their fast path: ``Recorders.call`` runs them, and is
another function while somebody records. All others pass ``FaultRules.run``. A reply is kept as the command
returned it, and ``encoded`` makes bytes of it when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..call import call
from ..clients.client_flags import BLOCKED
from ..protocol.replies import NO_REPLY, Encoded, Reply, encode, joined

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..declarations.registry import Command
    from ..engine import Engine

__all__ = ["BEGAN", "CLIENT", "ENDED", "NOW", "WORDS", "Entry", "Recorders", "encoded"]

Entry: TypeAlias = list[Any]
"""A request that is recorded: a list, as nothing else is made as fast. Its items have the numbers below."""

CLIENT: Final = 0
"""The name of its client, or the number where the client has none."""
NOW: Final = 1
"""When it came: an ``Instant``."""
WORDS: Final = 2
"""The request: a tuple of bytes."""
BEGAN: Final = 3
"""Its place among all beginnings and ends."""
REPLY: Final = 4
"""The reply as the command returned it; ``NO_REPLY`` if there was none."""
RESP: Final = 5
"""The version of the protocol that the client speaks."""
ENDED: Final = 6
"""The place of the reply; None if there was none."""

UNCHANGED: Final = frozenset({bytes, int, type(None), Encoded})
"""Replies that nobody changes later. All others are encoded at once."""


def encoded(entry: Entry) -> bytes | None:
    """The bytes of the reply; None if there was none."""
    return None if entry[REPLY] is NO_REPLY else bytes(encode(entry[REPLY], entry[RESP]))


class Recorders:
    """Who records the requests of one server.

    Attributes:
        are_on: whether there is anybody.
        call: runs a plain request: ``call.call``, or the same with a recording.
    """

    def __init__(self) -> None:
        self.are_on = False
        self.call: Callable[[Engine, Session, Command, list[bytes]], Reply] = call
        self._keepers: tuple[Callable[[Entry], object], ...] = ()
        self._next_moment = count(1).__next__
        self._under_way: dict[Session, Entry] = {}

    def add(self, keep: Callable[[Entry], object]) -> None:
        """Calls a function with each request; the reply comes into the entry later."""
        self._use((*self._keepers, keep))

    def remove(self, keep: Callable[[Entry], object]) -> None:
        """Ends that; replies to requests under way still come."""
        self._use(tuple(each for each in self._keepers if each is not keep))

    def _use(self, keepers: tuple[Callable[[Entry], object], ...]) -> None:
        self._keepers = keepers
        self.are_on = bool(keepers)
        self.call = self._call if keepers else call

    def begin(self, session: Session, args: list[bytes]) -> Entry:
        """A client has sent a request."""
        name = session.name or session.id
        entry = [name, session.engine.now, (*args,), self._next_moment(), NO_REPLY, session.resp, None]
        for keep in self._keepers:
            keep(entry)
        return entry

    def end(self, entry: Entry, reply: Reply) -> None:
        """It has its reply."""
        entry[REPLY] = reply if type(reply) in UNCHANGED else Encoded(bytes(encode(reply, entry[RESP])))
        entry[ENDED] = self._next_moment()

    def begin_waiting(self, session: Session, args: list[bytes]) -> None:
        """The same as ``begin`` for a request whose reply ``hear`` finds, or ``served``."""
        self._under_way[session] = self.begin(session, args)

    def hear(self, session: Session, at: int) -> None:
        """The reply is what a client's output has from a place on, unless the client waits for it."""
        if session in self._under_way and not session.flags & BLOCKED:
            self._hear(session, at)

    def served(self, session: Session) -> None:
        """A client that was blocked has got its reply: the last piece of its output, if any."""
        if session in self._under_way and session.postponed is None:
            self._hear(session, max(len(session.outgoing) - 1, 0))

    def forget(self, session: Session) -> None:
        """A client is gone."""
        self._under_way.pop(session, None)

    def _hear(self, session: Session, at: int) -> None:
        entry = self._under_way.pop(session)
        if reply := bytes(joined(session.outgoing[at:])):
            self.end(entry, Encoded(reply))

    def _call(self, engine: Engine, session: Session, command: Command, args: list[bytes]) -> Reply:
        name = session.name or session.id
        entry: Entry = [name, engine.now, (*args,), self._next_moment(), NO_REPLY, session.resp, None]
        for keep in self._keepers:  # as ``begin`` and, below, ``end``, in less time
            keep(entry)
        reply = call(engine, session, command, args)
        if type(reply) in UNCHANGED:
            entry[REPLY], entry[ENDED] = reply, self._next_moment()
        elif reply is NO_REPLY:
            self._under_way[session] = entry  # it waits
        else:
            self.end(entry, reply)
        return reply
