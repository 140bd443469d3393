"""What a ``TickRunner`` calls: the outlet of each client, and the loop that moves bytes of sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .engine import Instant

__all__ = ["Loop", "Outlet"]


class Outlet(Protocol):
    """Sends replies to one client; called on any thread, with the lock held."""

    def flush(self, now: Instant) -> None:
        """Sends the session's output, and hangs up if the session is closing."""

    @property
    def unsent(self) -> int:
        """How many bytes of what was flushed the client has not been sent yet."""

    def hang_up(self) -> None:
        """Ends the connection, as the server stops."""

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copy of the connection, which the parent keeps."""


class Loop(Protocol):
    """Moves bytes between sockets and the engine, on the server's own thread."""

    def read_arrived(self) -> None:
        """Reads and runs all that has arrived by now."""

    def serve_during_script(self) -> None:
        """Reads and answers other clients while a script keeps the thread."""

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copies of the loop's descriptors."""
