"""Small faults of the engine, one line each, that a comparison with a real Redis must find."""

from __future__ import annotations

from typing import Final

from ..clauses.model import Guilty
from .clients import CLIENTS
from .hashes import HASHES_AND_SETS
from .keys import KEYS
from .lists import LISTS
from .messages import MESSAGES
from .scripts import SCRIPTS
from .sizes import SIZES
from .sorted_sets import SORTED_SETS
from .streams import STREAMS
from .strings import STRINGS
from .trial import LIMIT, effort_to_find

__all__ = ["LIMIT", "MUTANTS", "effort_to_find"]

MUTANTS: Final[tuple[Guilty, ...]] = (
    *LISTS, *STRINGS, *HASHES_AND_SETS, *SORTED_SETS, *STREAMS, *KEYS, *CLIENTS, *MESSAGES, *SCRIPTS,
    *SIZES,
)  # fmt: skip
