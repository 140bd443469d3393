"""The values of a restored snapshot, each copied when a command first looks it up.

To restore a snapshot is to copy all that is in it, and a test uses little of that. So a database shares the
snapshot's values at first. All commands get a value by ``get`` or ``[]``, and so none changes one of the
snapshot's. Who goes through ``items`` or ``values`` instead sees these, and only reads.
"""

from __future__ import annotations

from typing import Any

__all__ = ["LentValues"]


class LentValues(dict[bytes, Any]):
    """Values by key. Those of a snapshot, which never change, are copied at their first use.

    Args:
        originals: the snapshot's values by key.
    """

    __slots__ = ("_originals",)

    def __init__(self, originals: dict[bytes, Any]) -> None:
        super().__init__(originals)
        self._originals = originals

    def __getitem__(self, key: bytes) -> Any:
        value = super().__getitem__(key)
        original: Any = self._originals.get(key)
        if value is original and not isinstance(value, bytes):
            value = self[key] = original.copy()
        return value

    def get(self, key: bytes, default: Any = None) -> Any:
        """As that of ``dict``."""
        return self[key] if key in self else default  # noqa: SIM401  (that would come here again)
