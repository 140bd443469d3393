"""Interfaces: an outlet for each client, and the loops that serve sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..engine import Instant

__all__ = ["Loop", "Outlet"]


class Outlet(Protocol):
    """Sends replies to one client; called on any thread, with the lock held."""

    def flush(self, now: Instant) -> None:
        """Sends the session's output, and hangs up if the session is closing."""

    @property
    def unsent(self) -> int:
        """Bytes that were flushed and that the client has not been sent yet."""

    def hang_up(self) -> None:
        """Ends the connection at once."""

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copy of the connection, which the parent keeps."""


class Loop(Protocol):
    """Moves bytes between sockets and the engine, on the server's own thread."""

    async def run(self) -> None:
        """Serves clients until it is cancelled."""

    def close(self) -> None:
        """Closes its descriptors, after all clients are disconnected; also where ``run`` never began."""

    def read_arrived(self) -> None:
        """Runs all requests that have arrived."""

    def refuse(self, refuses: bool) -> None:
        """Has the system refuse new clients, where it can, or ends that. With the lock held."""

    def serve_during_script(self) -> None:
        """Serves other clients while a script keeps the thread."""

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copies of the loop's descriptors."""
