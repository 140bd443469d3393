"""What the id of a hold says: who holds a role, and on which connection. ``pool.Holds`` makes the ids.

Pressure protocol 0.15, Clients: each client needs a unique identifying value, suggested to be made of host,
process and thread. Ours is new for every time a role is taken, a hold:
``<host>:<pid>:<nonce>/<connection>/<hold>``, in printable ASCII without spaces. What stands before the last
slash is the name (CLIENT SETNAME) of the one connection on which the hold lives, so CLIENT LIST tells whether
its holder is still there. Whoever gives the role back adds ``/released`` to the id in the holder key.
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
    """What the holder key says after a hold was given back."""
    return hold_id + _RELEASED


def is_released(holder: bytes) -> bool:
    """Whether a holder key says that the role was given back: an id of our form, marked."""
    return holder.endswith(_RELEASED) and _ID.fullmatch(holder.removesuffix(_RELEASED)) is not None


def unmarked(holder: bytes) -> bytes:
    """The id in a holder key, whether or not it is marked."""
    return holder.removesuffix(_RELEASED) if is_released(holder) else holder
