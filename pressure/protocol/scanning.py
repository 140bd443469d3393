"""Find the keys that begin with a prefix."""

from __future__ import annotations

from typing import Final

from pressure.protocol.commands import check
from pressure.protocol.operation import CHECKPOINT, Batch, Operation

_GLOB: Final = b"\\*?[]^-"


def keys_under(root: bytes) -> Operation[list[bytes]]:
    """The rest of each key that begins with ``root``, sorted. Scans every key of the database (SCAN)."""
    pattern = b"".join(b"\\%c" % byte if byte in _GLOB else b"%c" % byte for byte in root) + b"*"
    cursor, rests = b"0", set[bytes]()
    while True:
        ((cursor, keys),) = check((yield Batch(((b"SCAN", cursor, b"MATCH", pattern, b"COUNT", 500),))))
        rests.update(key.removeprefix(root) for key in keys)
        if cursor == b"0":
            return sorted(rests)
        yield CHECKPOINT
