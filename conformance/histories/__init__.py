"""What many clients did at once, recorded, judged and drawn.

A recorder notes when each operation began and when it came back (``recorder``, ``runs``, ``processes``); a
file keeps it (``records``). Checkers say whether it can be explained, each of another kind of rule:
``fifo``, near linear, of queues; ``waiters`` of those who wait on a list; ``linearizable``, by search, of
all that is done to lists. ``picture`` draws the place where none of it fits. To add a checker, add it to
``CHECKERS``.
"""

from .judging import CHECKERS, judged
from .model import NEVER, Facts, History, Operation, Verdict, worst
from .picture import as_svg, as_text, evidence
from .records import read, write

__all__ = [
    "CHECKERS",
    "NEVER",
    "Facts",
    "History",
    "Operation",
    "Verdict",
    "as_svg",
    "as_text",
    "evidence",
    "judged",
    "read",
    "worst",
    "write",
]
