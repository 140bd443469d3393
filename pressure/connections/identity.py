"""The id of a hold: it names the holder of a role, and its connection. ``pool.Holds`` makes the ids.

Pressure protocol 0.15, Clients: each client needs a unique identifying value, suggested to be made of host,
process and thread. Ours is new for each hold, that is, each time a client takes a role:
``<host>:<pid>:<nonce>/<connection>/<hold>``, in printable ASCII without spaces. The part before the last
slash is the name (CLIENT SETNAME) of the one connection on which the hold lives, so CLIENT LIST tells whether
its holder is alive. A client that gives a role back adds ``/released`` to the id in the holder key.
"""

from __future__ import annotations

import re
from typing import Final

_ID: Final = re.compile(rb"(([A-Za-z0-9._-]+:[0-9]+:[0-9a-f]{8})/[0-9]+)/[0-9]+")
_RELEASED: Final = b"/released"


def connection_in(hold_id: bytes) -> bytes | None:
    """The name of the connection of a hold; None if the id is marked as released, or not of our form."""
    match = _ID.fullmatch(hold_id)
    return match[1] if match else None


def process_in(hold_id: bytes) -> bytes | None:
    """The process of a hold, ``<host>:<pid>:<nonce>``; None as with ``connection_in``."""
    match = _ID.fullmatch(hold_id)
    return match[2] if match else None


def released(hold_id: bytes) -> bytes:
    """The value of the holder key after a hold has given its role back."""
    return hold_id + _RELEASED


def is_released(holder: bytes) -> bool:
    """Whether this value of a holder key is an id of our form that is marked as released."""
    return holder.endswith(_RELEASED) and _ID.fullmatch(holder.removesuffix(_RELEASED)) is not None


def unmarked(holder: bytes) -> bytes:
    """The id in a holder key, without the mark if it has one."""
    return holder.removesuffix(_RELEASED) if is_released(holder) else holder
