"""The files and lines that the suite is not asked about, each with the reason; the project's tests still are.

A clause says what a document asks for, and judges it over connections to one server. What nobody wrote down for others,
or what takes more than that, no clause can know.
"""

from __future__ import annotations

from typing import Final

from .model import Mutant

__all__ = ["BEYOND", "BEYOND_LINES", "is_beyond"]

_PEOPLE: Final = "it tells people about a queue, in our own words, and no document says which"
_REPLICA: Final = "it takes a second server, a replica, and a clause has one"
_DISK: Final = "it is about files on a server's disk, and a clause has connections"
_CLUSTER: Final = "it takes a server that is part of a cluster"
_INSIDE: Final = "only programs that have the server in their own process see it"
_MEMORY: Final = "it takes a server whose memory is full, which miniredis never is"
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

BEYOND_LINES: Final = {
    ("miniredis/engine/waiting.py", "return tuple(self._blocked)"): _INSIDE,
    (
        "miniredis/engine/commands/server.py",
        'elif not session.engine.saves.write_at_end(is_asked_for=b"SAVE" in options) and b"FORCE" not in options:',
    ): _DISK,
    ("pressure/kinds/kind.py", "return bool(hash_tag(self.main))"): _CLUSTER,
    (
        "pressure/kinds/kind.py",
        "self._context = replace(self._context, keys=replace(place, all=(place.main, *keys)))",
    ): _CLUSTER,
    ("pressure/kinds/ring/lua.py", "redis.call('RPOP', ring, 0)"): _MEMORY,
}
"""The same by file and line, as it stands there."""


def is_beyond(mutant: Mutant) -> bool:
    """Whether the suite is not asked about a mutant."""
    return mutant.file in BEYOND or (mutant.file, mutant.changed()[0]) in BEYOND_LINES
