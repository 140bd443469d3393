"""The files that the suite is not asked about, each with the reason; the project's tests still are.

A clause says what a document asks for, and judges it over connections to one server. What nobody wrote down for others,
or what takes more than that, no clause can know.
"""

from __future__ import annotations

from typing import Final

__all__ = ["BEYOND"]

_PEOPLE: Final = "it tells people about a queue, in our own words, and no document says which"
_REPLICA: Final = "it takes a second server, a replica, and a clause has one"
_DISK: Final = "it is about files on a server's disk, and a clause has connections"
_INTERNAL: Final = "DEBUG is there for those who develop Redis, and Redis documents none of it"

BEYOND: Final = {
    "pressure/protocol/doctor.py": _PEOPLE,
    "pressure/protocol/diagnosis.py": _PEOPLE,
    "pressure/kinds/overview.py": _PEOPLE,
    "pressure/protocol/scanning.py": _PEOPLE,
    "miniredis/engine/commands/replicas.py": _REPLICA,
    "miniredis/engine/commands/failovers.py": _REPLICA,
    "miniredis/engine/commands/replication.py": _REPLICA,
    "miniredis/engine/commands/rewriting.py": _DISK,
    "miniredis/engine/commands/reloading.py": _INTERNAL,
    "miniredis/engine/commands/debugging.py": _INTERNAL,
}
"""By file, why the suite is not asked about its mutants."""
