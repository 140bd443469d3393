"""Servers and clients that are broken on purpose, to see that the suite convicts them.

Each is a copy of one of our packages with one small change, given as data: the text that is changed, what it
becomes, and the clauses by which one would expect the conviction. To add one, add a row to ``PARTIES``; a
test holds every row to its clauses.
"""

from __future__ import annotations

from .clients import CLIENTS
from .kinds import KINDS
from .model import Guilty
from .servers import SERVERS
from .trial import convicted_of

__all__ = ["PARTIES", "Guilty", "convicted_of"]

PARTIES = (*CLIENTS, *KINDS, *SERVERS)
