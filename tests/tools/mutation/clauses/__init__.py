"""Servers and clients that are broken on purpose, to see that the suite convicts them.

Each is a copy of one of our packages with one small change, given as data: the text that is changed, what it
becomes, the clauses by which one would expect the conviction, and the flavour of our client it is judged
with. To add one, add a row to a table in ``PARTIES``; a test holds every row to its clauses.
"""

from __future__ import annotations

from .batches import BATCHES
from .clients import CLIENTS
from .kinds import KINDS
from .model import Guilty
from .scripts import SCRIPTS
from .servers import SERVERS
from .trial import Court

__all__ = ["PARTIES", "Court", "Guilty"]

PARTIES = (*CLIENTS, *BATCHES, *SCRIPTS, *KINDS, *SERVERS)
