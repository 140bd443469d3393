"""Makes a forked child close its copies of the descriptors of its parent's servers.

A server runs in one process, and a forked child inherits copies of its descriptors. While a copy is open, the
kernel keeps a connection that the parent has closed, and a port on which the parent no longer listens. So the
child closes the copies before it does anything else.
"""

from __future__ import annotations

import os
import sys
import weakref
from typing import Final, Protocol

__all__ = ["Inherited", "close_copy", "leave_to_parent_on_fork"]


class Inherited(Protocol):
    """A server of the parent process, as the child inherits it."""

    def leave_to_parent(self) -> None:
        """Called in the child: closes the descriptors, without any effect on the parent."""


class Socket(Protocol):
    """A socket, Python's own or Trio's."""

    def detach(self) -> int:
        """Returns the descriptor, and no longer owns it; -1 if the socket is closed."""


RUNNING: Final[weakref.WeakSet[Inherited]] = weakref.WeakSet()


def leave_to_parent_on_fork(server: Inherited) -> None:
    """Makes each child forked from now on call ``leave_to_parent`` of a server."""
    RUNNING.add(server)


def close_copy(copy: Socket) -> None:
    """Closes a forked child's copy of a socket; the connection stays the parent's."""
    descriptor = copy.detach()
    if descriptor >= 0:
        os.close(descriptor)


def leave_all() -> None:
    for server in tuple(RUNNING):
        server.leave_to_parent()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=leave_all)
