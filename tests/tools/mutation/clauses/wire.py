"""Servers that answer other bytes than Redis in one group of commands; each trial needs a real Redis 7.0.

Some are those that the comparison with a real Redis finds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..comparison.clients import CLIENTS
from ..comparison.fault import fault
from ..comparison.hashes import HASHES_AND_SETS
from ..comparison.lists import LISTS
from ..comparison.messages import MESSAGES
from ..comparison.scripts import SCRIPTS
from .model import Guilty

__all__ = ["WIRE"]

FAULTS: Final = {
    each.name: each for faults in (LISTS, HASHES_AND_SETS, CLIENTS, MESSAGES, SCRIPTS) for each in faults
}

CHOSEN: Final[dict[str, Guilty]] = {
    "lists": FAULTS["a push answers one too many"],
    "strings": fault("STRLEN counts one too many", "commands/strings.py", '    return len(session.db.lookup_read(args[1], STRING) or b"")\n', '    return len(session.db.lookup_read(args[1], STRING) or b"") + 1\n'),
    "hashes": FAULTS["HSET answers how many fields it set"],
    "sets": FAULTS["an intersection ends at the first missing key"],
    "sorted-sets": fault("ZCARD counts one too many", "commands/sorted_sets.py", "    return len(session.db.lookup_read(args[1], SORTED_SET) or ())\n", "    return len(session.db.lookup_read(args[1], SORTED_SET) or ()) + 1\n"),
    "streams": fault("XLEN counts one too many", "commands/streams.py", "    return 0 if stream is None else len(stream)\n", "    return 0 if stream is None else len(stream) + 1\n"),
    "keys": fault("EXISTS counts one too many", "commands/generic.py", "    return sum(session.db.lookup_read(key, flags=NO_TOUCH) is not None for key in args[1:])\n", "    return 1 + sum(session.db.lookup_read(key, flags=NO_TOUCH) is not None for key in args[1:])\n"),
    "transactions": FAULTS["an error in EXEC's queue aborts nothing"],
    "blocking": FAULTS["waiters are served youngest first"],
    "messages": FAULTS["UNSUBSCRIBE from nothing says nothing"],
    "scripts": FAULTS["scripts may call what is not for them"],
    "server": fault("ECHO answers upper case", "commands/connection.py", 'with the argument."""\n    return args[1]\n', 'with the argument."""\n    return args[1].upper()\n'),
}  # fmt: skip
"""One for each group of commands, by what follows ``wire.`` in its clause's id."""

WIRE: Final = tuple(
    replace(each, name=f"wire: {each.name}", clauses=(f"wire.{group}",)) for group, each in CHOSEN.items()
)
