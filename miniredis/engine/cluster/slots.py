"""The hash slot of a key, and a hash tag of each slot."""

from __future__ import annotations

from binascii import crc_hqx
from functools import cache
from itertools import product
from typing import Final

__all__ = ["SLOTS", "key_slot", "slot_tag"]

SLOTS: Final = 16384
"""The number of hash slots of a cluster."""


def key_slot(key: bytes) -> int:
    """The slot of a key, or of its hash tag: what is between the first ``{`` and the next ``}``."""
    start = key.find(b"{") + 1
    end = key.find(b"}", start) if start else -1
    return crc_hqx(key[start:end] if end > start else key, 0) % SLOTS  # CRC16/XMODEM


@cache
def slot_tag(slot: int) -> bytes:
    """The shortest word of digits and letters that has a slot, and of those the first in their order.

    The checksum of a word is that of its parts, each with zeros in place of the others, combined by XOR. So
    the last letter is looked up.
    """
    for length in (1, 2, 3):
        for begun in product(*SHIFTED[length - 1 : 0 : -1]):
            rest = slot
            for checksum, _ in begun:
                rest ^= checksum
            if rest in LAST:
                return bytes([*(letter for _, letter in begun), LAST[rest]])
    raise ValueError(f"there is no slot {slot}")


LETTERS: Final = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

SHIFTED: Final = [
    [(key_slot(bytes([letter]) + bytes(zeros)), letter) for letter in LETTERS] for zeros in range(3)
]
"""Each digit and letter with so many zeros behind it, and the slot of that."""

LAST: Final = dict(SHIFTED[0])
"""The digits and letters by their own slots."""
