"""Gaps in a script that runs for too long: others use the engine then."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .tick_runner import TickRunner

__all__ = ["ScriptGaps"]

GAP: Final = 0.001
"""Seconds for which other threads can have the lock, now and then."""


class ScriptGaps:
    """The gaps in the scripts of one server, whichever threads run them."""

    def __init__(self, runner: TickRunner) -> None:
        self._runner = runner
        self._gap = threading.Condition(runner.lock)

    def let_others_in(self) -> None:
        """Lets other clients hear BUSY, or kill the script; on the script's thread."""
        runner = self._runner
        with runner.marked_as_tick(in_tick=False):
            if runner.is_own_thread:
                for loop in runner.loops:
                    loop.serve_during_script()
            self._gap.wait(GAP)  # without the lock: for clients in other threads

    def end_script(self) -> None:
        """Ends the script that another thread runs, if there is one, and waits for that."""
        scripts = self._runner.engine.scripts
        scripts.must_end = True
        while scripts.running is not None:
            self._gap.wait(GAP)
