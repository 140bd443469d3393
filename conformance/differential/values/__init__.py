"""What arguments are made of: for each kind, and for some names, values that are valid, on an edge, or wrong.

Few keys, so that commands meet. Times are far in the future or in the past, so that no clock decides a reply;
timeouts are 0 or wrong, so that only other clients end a wait.
"""

from __future__ import annotations

from typing import Final

from .common import BY_KIND, BY_NAME, FIXED, INSTEAD, MILLISECOND_TIMES, ODD, SOME_CLIENT, TIMES
from .hashes import OF_HASHES_AND_SETS
from .messages import OF_MESSAGES
from .scripts import OF_SCRIPTS
from .sorted_sets import OF_SORTED_SETS
from .streams import OF_STREAMS

__all__ = [
    "BY_KIND",
    "BY_NAME",
    "BY_SCOPE",
    "FIXED",
    "INSTEAD",
    "MILLISECOND_TIMES",
    "ODD",
    "SOME_CLIENT",
    "TIMES",
]

BY_SCOPE: Final = OF_HASHES_AND_SETS | OF_MESSAGES | OF_SCRIPTS | OF_SORTED_SETS | OF_STREAMS
"""By the group or the name of a command, then by the name of the argument: what comes before the others."""
