"""Limits the memory of scripts, so that an allocation never fails where Lua cannot catch the failure.

When Lua cannot allocate, it jumps to the enclosing ``pcall``. A jump out of a Python function that Lua has
called would leave the interpreter lock held for ever. Without a ``pcall``, Lua would end the process. So
there is always room for a value that passes between Python and Lua:

* Lua's allocator refuses at twice ``limit``. None of Lua's structures grows by more than the memory in use,
  so a value always fits while no more than ``limit`` is in use.
* A script that has used up ``limit`` may go on computing, but cannot call commands.
* The reply of a command raises ``limit`` if it does not fit, so that no reply is lost after its command ran.
  Only replies of commands that read are refused, once replies have raised ``limit`` by ``MOST_GIVEN``.

All sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Final

__all__ = ["MOST_GIVEN", "MOST_KEPT", "OWN", "Memory", "Need"]

OWN: Final = 128 * 1024 * 1024
"""The most memory of a script, besides its arguments and the replies of its commands."""

MOST_GIVEN: Final = 1024 * 1024 * 1024
"""The most memory of a script's arguments, and the most by which replies may raise its limit."""

MOST_KEPT: Final = 256 * 1024 * 1024
"""The most memory that libraries may keep between calls of their functions."""

CROWDED: Final = 128 * 1024 * 1024
"""Garbage is collected between scripts only while more memory than this is in use."""


class Need(Enum):
    """What a script needs before it may call a command."""

    COLLECTION = "garbage is to be collected"
    ROOM = "there is no room for a reply"


class Memory:
    """The memory of one Lua state.

    Args:
        runtime: lupa's ``LuaRuntime``, made with ``max_memory=0``.
        collect: collects all garbage; called while no script runs.

    Attributes:
        limit: the most memory in use while a script runs; 0, for no limit, while none runs.
    """

    def __init__(self, runtime: Any, collect: Callable[[], object]) -> None:
        self._runtime = runtime
        self._in_use: Callable[[bool], int] = runtime.get_memory_used
        self._collect = collect
        self._tidy_from = 0
        self._collect_from = 0
        self._given = 0
        self._refusals = 0
        self._was_collected = False
        self.limit = 0

    def used(self) -> int:
        """The memory in use, garbage included."""
        return self._in_use(True)

    # Between scripts

    def tidy(self) -> int:
        """Collects garbage if much has been allocated since the last time; returns the memory in use."""
        used = self.used()
        if used > max(CROWDED, self._tidy_from):
            self._collect()
            used = self.used()
            self._tidy_from = 2 * used
        return used

    def expect_garbage(self) -> None:
        """Lets the next ``tidy`` collect garbage, because much memory is no longer needed."""
        self._tidy_from = 0

    def begin(self) -> None:
        """Sets the limit for a script that starts; its arguments are in Lua already."""
        used = self.used()
        self._given = self._refusals = 0
        self._was_collected = False
        self._collect_from = used + OWN // 2
        self._set_limit(used + OWN)

    def end(self) -> None:
        """Removes the limit, as when the script has ended."""
        self.limit = 0
        self._runtime.set_max_memory(0, total=True)

    def _set_limit(self, limit: int) -> None:
        self.limit = limit
        self._runtime.set_max_memory(2 * limit, total=True)

    # While a script runs

    def before_command(self) -> Need | None:
        """What is needed before a command can run; None if nothing is.

        Garbage is collected when much has been allocated since the last time. A script whose commands are
        refused may have dropped what filled its memory: collecting is tried again, ever less often.
        """
        used = self._in_use(True)  # not ``used()``: this runs before every command
        if used <= self._collect_from and used <= self.limit:
            return None
        if not self._was_collected:
            if used > self._collect_from:
                return Need.COLLECTION
            self._refusals += 1
            if self._refusals.bit_count() == 1:
                return Need.COLLECTION
        self._was_collected = False
        return Need.ROOM if used > self.limit else None

    def collected(self) -> None:
        """Called when garbage was collected, as ``before_command`` asked."""
        used = self.used()
        self._was_collected = True
        self._collect_from = 2 * used
        if used <= self.limit:
            self._collect_from = min(self._collect_from, max(self.limit, used + OWN // 4))

    def has_room(self, size: int) -> bool:
        """Whether Lua has room for a value of ``size`` bytes."""
        return not self.limit or self.used() + size <= self.limit

    def make_room(self, size: int, *, must: bool) -> bool:
        """Whether Lua may get a reply; if it does not fit, this raises the limit by its size.

        Args:
            size: the most that the reply takes.
            must: the command has changed something, so its reply may not be lost.
        """
        if self.used() + size <= self.limit:
            return True
        if self._given + size > MOST_GIVEN and not must:
            return False
        self._given += size
        self._set_limit(self.limit + size)
        return True

    def make_room_for_result(self) -> None:
        """Raises the allocator's limit for encoding the result, which may take several times its size."""
        if self.limit:
            self._runtime.set_max_memory(2 * self.limit + 4 * self.used() + OWN, total=True)
