"""What a ``Host`` needs: an outlet for the replies of each client, and the loop that moves their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .engine import Instant

__all__ = ["Loop", "Outlet"]


class Outlet(Protocol):
    """Carries what the engine says to one client; called on any thread, with the lock held."""

    def flush(self, now: Instant) -> None:
        """Sends what the session has to say, and hangs up if it is closing."""

    def hang_up(self) -> None:
        """The server stops: ends the connection."""

    def leave_to_parent(self) -> None:
        """In a forked child: closes what it inherited of the connection, which goes on in the parent."""


class Loop(Protocol):
    """Moves bytes between sockets and the engine, on the server's own thread."""

    def take_in(self) -> None:
        """Attends to all that has arrived by now."""

    def attend_meanwhile(self) -> None:
        """Lets other clients in while a script keeps the thread."""

    def leave_to_parent(self) -> None:
        """In a forked child: closes what it inherited of the loop."""
