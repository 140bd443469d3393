"""What becomes of a server in a process that is forked from its own.

A server runs in one process. A forked child inherits copies of its descriptors. While such a copy is open,
the kernel keeps a connection that the parent has closed, and a port where the parent listens no more. So the
child closes its copies before it does anything else.
"""

from __future__ import annotations

import os
import weakref
from typing import Final, Protocol

__all__ = ["Inherited", "close_copy", "leave_to_parent_on_fork"]


class Inherited(Protocol):
    """A server of the parent, as the child finds it."""

    def leave_to_parent(self) -> None:
        """Called in the child: closes the descriptors, without any effect on the parent."""


class Socket(Protocol):
    """A socket, Python's own or Trio's."""

    def detach(self) -> int:
        """Gives its descriptor away; -1 if it is closed."""


RUNNING: Final[weakref.WeakSet[Inherited]] = weakref.WeakSet()


def leave_to_parent_on_fork(server: Inherited) -> None:
    """Lets each process that is forked from now on leave a server to this one."""
    RUNNING.add(server)


def close_copy(copy: Socket) -> None:
    """Closes a forked child's copy of a socket; the connection stays the parent's."""
    descriptor = copy.detach()
    if descriptor >= 0:
        os.close(descriptor)


def leave_all() -> None:
    for server in tuple(RUNNING):
        server.leave_to_parent()


os.register_at_fork(after_in_child=leave_all)
