"""The mutants written by hand, and those of them that each judge must convict.

``CONVICTED``: the suite convicts each by exactly the clauses that it names. ``COMPARED``: the comparison with a real
Redis finds each. Add a row to a table of ``clauses`` or ``comparison``; a clause that convicts none fails the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from conformance.documents import CLAUSES

from ..model import Mutant
from .clauses import batches, clients, kinds, lists, protocol, redismq, scripts, servers, unseen
from .comparison import clients as sessions
from .comparison import hashes, keys, messages, sizes, sorted_sets, streams, strings
from .comparison import lists as list_replies
from .comparison import scripts as scripting

__all__ = ["COMPARED", "CONVICTED", "WRITTEN", "clauses_without_mutant"]

COMPARED: Final[tuple[Mutant, ...]] = (
    *list_replies.LISTS, *strings.STRINGS, *hashes.HASHES_AND_SETS, *sorted_sets.SORTED_SETS, *streams.STREAMS,
    *keys.KEYS, *sessions.CLIENTS, *messages.MESSAGES, *scripting.SCRIPTS, *sizes.SIZES,
)  # fmt: skip

CONVICTED: Final[tuple[Mutant, ...]] = (
    *protocol.PROTOCOL, *clients.CLIENTS, *batches.BATCHES, *scripts.SCRIPTS, *kinds.KINDS, *lists.LISTS,
    *redismq.REDISMQ, *servers.SERVERS, *unseen.UNSEEN, *(each for each in COMPARED if each.clauses),
)  # fmt: skip

WRITTEN: Final = tuple(dict.fromkeys((*CONVICTED, *COMPARED)))


def clauses_without_mutant(convicting: Iterable[str]) -> list[str]:
    """The clauses that are not among those by which mutants were convicted, as sentences."""
    found = set(convicting)
    return [
        f"{clause} convicts no mutant: {CLAUSES[clause].text}" for clause in CLAUSES if clause not in found
    ]
