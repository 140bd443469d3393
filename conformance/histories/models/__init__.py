"""Models: what an object answers to operations that are done one after the other.

``REDIS`` knows the commands on lists, strings, hashes, sets and sorted sets in the tables of the modules
beside this one. To add a command, add a row to the table of its type. To have an object of your own judged,
make a ``Model`` and hand it over: ``judged(history, [*MODELS, mine])``. With ``redis_model`` you make a model
of some tables, and rows of your own.
"""

from __future__ import annotations

from typing import Final

from .base import Model, Outcome, one_key
from .hashes import HASHES
from .keys import KEYS
from .lists import LISTS
from .redis import AnyOrder, Command, Refusal, Stored, number, on, redis_model
from .sets import SETS
from .sorted_sets import SORTED_SETS
from .strings import STRINGS

__all__ = [
    "HASHES",
    "KEYS",
    "LISTS",
    "MODELS",
    "REDIS",
    "SETS",
    "SORTED_SETS",
    "STRINGS",
    "AnyOrder",
    "Command",
    "Model",
    "Outcome",
    "Refusal",
    "Stored",
    "number",
    "on",
    "one_key",
    "redis_model",
]

REDIS: Final = redis_model(LISTS, STRINGS, HASHES, SETS, SORTED_SETS, KEYS)
"""The keys of a Redis server, whatever their types."""

MODELS: Final = (REDIS,)
"""What a history is judged by unless somebody says otherwise."""
