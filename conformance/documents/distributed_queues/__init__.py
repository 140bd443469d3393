"""The notes on distributed queues, and the reliable pattern of the notes on list commands.

They are asked of the kinds of queues that ``pressure`` has beside the protocol's, on whatever server. What was
decided where the documents are silent is marked so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...judging.environment import expect
from ..registry import clauses_of
from ..state import datas

__all__ = ["IN_PROGRESS", "ITEMS", "RING", "expect_counted", "noted", "patterns"]

patterns = clauses_of("distributed-queues")
noted = clauses_of("list-notes", "distributed-queues")

IN_PROGRESS: Final = "Queue with In-Progress Backup"
RING: Final = "Circular Buffer with Item Locking"

ITEMS: Final = (b"first", b"second", b"third", b"fourth")
"""As many as a bound, a count or a set of locks needs on both sides of it."""


def expect_counted(queue: Any, empty: Callable[[], object]) -> None:
    """Fails unless pushes, the length and looks at the front are right of any number of items."""
    for count in range(len(ITEMS) + 1):
        empty()
        some = list(ITEMS[:count])
        expect((queue.push(*some), queue.push(), queue.length()), (count,) * 3, f"lengths with {count} items")
        for most in range(1, len(ITEMS) + 2):
            expect(datas(queue.peek(most)), some[:most], f"up to {most} of {count} that are next")
        expect(datas(queue.peek()), some[:1], f"the next of {count}")
