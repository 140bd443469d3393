"""Mutants: servers and clients that are broken on purpose, to see that the suite convicts them.

Each is a copy of one of our packages with one small change, given as data: the text that is changed, what it
becomes, the clauses by which one would expect the conviction, and the flavour of our client it is judged
with. To add one, add a row to a table in ``PARTIES``; a test holds every row to its clauses, and fails if a
clause convicts no mutant.
"""

from __future__ import annotations

from collections.abc import Collection

from conformance.documents import CLAUSES

from .batches import BATCHES
from .clients import CLIENTS
from .kinds import KINDS
from .lists import LISTS
from .model import Guilty
from .protocol import PROTOCOL
from .redismq import REDISMQ
from .scripts import SCRIPTS
from .servers import SERVERS
from .trial import Court
from .wire import WIRE

__all__ = ["PARTIES", "Court", "Guilty", "unconvicting"]

PARTIES = (*PROTOCOL, *CLIENTS, *BATCHES, *SCRIPTS, *KINDS, *LISTS, *REDISMQ, *SERVERS, *WIRE)


def unconvicting(convicting: Collection[str]) -> list[str]:
    """The clauses that are not among those by which mutants were convicted."""
    return [clause for clause in CLAUSES if clause not in convicting]
