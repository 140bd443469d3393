"""The notes on distributed queues, and the reliable pattern of the notes on list commands.

They are asked of the kinds of queues that ``pressure`` has beside the protocol's, on whatever server. What was
decided where the documents are silent is marked so.
"""

from __future__ import annotations

from typing import Final

from ..registry import clauses_of

__all__ = ["IN_PROGRESS", "RING", "noted", "patterns"]

patterns = clauses_of("distributed-queues")
noted = clauses_of("list-notes", "distributed-queues")

IN_PROGRESS: Final = "Queue with In-Progress Backup"
RING: Final = "Circular Buffer with Item Locking"
