"""The hash slot of a key."""

from __future__ import annotations

from binascii import crc_hqx
from typing import Final

__all__ = ["SLOTS", "key_slot"]

SLOTS: Final = 16384
"""The number of hash slots of a cluster."""


def key_slot(key: bytes) -> int:
    """The slot of a key, or of its hash tag: what is between the first ``{`` and the next ``}``."""
    start = key.find(b"{") + 1
    end = key.find(b"}", start) if start else -1
    return crc_hqx(key[start:end] if end > start else key, 0) % SLOTS  # CRC16/XMODEM
