"""Pollers: one object that holds every socket, and has a file descriptor that Trio can wait for.

On Linux this is epoll itself. The standard library's selectors create an object for each ready socket, which
costs time in a server with many ready sockets in each tick.
"""

from __future__ import annotations

import select
import selectors
import sys
from typing import Final, Protocol

__all__ = ["READ", "WRITE", "EpollPoller", "Poller", "SelectorPoller", "has_poller", "new_poller"]

READ: Final = 1
"""There is something to read, or the other side is gone; epoll's own bit."""

WRITE: Final = 4
"""There is room to write, or the other side is gone; epoll's own bit."""


class Poller(Protocol):
    """Tells which sockets are ready."""

    def fileno(self) -> int:
        """The descriptor that is readable whenever one of the sockets is ready."""

    def add(self, descriptor: int, events: int) -> None:
        """Watches a socket for ``READ``, ``WRITE``, both, or neither: then at most for its end."""

    def change(self, descriptor: int, events: int) -> None:
        """Watches a socket for other events from now on."""

    def remove(self, descriptor: int) -> None:
        """Stops watching a socket."""

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """The ready sockets with their events; waits up to ``seconds`` for the first one."""

    def close(self) -> None:
        """Stops watching, and closes the poller's descriptor."""


if sys.platform == "linux":

    class EpollPoller:
        """Linux's epoll. An event that is not ``READ`` or ``WRITE`` is an error that reading meets."""

        def __init__(self) -> None:
            epoll = select.epoll()
            self.fileno = epoll.fileno
            self.add = epoll.register
            self.change = epoll.modify
            self.remove = epoll.unregister
            self.wait = epoll.poll
            self.close = epoll.close


class SelectorPoller:
    """Any selector of the standard library that has a descriptor, such as kqueue's.

    Args:
        selector: watches nothing yet; the poller closes it.
    """

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._idle: set[int] = set()  # watched for no event: a selector does not accept these

    def fileno(self) -> int:
        """The selector's descriptor."""
        return int(self._selector.fileno())  # type: ignore[attr-defined]

    def add(self, descriptor: int, events: int) -> None:
        """Watches a socket."""
        if events:
            self._selector.register(descriptor, to_selector(events))
        else:
            self._idle.add(descriptor)

    def change(self, descriptor: int, events: int) -> None:
        """Watches a socket for other events."""
        self.remove(descriptor)
        self.add(descriptor, events)

    def remove(self, descriptor: int) -> None:
        """Stops watching a socket."""
        if descriptor in self._idle:
            self._idle.remove(descriptor)
        else:
            self._selector.unregister(descriptor)

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """The ready sockets with their events."""
        return [(key.fd, from_selector(events)) for key, events in self._selector.select(seconds)]

    def close(self) -> None:
        """Closes the selector."""
        self._selector.close()


def to_selector(events: int) -> int:
    return selectors.EVENT_READ * bool(events & READ) | selectors.EVENT_WRITE * bool(events & WRITE)


def from_selector(events: int) -> int:
    return READ * bool(events & selectors.EVENT_READ) | WRITE * bool(events & selectors.EVENT_WRITE)


def has_poller() -> bool:
    """Whether this platform has a poller with a descriptor."""
    return hasattr(selectors.DefaultSelector, "fileno")


def new_poller() -> Poller:
    """The best poller of this platform: epoll on Linux, kqueue on macOS and the BSDs."""
    if sys.platform == "linux":
        return EpollPoller()
    return SelectorPoller(selectors.DefaultSelector())
