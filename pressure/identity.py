"""Who holds a role: the id of each hold, and the name of the connection on which it lives.

Pressure protocol 0.15, Clients: each client needs a unique identifying value, suggested to be made of host,
process and thread. Ours is new for every time a role is taken, a hold:
``<host>:<pid>:<nonce>/<connection>/<hold>``, in printable ASCII without spaces. What stands before the last
slash is the name (CLIENT SETNAME) of the one connection on which the hold lives, so CLIENT LIST tells whether
its holder is still there. Whoever gives the role back adds ``/released`` to the id in the holder key.

Rules:
    - The nonce is random for each process, so that neither a process that got the same pid nor a forked child
      vouches for somebody else. After a fork the child begins anew, without holds.
    - Connections and holds are counted, and no number is used twice.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from itertools import count
from typing import Final

__all__ = ["HOLDS", "Holds", "connection_in", "is_released", "process_in", "released", "unmarked"]

_ID: Final = re.compile(rb"(([A-Za-z0-9._-]+:[0-9]+:[0-9a-f]{8})/[0-9]+)/[0-9]+")
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")
_RELEASED: Final = b"/released"


def _this_process() -> bytes:
    host = _NOT_PLAIN.sub("-", socket.gethostname()) or "localhost"
    return f"{host}:{os.getpid()}:{secrets.token_hex(4)}".encode()


class Holds:
    """The holds of one process that live; ``HOLDS`` are this process's.

    Args:
        process: ``<host>:<pid>:<nonce>``; that of this process unless it is given.
    """

    def __init__(self, process: bytes | None = None) -> None:
        self._begin_anew(process)

    def _begin_anew(self, process: bytes | None = None) -> None:
        self.process = process or _this_process()
        self._connections = count(1)
        self._numbers = count(1)
        self._live: set[bytes] = set()

    def connection_name(self) -> bytes:
        """A new name for a connection; a different one for each call."""
        return b"%b/%d" % (self.process, next(self._connections))

    def begin(self, connection_name: bytes) -> bytes:
        """A new hold on a connection; its id. It lives from now on."""
        hold_id = b"%b/%d" % (connection_name, next(self._numbers))
        self._live.add(hold_id)
        return hold_id

    def end(self, hold_id: bytes) -> None:
        """The hold is over: nothing will be written for it any more."""
        self._live.discard(hold_id)

    def is_dead(self, hold_id: bytes | None) -> bool:
        """Whether this is the id of a hold of this process that is over, and that was never marked."""
        return hold_id is not None and process_in(hold_id) == self.process and hold_id not in self._live


def connection_in(hold_id: bytes) -> bytes | None:
    """The name of the connection of a hold; None if the id is marked as released, or not of our form."""
    match = _ID.fullmatch(hold_id)
    return match[1] if match else None


def process_in(hold_id: bytes) -> bytes | None:
    """The process of a hold, ``<host>:<pid>:<nonce>``; None as with ``connection_in``."""
    match = _ID.fullmatch(hold_id)
    return match[2] if match else None


def released(hold_id: bytes) -> bytes:
    """What the holder key says after a hold was given back."""
    return hold_id + _RELEASED


def is_released(holder: bytes) -> bool:
    """Whether a holder key says that the role was given back: an id of our form, marked."""
    return holder.endswith(_RELEASED) and _ID.fullmatch(holder.removesuffix(_RELEASED)) is not None


def unmarked(holder: bytes) -> bytes:
    """The id in a holder key, whether or not it is marked."""
    return holder.removesuffix(_RELEASED) if is_released(holder) else holder


#: The holds of this process.
HOLDS: Final = Holds()

os.register_at_fork(after_in_child=HOLDS._begin_anew)
