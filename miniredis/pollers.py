"""Pollers: one object that holds every socket, and has a file descriptor that Trio can wait for.

The standard library's selectors wrap what the system tells of each ready socket in objects of their own. A
server that is told of fifty at a time does better to hear it bare.
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
        """The descriptor that is ready to be read whenever one of the sockets is ready."""

    def add(self, descriptor: int, events: int) -> None:
        """Watches a socket for ``READ``, ``WRITE``, both, or neither: then only for its end."""

    def change(self, descriptor: int, events: int) -> None:
        """Watches it for other events from now on."""

    def remove(self, descriptor: int) -> None:
        """Watches it no longer."""

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """The sockets that are ready, with their events; waits so long for the first one."""

    def close(self) -> None:
        """Watches nothing any more."""


if sys.platform == "linux":

    class EpollPoller:
        """Linux's epoll; any event beside ``READ`` and ``WRITE`` is an error that both will meet."""

        def __init__(self) -> None:
            epoll = self._epoll = select.epoll()
            self.fileno = epoll.fileno
            self.add = epoll.register
            self.change = epoll.modify
            self.remove = epoll.unregister
            self.wait = epoll.poll
            self.close = epoll.close


class SelectorPoller:
    """Any selector of the standard library that has a descriptor, such as kqueue's.

    Args:
        selector: empty; it belongs to the poller from now on.
    """

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._idle: set[int] = set()  # selectors hold no socket that is watched for nothing

    def fileno(self) -> int:
        """The selector's own."""
        return int(self._selector.fileno())  # type: ignore[attr-defined]

    def add(self, descriptor: int, events: int) -> None:
        """Watches a socket."""
        if events:
            self._selector.register(descriptor, to_selector(events))
        else:
            self._idle.add(descriptor)

    def change(self, descriptor: int, events: int) -> None:
        """Watches it for other events."""
        self.remove(descriptor)
        self.add(descriptor, events)

    def remove(self, descriptor: int) -> None:
        """Watches it no longer."""
        if descriptor in self._idle:
            self._idle.remove(descriptor)
        else:
            self._selector.unregister(descriptor)

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """The sockets that are ready."""
        return [(key.fd, from_selector(events)) for key, events in self._selector.select(seconds)]

    def close(self) -> None:
        """Watches nothing any more."""
        self._selector.close()


def to_selector(events: int) -> int:
    return selectors.EVENT_READ * bool(events & READ) | selectors.EVENT_WRITE * bool(events & WRITE)


def from_selector(events: int) -> int:
    return READ * bool(events & selectors.EVENT_READ) | WRITE * bool(events & selectors.EVENT_WRITE)


def has_poller() -> bool:
    """Whether this platform has a poller with a descriptor."""
    return hasattr(selectors.DefaultSelector, "fileno")


def new_poller() -> Poller:
    """The best that this platform has: epoll on Linux, kqueue on macOS and the BSDs."""
    return EpollPoller() if sys.platform == "linux" else SelectorPoller(selectors.DefaultSelector())
