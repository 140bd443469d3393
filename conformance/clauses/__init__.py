"""The catalogue: every clause of the documents, as data.

A clause says in our words what a document asks of a server or a client. A module per document holds them; a
check names the clauses it covers, and a test fails if a clause has no check or a check no clause. To add a
clause, add it to its document's module and write a check under ``conformance/checks``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .decisions import DECISIONS
from .histories import HISTORIES
from .lists import LISTS
from .model import Clause, Level
from .protocol import PROTOCOL
from .queues import QUEUES
from .rqueues import RQUEUES
from .wire import WIRE

__all__ = ["CLAUSES", "SUITES", "Clause", "Level"]

ALL: Final = (*PROTOCOL, *DECISIONS, *LISTS, *QUEUES, *RQUEUES, *HISTORIES, *WIRE)

CLAUSES: Final[Mapping[str, Clause]] = {clause.id: clause for clause in ALL}
"""Every clause, by its id."""

SUITES: Final = tuple(dict.fromkeys(suite for clause in ALL for suite in clause.suites))
"""The names of the suites: one for each document, and ``histories`` and ``wire``."""
