"""The kinds of faults on demand: what a test has go wrong between a server and its clients.

To add one, write a class with the method ``act`` here, a function for users in ``miniredis/faults.py``, and a
row for DEBUG FAULT in ``commands/faulting.py``.

Most servers have no faults, so nothing imports this module until there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from ..gate import refuse

if TYPE_CHECKING:
    from ..clients.session import Session
    from .fault_rules import Request

__all__ = [
    "MOMENTS",
    "Cut",
    "Delay",
    "ErrorReply",
    "LostReply",
    "RefusedConnection",
    "Restart",
    "Trickle",
]

MOMENTS: Final = ("before", "middle", "after")
"""When a connection can be cut."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error in place of the command's own reply; the command does not run."""

    text: bytes

    def __post_init__(self) -> None:
        if not self.text or b"\r" in self.text or b"\n" in self.text:
            raise ValueError(f"an error reply is one line, not {self.text.decode(errors='replace')!r}")

    def act(self, request: Request) -> None:
        """Refuses the request."""
        refuse(request.session, request.command, request.args, self.text)


@dataclass(frozen=True, slots=True)
class Delay:
    """The command, and what its client sent behind it, runs so many seconds later, by the server's clock."""

    seconds: float

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError(f"a delay takes more than 0 seconds, not {self.seconds!r}")

    def act(self, request: Request) -> None:
        """Holds the request up."""
        request.session.postpone(request.args, max(round(self.seconds * 1000), 1))
        request.session.engine.rules.let_pass(request.session)


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends: before the command runs, in the middle of its reply, or after the reply."""

    when: str

    def __post_init__(self) -> None:
        if self.when not in MOMENTS:
            raise ValueError(
                f"a connection can be cut 'before', in the 'middle' or 'after', not {self.when!r}"
            )

    def act(self, request: Request) -> None:
        """Ends the connection."""
        engine = request.session.engine
        if self.when == "before":
            engine.hang_up(request.session)
        else:
            engine.rules.change_reply(request, self._end)

    def _end(self, session: Session, reply: bytes) -> bytes:
        session.close()
        return reply[: len(reply) // 2] if self.when == "middle" else reply


@dataclass(frozen=True, slots=True)
class LostReply:
    """The command runs, and its client does not hear of it; ``closes``: its connection ends."""

    closes: bool

    def act(self, request: Request) -> None:
        """Drops the reply."""
        request.session.engine.rules.change_reply(request, self._drop)

    def _drop(self, session: Session, _reply: bytes) -> bytes:
        if self.closes:
            session.close()
        return b""


@dataclass(frozen=True, slots=True)
class Restart:
    """All connections end, as when the server is started again; with its keys, or without."""

    keeps_data: bool

    def act(self, request: Request) -> None:
        """Hangs up on everybody."""
        engine = request.session.engine
        for each in tuple(engine.sessions.values()):
            engine.hang_up(each)
        if not self.keeps_data:
            engine.reset(engine.now)


@dataclass(frozen=True, slots=True)
class Trickle:
    """Output goes out in pieces of some bytes, some seconds apart: the reply, or all from then on."""

    size: int
    seconds: float
    lasts: bool

    def __post_init__(self) -> None:
        if self.size < 1 or not self.seconds > 0:
            raise ValueError(
                "a piece has at least 1 byte, and comes more than 0 seconds after the one before"
            )

    def act(self, request: Request) -> None:
        """Slows down what is sent."""
        request.session.engine.rules.change_reply(request, self._begin)

    def _begin(self, session: Session, reply: bytes) -> bytes:
        session.engine.trickles.begin(session, self.size, round(self.seconds * 1_000_000), lasts=self.lasts)
        return reply


@dataclass(frozen=True, slots=True)
class RefusedConnection:
    """A new client is turned away; its rule is about connections, and no request meets it."""

    is_of_connections: ClassVar = True

    def act(self, request: Request) -> None:
        """Never called."""
        raise AssertionError(f"{request.command.name!r} is no connection")
