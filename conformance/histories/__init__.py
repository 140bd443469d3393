"""Histories: what many clients did at the same time, recorded, judged and drawn.

A history has, for each operation, when it began, when it returned, and its result. It is recorded by
``recorder``, ``runs`` and ``processes``, and kept in files of JSON Lines by ``records``::

    history = conformance.histories.read(Path("history.jsonl"))
    for rule, verdict in conformance.histories.judged(history).items():
        print(rule, verdict.answer, verdict.reason)

A checker says whether a correct server can have given these results: ``ok``, ``illegal`` or ``unknown``.
``fifo`` judges queues, ``waiters`` clients that are blocked on a list, ``linearizable`` whatever one of
``models`` knows: the types of Redis, and your own. ``picture`` draws the place that cannot be explained.
"""

from .judging import judged
from .model import NEVER, Facts, History, Operation, Verdict, worst
from .models import MODELS, Model
from .picture import as_svg, as_text, evidence
from .records import read, write

__all__ = [
    "MODELS",
    "NEVER",
    "Facts",
    "History",
    "Model",
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
