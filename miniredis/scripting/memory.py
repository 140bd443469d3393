"""How much memory scripts may take, and why no allocation fails at a place where that could not be caught.

When Lua cannot allocate it jumps to the ``pcall`` around what runs. From under a Python function that Lua has
called, the jump would leave the interpreter lock held for ever; with no ``pcall`` around, it would end the
process. So while a value passes between Python and Lua there is always room for it:

* A script keeps within ``limit``. Lua's allocator refuses at twice that. None of Lua's structures grows by
  more than what is in use already, so whatever passes within ``limit`` fits.
* A script that has used up ``limit`` may go on computing, but calls no more commands.
* The reply of a command raises ``limit`` where it does not fit, so that no command runs whose reply is then
  lost. Only replies of commands that read are refused, once they have raised it by ``MOST_GIVEN``.

All sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Final

__all__ = ["MOST_GIVEN", "MOST_KEPT", "OWN", "Memory", "Need"]

OWN: Final = 128 * 1024 * 1024
"""What a script may have beside its arguments and the replies it was given."""

MOST_GIVEN: Final = 1024 * 1024 * 1024
"""What the arguments of a script may take, and by how much the replies it is given may raise its limit."""

MOST_KEPT: Final = 256 * 1024 * 1024
"""What libraries may keep from one call of their functions to the next."""

CROWDED: Final = 128 * 1024 * 1024
"""From so much in use on, garbage is collected between scripts."""


class Need(Enum):
    """What there has to be before a script may call a command."""

    COLLECTION = "garbage is to be collected"
    ROOM = "there is no room for a reply"


class Memory:
    """The memory of one Lua state.

    Args:
        runtime: lupa's ``LuaRuntime``, made with ``max_memory=0``.
        collect: collects all garbage; called while no script runs.

    Attributes:
        limit: what may be in use while a script runs; 0 while none does, and nothing is limited.
    """

    def __init__(self, runtime: Any, collect: Callable[[], object]) -> None:
        self._runtime = runtime
        self._collect = collect
        self._tidy_from = 0
        self._collect_from = 0
        self._given = 0
        self._refusals = 0
        self._was_collected = False
        self.limit = 0

    def used(self) -> int:
        """What is in use, garbage included."""
        return self._runtime.get_memory_used(total=True) or 0

    # Between scripts

    def tidy(self) -> int:
        """Collects garbage if much has been allocated since it was last done; returns what is in use."""
        used = self.used()
        if used > max(CROWDED, self._tidy_from):
            self._collect()
            used = self.used()
            self._tidy_from = 2 * used
        return used

    def expect_garbage(self) -> None:
        """Much that was in use is not needed any more: the next ``tidy`` collects."""
        self._tidy_from = 0

    def begin(self) -> None:
        """A script starts, whose arguments are in Lua already."""
        used = self.used()
        self._given = self._refusals = 0
        self._was_collected = False
        self._collect_from = used + OWN // 2
        self._set_limit(used + OWN)

    def end(self) -> None:
        """The script has ended."""
        self.limit = 0
        self._runtime.set_max_memory(0, total=True)

    def _set_limit(self, limit: int) -> None:
        self.limit = limit
        self._runtime.set_max_memory(2 * limit, total=True)

    # While a script runs

    def before_command(self) -> Need | None:
        """What stands in the way of running a command; None if nothing does.

        Garbage is collected when much has been allocated since the last time. A script that was refused
        commands may have let go of what filled its memory: that is tried again, ever less often.
        """
        used = self.used()
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
        """Garbage was collected, as ``before_command`` asked for."""
        used = self.used()
        self._was_collected = True
        self._collect_from = 2 * used
        if used <= self.limit:
            self._collect_from = min(self._collect_from, max(self.limit, used + OWN // 4))

    def has_room(self, size: int) -> bool:
        """Whether a value may be handed to Lua."""
        return not self.limit or self.used() + size <= self.limit

    def make_room(self, size: int, *, must: bool) -> bool:
        """Whether a reply may be handed to Lua; where it does not fit the limit is raised by what it takes.

        Args:
            size: what the reply takes at most.
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
        """Lets the script's result be written, which may take several times what it is in Lua."""
        if self.limit:
            self._runtime.set_max_memory(2 * self.limit + 4 * self.used() + OWN, total=True)
